"""A pass over codes against the sweeps over scores, and against sixty digits: right, or NaN, never wrong."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.oracles.chain_recursions import exact
from unveil.chains.kernels.coded_sweep import LENT, CodedRoom, first_codes, sweep_codes
from unveil.chains.kernels.smooth import smooth

LOWEST = 1e-12


def tables(seed, k, levels, sharpness=1.0, zeros=0.0):
    """Starts, transitions and probabilities of codes; some of them 0."""
    random = np.random.default_rng(seed)
    found = [random.dirichlet(np.full(n, 1.0 / sharpness), size=rows) for rows, n in ((1, k), (k, k), (k, levels))]
    for table in found:
        table[(random.random(table.shape) < zeros) & (table < table.max(axis=1, keepdims=True))] = 0.0
        table[:] = np.maximum(table, 1e-300 * (table > 0))
        table /= table.sum(axis=1, keepdims=True)
    return found[0][0], found[1], found[2]


def run(codes, start, transition, chances, lengths=None, weights=None):
    """Log-likelihood, how many were mended, sums and fresh parameters."""
    k, levels = chances.shape
    lengths = [len(codes)] if lengths is None else lengths
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    weights = np.ones(len(lengths)) if weights is None else weights
    vector = np.concatenate([start, transition.ravel(), chances.ravel()])
    sums, fresh = np.empty(k + k * k + k * (levels + 1)), np.empty_like(vector)
    room = CodedRoom.of(codes, bounds, weights, k, levels)
    with np.errstate(all="ignore"):
        found = sweep_codes(codes, bounds, weights, vector, LOWEST, sums, fresh, room)
    return *found, sums, fresh


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(1, 40),
    st.sampled_from([1.0, 10.0, 300.0]),
    st.sampled_from([0.0, 0.3]),
)
def test_right_or_not_a_number(seed, k, levels, n, sharpness, zeros):
    start, transition, chances = tables(seed, k, levels, sharpness, zeros)
    codes = np.random.default_rng(seed).integers(levels, size=n)
    with np.errstate(divide="ignore"):
        known = exact(np.log(chances.T[codes]), start, transition)
    found, _, sums, _ = run(codes, start, transition, chances)
    if np.isnan(found):
        assert zeros > 0 or sharpness > 1.0 or sums[k + k * k :].min() < 1e-6  # ordinary chains are no trouble
        return
    cut = k + k * k
    assert found == pytest.approx(known.log_likelihood, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(sums[:k], known.posteriors[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(sums[k:cut].reshape(k, k), known.transitions, rtol=0, atol=1e-10)
    counted = np.array([known.posteriors[codes == level].sum(axis=0) for level in range(levels)]).T
    np.testing.assert_allclose(sums[cut:].reshape(k, -1)[:, 1:], counted, rtol=0, atol=1e-10)


def test_several_chains_with_weights_and_their_m_step():
    start, transition, chances = tables(3, 4, 5)
    codes, lengths = np.random.default_rng(0).integers(5, size=3000), np.array([1, 1220, 1279, 500])
    weights, cut = np.array([2.0, 0.5, 0.0, 1.0]), 20
    out = np.empty((3000, 4))
    each, starts, transitions = smooth(
        np.ascontiguousarray(np.log(chances.T[codes])), lengths, start, transition, weights, out
    )
    found, mended, sums, fresh = run(codes, start, transition, chances, lengths, weights)
    assert found == pytest.approx(float(weights @ each), rel=1e-12)
    assert mended == 0
    counted = np.array([out[codes == level].sum(axis=0) for level in range(5)]).T
    for got, wanted in ((sums[:4], starts), (sums[4:cut].reshape(4, 4), transitions)):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(sums[cut:].reshape(4, 6)[:, 1:], counted, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(sums[cut:].reshape(4, 6)[:, 0], counted.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(fresh[:4], starts / starts.sum(), atol=1e-12)
    np.testing.assert_allclose(fresh[4:cut].reshape(4, 4), transitions / transitions.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(fresh[cut:].reshape(4, 5), counted / counted.sum(axis=1, keepdims=True))


def test_a_code_that_a_state_does_not_show_is_kept_above_zero():
    codes = np.array([0, 0, 0, 1, 1, 1])
    _, mended, _, fresh = run(codes, np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.0, 1.0]]), np.eye(2))
    assert mended == 2
    assert fresh[6:].min() == pytest.approx(LOWEST)
    np.testing.assert_allclose(fresh[6:].reshape(2, 2).sum(axis=1), 1.0)


def test_the_impossible_and_states_without_steps_are_not_a_number():
    codes = np.array([0, 1, 1, 0])
    sure = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert np.isnan(run(codes, np.array([0.5, 0.5]), np.full((2, 2), 0.5), sure)[0])
    never = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert np.isnan(run(codes, np.array([1.0, 0.0]), never, np.full((2, 2), 0.5))[0])


def test_first_counts_are_those_of_neighbours_and_codes():
    random = np.random.default_rng(0)
    k, levels, lengths, weights = 3, 4, np.array([5, 1, 14]), np.array([1.0, 2.0, 0.5])
    codes, shares = random.integers(levels, size=20), np.ascontiguousarray(random.dirichlet(np.ones(k), 20).T)
    bounds, own = np.concatenate([[0], np.cumsum(lengths)]), (1 - LENT) * shares + LENT / k
    own = own * np.repeat(weights, lengths)
    sums, fresh = np.empty(k + k * k + k * (levels + 1)), np.empty(k + k * k + k * levels)
    assert first_codes(codes, bounds, weights, shares, 1.0, LOWEST, sums, fresh) == 0
    within = np.ones(19, dtype=bool)
    within[bounds[1:-1] - 1] = False
    transitions = (own[:, :-1] * within) @ shares[:, 1:].T
    starts = own[:, bounds[:-1]].sum(axis=1)
    counted = np.array([own[:, codes == level].sum(axis=1) for level in range(levels)]).T
    np.testing.assert_allclose(fresh[:k], (starts + 1 / k) / (starts.sum() + 1))
    want = (transitions + 1 / k) / (transitions.sum(axis=1, keepdims=True) + 1)
    np.testing.assert_allclose(fresh[k : k + k * k].reshape(k, k), want)
    np.testing.assert_allclose(fresh[k + k * k :].reshape(k, levels), counted / counted.sum(axis=1, keepdims=True))
