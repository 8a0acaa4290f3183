"""The lean sweep against sixty digits: right to the last digits, or NaN, never wrong."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.chains.kernels.test_smooth import chain
from tests.oracles.chain_recursions import exact
from unveil.chains.kernels.small_sweep import SweepRoom, sweep_small
from unveil.chains.kernels.smooth import smooth


def run(scores, start, transition, lengths=None, weights=None):
    """Log-likelihood, starts, transitions, posteriors and fresh shares."""
    n, k = scores.shape
    table, counts, fresh = np.ascontiguousarray(scores.T), np.empty(k + k * k), np.empty(k + k * k)
    lengths = [n] if lengths is None else lengths
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    weights = np.ones(len(lengths)) if weights is None else weights
    together = np.concatenate([start, transition.ravel()])
    with np.errstate(all="ignore"):
        found = sweep_small(table, bounds, weights, together, counts, fresh, SweepRoom.of(k, n))
    return found, counts[:k], counts[k:].reshape(k, k), table.T, fresh


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(1, 40),
    st.sampled_from([0.1, 3.0, 100.0, 600.0]),
    st.sampled_from([0.0, 0.2, 0.5]),
)
def test_right_or_not_a_number(seed, k, n, scale, zeros):
    parts = chain(seed, k, n, scale, zeros)
    known = exact(*parts)
    found, starts, transitions, posteriors, _ = run(*parts)
    if np.isnan(found):
        assert zeros > 0 or scale > 3.0  # ordinary chains are no trouble
        return
    assert found == pytest.approx(known.log_likelihood, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(posteriors, known.posteriors, rtol=0, atol=1e-10)
    np.testing.assert_allclose(starts, known.posteriors[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(transitions, known.transitions, rtol=0, atol=1e-10)


def test_several_chains_with_weights():
    scores, start, transition = chain(3, 4, 300)
    lengths, weights = np.array([1, 120, 129, 50]), np.array([2.0, 0.5, 0.0, 1.0])
    out = np.empty(scores.shape)
    each, starts, transitions = smooth(scores, lengths, start, transition, weights, out)
    found = run(scores, start, transition, lengths, weights)
    assert found[0] == pytest.approx(float(weights @ each), rel=1e-13)
    for got, wanted in zip(found[1:4], (starts, transitions, out), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found[4][:4], starts / starts.sum())
    np.testing.assert_allclose(found[4][4:].reshape(4, 4), transitions / transitions.sum(axis=1, keepdims=True))


def test_a_path_that_was_lost_and_matters_is_not_passed_over():
    """State 1 is ruled out by 500 nats at first, and the only one that can explain what follows."""
    scores = np.zeros((4, 2))
    scores[0] = [0.0, -500.0]
    scores[2:, 0] = -2000.0
    assert np.isnan(run(scores, np.array([0.5, 0.5]), np.eye(2))[0])
