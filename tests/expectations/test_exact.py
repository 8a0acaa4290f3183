"""The exact expectation: the posterior, and no gap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from unveil.expectations import Exact


def unused() -> np.random.Generator:
    raise AssertionError("exact EM draws nothing")


@pytest.mark.parametrize("weights", [None, np.array([0.5, 0.0, 2.0, 1.0])])
def test_the_posterior_times_the_weight_and_no_gap(weights: np.ndarray | None) -> None:
    logits = np.random.default_rng(0).normal(size=(3, 4))
    each = np.ones(4) if weights is None else weights
    q = logits.copy()
    bound = Exact().responsibilities(q, weights, unused)
    np.testing.assert_allclose(q, softmax(logits, axis=0) * each)
    assert bound.log_likelihood == bound.free_energy == pytest.approx(float(each @ logsumexp(logits, axis=0)))


def test_expectations_are_equal_by_value() -> None:
    assert Exact() == Exact()
