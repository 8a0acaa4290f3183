"""Information: Gibbs' inequality, invariance, additivity, the identity F = log p - KL, and every refusal."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from unveil.information.measures import Gaussian, entropy, free_energy, kl_divergence, log_likelihood

inf = math.inf
sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)


def law(*strategies: Any, examples: int = 50) -> Any:
    """A property of everything the strategies draw; the same draws on every run."""
    return lambda test: settings(max_examples=examples, deadline=None, derandomize=True)(given(*strategies)(test))


def distributions(n: int, k: int) -> st.SearchStrategy[np.ndarray]:
    """Rows of probabilities, zeros among them."""
    drawn = arrays(np.float64, (n, k), elements=st.floats(0, 1).map(lambda w: 0.0 if w < 0.1 else w))
    weights = drawn.map(lambda w: w + (w.sum(axis=1, keepdims=True) == 0))
    return weights.map(lambda w: w / w.sum(axis=1, keepdims=True))


pairs = sizes.flatmap(lambda k: st.tuples(distributions(3, k), distributions(3, k)))


def random_gaussian(random: np.random.Generator, d: int) -> Gaussian:
    root = random.normal(size=(d, d))
    return Gaussian(random.normal(size=d), root @ root.T + 0.1 * np.eye(d))


def normal_pdf(mean: float, scale: float) -> Any:
    return lambda x: math.exp(-(((x - mean) / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi))


def normal_kl(mean: float, scale: float, other_mean: float, other_scale: float) -> float:
    ratio = scale / other_scale
    return (ratio**2 - 1) / 2 - math.log(ratio) + ((mean - other_mean) / other_scale) ** 2 / 2


class TestEntropy:
    @law(sizes.flatmap(lambda k: distributions(4, k)))
    def test_between_zero_and_log_k(self, p: np.ndarray) -> None:
        value = entropy(p)
        assert value.shape == (4,)
        assert ((value >= 0) & (value <= math.log(p.shape[1]) + 1e-12)).all()

    @law(st.integers(1, 50))
    def test_uniform_and_certain_reach_the_bounds(self, k: int) -> None:
        assert entropy(np.full(k, 1 / k)) == pytest.approx(math.log(k), abs=1e-12)
        certain = entropy(np.eye(k)[0])
        assert certain == 0
        assert math.copysign(1, certain) == 1

    def test_base_and_shape(self) -> None:
        assert entropy([0.25] * 4, base=2) == pytest.approx(2)
        assert isinstance(entropy([0.5, 0.5]), float)
        assert entropy(np.full((2, 3, 4), 0.25)).shape == (2, 3)

    @pytest.mark.parametrize("base", [0, -2, 1, inf, math.nan])
    def test_refuses_a_base(self, base: float) -> None:
        with pytest.raises(ValueError, match="base must be positive, finite and other than 1"):
            entropy([0.5, 0.5], base=base)

    @pytest.mark.parametrize(
        ("p", "message"),
        [
            ([[1, 0], [0.5, 0.4]], r"p must sum to 1 along its last axis; row 1 sums to 0\.9"),
            ([1.5, -0.5], r"p must not be negative or nan; row 0 holds -0\.5"),
            ([math.nan, 1], "row 0 holds nan"),
            ([inf, 0], "row 0 sums to inf"),
            (1.0, r"p must have probabilities along its last axis; got shape \(\)"),
            ([[], []], r"got shape \(2, 0\)"),
        ],
    )
    def test_refuses_what_is_no_distribution(self, p: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            entropy(p)

    def test_refuses_what_is_no_array(self) -> None:
        with pytest.raises(TypeError, match=r"p must be an array of probabilities.*got object"):
            entropy(object())  # type: ignore[arg-type]


class TestDiscreteDivergence:
    @law(pairs)
    def test_gibbs_with_pinsker_as_the_margin(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        q, p = pair
        variation = np.abs(q - p).sum(axis=1) / 2
        assert (kl_divergence(q, p) >= 2 * variation**2 - 1e-13).all()
        np.testing.assert_array_equal(kl_divergence(q, q), 0.0)

    @law(pairs)
    def test_infinite_exactly_where_p_lacks_mass_of_q(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        q, p = pair
        np.testing.assert_array_equal(np.isinf(kl_divergence(q, p)), ((q > 0) & (p == 0)).any(axis=1))

    @law(pairs)
    def test_independent_coordinates_add(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        (q, r, _), (p, s, _) = pair
        joint = kl_divergence(np.outer(q, r).ravel(), np.outer(p, s).ravel())
        assert joint == pytest.approx(kl_divergence(q, p) + kl_divergence(r, s), abs=1e-12)

    def test_asymmetric(self) -> None:
        assert kl_divergence([0.5, 0.5], [0.9, 0.1]) == pytest.approx(math.log(5 / 3))
        assert kl_divergence([0.9, 0.1], [0.5, 0.5]) == pytest.approx(0.9 * math.log(9) + math.log(0.2))

    def test_one_p_for_many_q(self) -> None:
        values = kl_divergence([[1, 0], [0.5, 0.5]], [0.5, 0.5])
        np.testing.assert_allclose(values, [math.log(2), 0], atol=1e-15)

    def test_refuses_other_shapes(self) -> None:
        with pytest.raises(ValueError, match=r"p must be of the shape of q, \(2,\), or one .* got \(3,\)"):
            kl_divergence([0.5, 0.5], [0.5, 0.25, 0.25])

    def test_refuses_no_distribution_by_name(self) -> None:
        with pytest.raises(ValueError, match="q must sum to 1"):
            kl_divergence([0.5, 0.4], [0.5, 0.5])
        with pytest.raises(ValueError, match="p must sum to 1"):
            kl_divergence([0.5, 0.5], [0.5, 0.4])

    @pytest.mark.parametrize("q", [stats.poisson(3), stats.multivariate_normal([0, 0]), "word"])
    def test_refuses_other_kinds(self, q: Any) -> None:
        with pytest.raises(TypeError, match="q must be an array of probabilities, a Gaussian, a density"):
            kl_divergence(q, q)

    @pytest.mark.parametrize("q", [[0.5, 0.5], Gaussian([0, 0], np.eye(2))])
    @pytest.mark.parametrize("p", [stats.norm(), normal_pdf(0, 1)])
    def test_refuses_a_mixture_of_kinds(self, q: Any, p: Any) -> None:
        with pytest.raises(
            TypeError, match=r"q and p must be of one kind; got q (list|GaussianDistribution) and p (rv|function)"
        ):
            kl_divergence(q, p)


class TestGaussianDivergence:
    @law(st.integers(1, 5), seeds)
    def test_gibbs(self, d: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        q, p = random_gaussian(random, d), random_gaussian(random, d)
        assert kl_divergence(q, p) > 0
        assert kl_divergence(q, q) == pytest.approx(0, abs=1e-12)

    @law(st.integers(1, 4), seeds)
    def test_invariant_under_invertible_affine_maps(self, d: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        q, p = random_gaussian(random, d), random_gaussian(random, d)
        turn = np.linalg.qr(random.normal(size=(d, d)))[0]
        matrix, shift = turn * random.uniform(0.5, 2, size=d), random.normal(size=d)
        moved = [Gaussian(matrix @ g.mean + shift, matrix @ g.covariance @ matrix.T) for g in (q, p)]
        assert kl_divergence(*moved) == pytest.approx(kl_divergence(q, p), rel=1e-9)

    @law(seeds)
    def test_independent_coordinates_add(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        q, p, r, s = (random_gaussian(random, d) for d in (2, 2, 3, 3))
        zero = np.zeros((2, 3))

        def both(a: Gaussian, b: Gaussian) -> Gaussian:
            return Gaussian(np.append(a.mean, b.mean), np.block([[a.covariance, zero], [zero.T, b.covariance]]))

        together = kl_divergence(both(q, r), both(p, s))
        assert together == pytest.approx(kl_divergence(q, p) + kl_divergence(r, s), rel=1e-10)

    def test_asymmetric_and_numbers_are_mean_and_variance(self) -> None:
        q, p = Gaussian(1.0, 4.0), Gaussian([0.0], [[9.0]])
        assert kl_divergence(q, p) == pytest.approx(normal_kl(1, 2, 0, 3), rel=1e-14)
        assert kl_divergence(p, q) == pytest.approx(normal_kl(0, 3, 1, 2), rel=1e-14)

    @law(st.floats(-50, 50), st.floats(0.05, 20), st.floats(-50, 50), st.floats(0.05, 20), examples=4)
    def test_equals_quadrature(self, mean: float, scale: float, other: float, other_scale: float) -> None:
        closed = kl_divergence(Gaussian(mean, scale**2), Gaussian(other, other_scale**2))
        numeric = kl_divergence(stats.norm(mean, scale), stats.norm(other, other_scale))
        assert numeric == pytest.approx(closed, rel=1e-8, abs=1e-8)

    @pytest.mark.parametrize(
        ("mean", "covariance", "message"),
        [
            ([0, 0], [[1, 2], [2, 1]], "covariance must be positive definite; its smallest eigenvalue is -1"),
            (0, 0, "covariance must be positive definite; its smallest eigenvalue is 0"),
            ([0, 0], [[1, 0.5], [0, 1]], "covariance must be symmetric"),
            ([0, 0], 1.0, r"covariance must be \(d, d\) for a mean \(d,\); got \(1, 1\) and \(2,\)"),
            ([[0]], [[1]], r"got \(1, 1\) and \(1, 1\)"),
            ([0, math.nan], np.eye(2), "mean must be finite"),
            (0, inf, "covariance must be finite"),
        ],
    )
    def test_refuses(self, mean: Any, covariance: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Gaussian(mean, covariance)

    def test_refuses_other_dimensions(self) -> None:
        with pytest.raises(ValueError, match="q and p must be of one dimension; got q 1 and p 2"):
            kl_divergence(Gaussian(0, 1), Gaussian([0, 0], np.eye(2)))


joints = arrays(np.float64, (3, 4), elements=st.one_of(st.floats(-800, 50), st.just(-inf)))
weights = arrays(np.float64, 3, elements=st.floats(0, 10))


def posterior(log_joint: np.ndarray) -> np.ndarray:
    shifted = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


class TestFreeEnergy:
    @law(distributions(3, 4), joints, weights)
    def test_is_log_likelihood_less_divergence(self, q: np.ndarray, log_joint: np.ndarray, weight: np.ndarray) -> None:
        log_joint[:, 0] = np.maximum(log_joint[:, 0], -700)  # some state is possible
        rows = log_joint - np.logaddexp.reduce(log_joint, axis=1)[:, None]  # exact also where the posterior underflows
        live = q > 0
        divergence = np.sum(np.where(live, q * (np.log(np.where(live, q, 1)) - np.where(live, rows, 0)), 0), axis=1)
        gap = np.sum(weight * np.where(weight > 0, divergence, 0))
        expected = log_likelihood(log_joint, sample_weight=weight) - gap
        got = free_energy(q, log_joint, sample_weight=weight)
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)

    @law(distributions(3, 4), arrays(np.float64, (3, 4), elements=st.floats(-30, 30)))
    def test_gap_is_the_public_divergence(self, q: np.ndarray, log_joint: np.ndarray) -> None:
        gap = kl_divergence(q, posterior(log_joint)).sum()
        bound, top = free_energy(q, log_joint), log_likelihood(log_joint)
        assert bound == pytest.approx(top - gap, rel=1e-9, abs=1e-9)
        assert bound <= top + 1e-9

    @law(joints)
    def test_touches_at_the_posterior(self, log_joint: np.ndarray) -> None:
        log_joint[:, 0] = np.maximum(log_joint[:, 0], -700)
        assert free_energy(posterior(log_joint), log_joint) == pytest.approx(
            log_likelihood(log_joint), rel=1e-9, abs=1e-9
        )

    @law(distributions(3, 4), arrays(np.float64, (3, 4), elements=st.floats(-30, 30)))
    def test_weight_two_is_the_row_twice(self, q: np.ndarray, log_joint: np.ndarray) -> None:
        twice = [0, 1, 1, 2]
        weighted = free_energy(q, log_joint, sample_weight=[1, 2, 1])
        assert weighted == pytest.approx(free_energy(q[twice], log_joint[twice]), rel=1e-12, abs=1e-12)
        weighted = log_likelihood(log_joint, sample_weight=[1, 2, 1])
        assert weighted == pytest.approx(log_likelihood(log_joint[twice]), rel=1e-12, abs=1e-12)

    def test_impossible_states(self) -> None:
        assert free_energy([[1, 0]], [[-2.0, -inf]]) == -2
        assert free_energy([[0.5, 0.5]], [[-2.0, -inf]]) == -inf
        assert free_energy([[0.5, 0.5], [1, 0]], [[-2.0, -inf], [-3.0, -inf]], sample_weight=[0, 1]) == -3
        assert log_likelihood([[-inf, -inf]]) == -inf

    def test_no_rows(self) -> None:
        assert free_energy(np.empty((0, 2)), np.empty((0, 2))) == 0
        assert log_likelihood(np.empty((0, 2))) == 0

    @pytest.mark.parametrize(
        ("q", "log_joint", "weight", "message"),
        [
            ([[1, 0], [0.7, 0.2]], np.zeros((2, 2)), None, r"q must sum to 1 along its last axis; row 1 sums to 0\.9$"),
            ([[1, 0], [1.2, -0.2]], np.zeros((2, 2)), None, r"q must not be negative or nan; row 1 holds -0\.2"),
            ([[1, 0]], np.zeros((2, 2)), None, r"q must have the shape of log_joint, \(2, 2\); got \(1, 2\)"),
            ([1, 0], np.zeros(2), None, r"log_joint must be of shape \(n, k\) with k >= 1; got \(2,\)"),
            ([[1, 0]], [[0, math.nan]], None, r"log_joint must not hold nan or \+inf; row 0 is \[0.0, nan\]"),
            ([[1, 0]], [[0, inf]], None, r"log_joint must not hold nan or \+inf; row 0"),
            ([[1, 0]], [[0, 0]], [1, 2], r"sample_weight must be of shape \(1,\), one per row; got \(2,\)"),
            ([[1, 0]], [[0, 0]], [-1], r"sample_weight must be finite and not negative; row 0 has -1\.0"),
            ([[1, 0]], [[0, 0]], [inf], "row 0 has inf"),
        ],
    )
    def test_refuses(self, q: Any, log_joint: Any, weight: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            free_energy(q, log_joint, sample_weight=weight)


def test_import_leaves_scipy_alone() -> None:
    code = "import sys, unveil.information.measures; sys.exit(any(name.startswith('scipy') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
