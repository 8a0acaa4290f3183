"""Filtered and lagged states are smoothed states of shorter chains."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.chains.kernels.test_smooth import NONE, WIDTHS, branches, chain
from tests.oracles.chain_recursions import exact
from unveil.chains.kernels.filter import filter_states, lagged
from unveil.chains.kernels.smooth import smooth

Floats = NDArray[np.float64]


def up_to(lag: int, scores: Floats, start: Floats, transition: Floats) -> Floats:
    """Row t of the posteriors of the first t + lag + 1 steps."""
    ends = [min(t + lag + 1, len(scores)) for t in range(len(scores))]
    return np.array([exact(scores[:end], start, transition).posteriors[t] for t, end in enumerate(ends)])


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 7),
    st.integers(0, 8),
    st.sampled_from([3.0, 300.0, 3000.0]),
    st.sampled_from([0.0, 0.3]),
)
def test_as_shorter_chains(seed: int, k: int, n: int, lag: int, scale: float, zeros: float) -> None:
    parts = chain(seed, k, n, scale, zeros)
    truth = exact(*parts).log_likelihood
    out = np.empty((n, k))
    assert filter_states(parts[0], np.array([n]), *parts[1:], out)[0] == pytest.approx(truth, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(out, up_to(0, *parts), rtol=0, atol=1e-10)
    assert lagged(parts[0], np.array([n]), *parts[1:], lag, out)[0] == pytest.approx(truth, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(out, up_to(lag, *parts), rtol=0, atol=1e-10)


@pytest.mark.parametrize("turn", [0.0, 40.0, 60.0])
@pytest.mark.parametrize("lag", [0, 3, 40])
def test_ways_that_never_meet(turn: float, lag: int) -> None:
    parts = branches(turn)
    out = np.empty((60, 4))
    lagged(parts[0], np.array([60]), *parts[1:], lag, out)
    np.testing.assert_allclose(out, up_to(lag, *parts), rtol=0, atol=1e-10)


@pytest.mark.parametrize("k", WIDTHS)
def test_every_width_and_in_place(k: int) -> None:
    """The last row is the smoothed one; a lag as long as the chain smooths everything."""
    lengths = np.array([1, 50, 120])
    scores, start, transition = chain(k, k, 171)
    smoothed, out = np.empty(scores.shape), np.empty(scores.shape)
    values = smooth(scores, lengths, start, transition, NONE, smoothed)[0]
    np.testing.assert_allclose(filter_states(scores, lengths, start, transition, out), values, rtol=1e-13)
    np.testing.assert_allclose(out[[0, 50, 170]], smoothed[[0, 50, 170]], atol=1e-13)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    lagged(scores, lengths, start, transition, 120, scores)
    np.testing.assert_allclose(scores, smoothed, atol=1e-12)


def test_what_cannot_be_has_no_states() -> None:
    scores, start, transition = chain(2, 3, 10)
    scores[6] = -np.inf
    out = np.empty((10, 3))
    assert filter_states(scores, np.array([10]), start, transition, out)[0] == -np.inf
    np.testing.assert_allclose(out[:6].sum(axis=1), 1.0)
    assert not out[6:].any()
    lagged(scores, np.array([10]), start, transition, 2, out)
    np.testing.assert_allclose(out[:4].sum(axis=1), 1.0)
    assert not out[4:].any()
