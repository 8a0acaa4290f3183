"""The Bernoulli family against scipy, and what keeps its probabilities off the edge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bernoulli

from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.independent import PROBABILITY_FLOOR


def test_natural_parameters_times_statistics_is_the_log_probability() -> None:
    random = np.random.default_rng(0)
    p, x = random.uniform(0.01, 0.99, (3, 5)), (random.random((20, 5)) < 0.5).astype(np.float64)
    out = np.empty((6, 20))
    Bernoulli().statistics(x.T, out)
    found = Bernoulli().natural(BernoulliParams(p)) @ out
    want = [bernoulli(one).logpmf(x).sum(axis=1) for one in p]
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_shares_of_yes_with_the_edge_kept_off_and_counted() -> None:
    moments = np.array([[4.0, 1.0, 4.0], [2.0, 1.0, 0.5], [0.0, 0.0, 0.0]])
    found = Bernoulli().first(moments)
    np.testing.assert_allclose(
        found.probabilities, [[0.25, 1 - PROBABILITY_FLOOR], [0.5, 0.25], [2 / 6, 4.5 / 6]], rtol=1e-12
    )
    assert found.probabilities[0, 1] < 1
    assert found.floored == Bernoulli().floored(found) == 1
    old = BernoulliParams(np.full((3, 2), 0.125))
    kept = Bernoulli().maximise(moments, old)
    np.testing.assert_array_equal(kept.probabilities[2], [0.125, 0.125])


def test_a_row_against_the_floor_is_unlikely_but_possible() -> None:
    params = Bernoulli().first(np.array([[10.0, 10.0, 0.0]]))
    score = Bernoulli().natural(params) @ np.array([1.0, 0.0, 1.0])
    assert np.isfinite(score).all()
    assert score[0] == pytest.approx(2 * np.log(PROBABILITY_FLOOR), rel=1e-5)
