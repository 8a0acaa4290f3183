"""The sampled expectation: unbiased shares, a true lower bound, and draws that grow."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from tests import laws
from unveil import GaussianMixture
from unveil.expectations import Sampled
from unveil.expectations.sampled import MOST_DRAWS
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.mixtures.model.model import Mixture, MixtureParams

Floats = NDArray[np.float64]


def drawn(logits: Floats, draws: int, weights: Floats | None = None, seed: int = 0) -> tuple[Floats, float, float]:
    out = logits.copy()
    generator = np.random.default_rng(seed)
    bound = Sampled(draws).responsibilities(out, weights, lambda: generator)
    return out, bound.log_likelihood, bound.free_energy


def free_energy(logits: Floats, q: Floats, weights: Floats) -> float:
    terms = np.where(q > 0, q * (logits - np.log(np.where(q > 0, q, 1.0))), 0.0).sum(axis=0)
    return float(weights @ terms)


def test_shares_are_unbiased() -> None:
    logits = np.random.default_rng(0).normal(size=(4, 5)) * 2
    mean = np.mean([drawn(logits, 3, seed=seed)[0] for seed in range(4000)], axis=0)
    np.testing.assert_allclose(mean, softmax(logits, axis=0), atol=0.02)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 8),
    st.integers(1, 50),
    st.integers(0, 1000),
    st.sampled_from([0.1, 1.0, 30.0, 900.0]),
)
def test_the_free_energy_is_that_of_the_shares_and_a_lower_bound(
    k: int, n: int, draws: int, seed: int, scale: float
) -> None:
    generator = np.random.default_rng(seed)
    logits, weights = generator.normal(size=(k, n)) * scale, generator.integers(0, 3, n).astype(np.float64)
    out, log_likelihood, bound = drawn(logits, draws, weights, seed)
    plain, _, unweighted = drawn(logits, draws, None, seed)
    np.testing.assert_allclose(out, plain * weights)
    np.testing.assert_allclose(plain.sum(axis=0), 1.0)
    np.testing.assert_allclose(plain * draws, np.round(plain * draws), atol=1e-9)
    assert log_likelihood == pytest.approx(float(weights @ logsumexp(logits, axis=0)))
    assert bound == pytest.approx(free_energy(logits, plain, weights), abs=1e-9 * scale)
    assert unweighted == pytest.approx(free_energy(logits, plain, np.ones(n)), abs=1e-9 * scale)
    assert bound <= log_likelihood + 1e-9 * max(abs(log_likelihood), 1.0)


def test_many_draws_close_the_gap() -> None:
    logits = np.random.default_rng(1).normal(size=(3, 20))
    gaps = [log_likelihood - bound for _, log_likelihood, bound in (drawn(logits, n) for n in (1, 10, 100, 10_000))]
    assert np.all(np.diff(gaps) < 0)
    assert gaps[-1] < 1e-2


def test_draws_grow_up_to_a_limit() -> None:
    assert [Sampled(10, 1.5).at(n).draws for n in range(4)] == [10, 15, 23, 34]
    assert Sampled(10, 1.0).at(1000).draws == 10
    assert Sampled(10, 2.0).at(100_000).draws == MOST_DRAWS
    assert Sampled(2 * MOST_DRAWS).at(3).draws == 2 * MOST_DRAWS


def test_an_impossible_row_is_said_to_be_one() -> None:
    logits = np.array([[-np.inf, 0.0], [-np.inf, -1.0]])
    out, log_likelihood, bound = drawn(logits, 5)
    assert np.all(out[:, 0] == 0)
    assert log_likelihood == bound == -np.inf
    _, log_likelihood, bound = drawn(logits, 5, np.array([0.0, 1.0]))
    assert np.isfinite(bound)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [({"draws": 0}, "draws must be a positive integer"), ({"growth": 0.9}, "growth must be at least 1")],
)
def test_bad_arguments(settings_: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampled(**settings_)  # type: ignore[arg-type]


def test_threads_change_no_bit() -> None:
    random = np.random.default_rng(0)
    rows = (random.random((20_000, 3)) < 0.4).astype(np.float64)
    start = MixtureParams(np.array([0.6, 0.4]), BernoulliParams(np.array([[0.3, 0.4, 0.6], [0.5, 0.2, 0.3]])))
    laws.threads_change_no_bit(laws.Case(Mixture(Bernoulli(), 2, np.zeros(3)), start, rows, Sampled(2)))


def test_it_reaches_the_neighbourhood_of_the_optimum() -> None:
    random = np.random.default_rng(2)
    rows = random.normal(size=(300, 2)) + 4.0 * random.integers(2, size=(300, 1))
    exact = GaussianMixture(2, random_state=0, tol=1e-8, max_iter=500).fit(rows)
    found = GaussianMixture(2, random_state=0, expectation=Sampled(), max_iter=40, tol=1e-5).fit(rows)
    assert found.score(rows) == pytest.approx(exact.score(rows), abs=1e-3)
    assert np.all(found.history_.gap >= 0)
    assert found.certificate_["bound"].severity == "note"
