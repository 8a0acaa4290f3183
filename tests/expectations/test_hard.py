"""The hard expectation: one-hot, and a gap that is the divergence from the posterior."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import logsumexp

from unveil.expectations import Hard


def unused() -> np.random.Generator:
    raise AssertionError("hard EM draws nothing")


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (3, 6), elements=st.floats(-50, 50)))
def test_the_gap_is_the_divergence_of_one_hot_from_the_posterior(logits: NDArray[np.float64]) -> None:
    q = logits.copy()
    bound = Hard().responsibilities(q, None, unused)
    np.testing.assert_array_equal(q, np.eye(3)[:, np.argmax(logits, axis=0)])
    divergence = float(np.sum(logsumexp(logits, axis=0) - logits.max(axis=0)))  # -log posterior of the likeliest
    assert bound.log_likelihood - bound.free_energy == pytest.approx(divergence, abs=1e-10)
    assert bound.free_energy <= bound.log_likelihood


def test_the_first_of_equals_is_taken_and_weights_multiply() -> None:
    logits = np.array([[1.0, 0.0, -1.0], [1.0, 0.0, 3.0]])
    q = logits.copy()
    bound = Hard().responsibilities(q, np.array([2.0, 0.0, 0.5]), unused)
    np.testing.assert_array_equal(q, [[2.0, 0.0, 0.0], [0.0, 0.0, 0.5]])
    assert bound.free_energy == 2 * 1.0 + 0.5 * 3.0
