"""The annealed expectation: a tempered posterior with its true free energy, which ends as the posterior itself."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from tests import laws
from unveil import GaussianMixture
from unveil.expectations import Annealed, Exact
from unveil.expectations.annealed import Tempered
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.mixtures.model.model import Mixture, MixtureParams

Floats = NDArray[np.float64]


def tempered(
    logits: Floats, beta: float, weights: Floats | None = None, shake: float = 0.3
) -> tuple[Floats, float, float]:
    out, generator = logits.copy(), np.random.default_rng(0)
    bound = Tempered(beta, shake).responsibilities(out, weights, lambda: generator)
    return out, bound.log_likelihood, bound.free_energy


def free_energy(logits: Floats, q: Floats, weights: Floats) -> float:
    held = q > 0
    terms = np.where(held, q * (np.where(held, logits, 0.0) - np.log(np.where(held, q, 1.0))), 0.0).sum(axis=0)
    return float(weights @ terms)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 1000), st.sampled_from([0.05, 0.3, 0.9, 1.0]))
def test_the_free_energy_is_true_and_a_lower_bound(k: int, n: int, seed: int, beta: float) -> None:
    generator = np.random.default_rng(seed)
    logits, weights = generator.normal(size=(k, n)) * 20, generator.integers(0, 3, n).astype(np.float64)
    logits[0, 0] = -np.inf if k > 1 else logits[0, 0]
    plain, _, _ = tempered(logits, beta)
    out, log_likelihood, bound = tempered(logits, beta, weights)
    np.testing.assert_allclose(plain.sum(axis=0), 1.0)
    np.testing.assert_allclose(out, plain * weights)
    assert log_likelihood == pytest.approx(float(weights @ logsumexp(logits, axis=0)))
    assert bound == pytest.approx(free_energy(logits, plain, weights), abs=1e-8)
    assert bound <= log_likelihood + 1e-8


def test_cold_it_is_the_posterior() -> None:
    logits = np.random.default_rng(0).normal(size=(3, 7))
    out, log_likelihood, bound = tempered(logits, 1.0)
    exact = logits.copy()
    expected = Exact().responsibilities(exact, None, np.random.default_rng)
    np.testing.assert_array_equal(out, exact)
    assert (log_likelihood, bound) == pytest.approx((expected.log_likelihood, expected.free_energy), rel=1e-14)
    cold = logits.copy()
    Annealed().responsibilities(cold, None, np.random.default_rng)
    np.testing.assert_array_equal(cold, exact)


def test_warm_it_is_the_blurred_posterior_shaken_a_little() -> None:
    logits = np.random.default_rng(0).normal(size=(3, 2000))
    shaken, _, _ = tempered(logits, 0.25)
    expected = softmax(0.25 * logits, axis=0)
    assert 0.01 < np.abs(shaken - expected).max() < 0.3
    np.testing.assert_allclose(shaken.mean(axis=1), expected.mean(axis=1), atol=0.01)
    np.testing.assert_allclose(tempered(logits, 0.25, shake=0.0)[0], expected, rtol=1e-12)


def test_the_way_it_cools() -> None:
    way = Annealed(0.1, passes=10)
    betas = [way.beta(n) for n in range(15)]
    assert betas[0] == pytest.approx(0.1)
    assert betas[10:] == [1.0] * 5
    np.testing.assert_allclose(np.diff(np.log(betas[:11])), np.log(10) / 10)
    assert [way.settled(n) for n in (11, 21, 22)] == [False, False, True]
    assert way.at(3) == Tempered(way.beta(3))


def test_without_warmth_it_is_em() -> None:
    random = np.random.default_rng(2)
    rows = random.normal(size=(200, 2)) + 4.0 * random.integers(2, size=(200, 1))
    plain = GaussianMixture(2, random_state=0, max_iter=50, tol=1e-7).fit(rows)
    cold = GaussianMixture(2, random_state=0, max_iter=50, tol=1e-7, expectation=Annealed(1.0, passes=1)).fit(rows)
    np.testing.assert_allclose(cold.means_, plain.means_, atol=1e-4)
    both = min(cold.n_iter_, plain.n_iter_)  # the same climb, which each ends by its own rounding
    np.testing.assert_allclose(cold.history_.free_energy[:both], plain.history_.free_energy[:both], rtol=1e-12)


def test_components_that_melted_part_again() -> None:
    """So warm that all components are one, from which plain annealing finds no way out."""
    random = np.random.default_rng(5)
    centres = random.normal(size=(8, 2)) * 4
    rows = random.normal(size=(1500, 2)) + centres[random.integers(8, size=1500)]
    settings_ = {"random_state": 5, "max_iter": 2000, "tol": 1e-5}
    blob = GaussianMixture(1).fit(rows).score(rows)
    found = GaussianMixture(8, expectation=Annealed(0.2), **settings_).fit(rows)
    plain = GaussianMixture(8, **settings_).fit(rows)
    assert found.score(rows) > blob + 0.5
    assert found.score(rows) == pytest.approx(plain.score(rows), abs=0.05)


def test_no_fit_ends_before_it_is_cold() -> None:
    rows = np.random.default_rng(0).normal(size=(100, 2))
    model = GaussianMixture(1, expectation=Annealed(passes=12), tol=1.0).fit(rows)
    assert model.n_iter_ == 26
    assert model.converged_


def test_threads_change_no_bit() -> None:
    rows = (np.random.default_rng(0).random((20_000, 3)) < 0.4).astype(np.float64)
    start = MixtureParams(np.array([0.6, 0.4]), BernoulliParams(np.array([[0.3, 0.4, 0.6], [0.5, 0.2, 0.3]])))
    laws.threads_change_no_bit(laws.Case(Mixture(Bernoulli(), 2, np.zeros(3)), start, rows, Annealed(0.5, 4)))


@pytest.mark.parametrize("settings_", [{"start": 0.0}, {"start": 1.5}, {"passes": 0}, {"passes": 2.5}])
def test_bad_arguments(settings_: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(settings_))} must be"):
        Annealed(**settings_)  # type: ignore[arg-type]
