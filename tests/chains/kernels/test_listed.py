"""Chains along listed states are chains in which all else is impossible."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from tests.chains.kernels.test_smooth import NONE, chain, check
from tests.oracles.chain_recursions import exact
from unveil.chains.kernels.listed import smooth_listed
from unveil.chains.kernels.smooth import smooth


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(1, 9),
    st.sampled_from([3.0, 300.0, 3000.0]),
    st.sampled_from([0.0, 0.3]),
)
def test_what_is_not_listed_is_impossible(seed: int, k: int, n: int, scale: float, zeros: float) -> None:
    scores, start, transition = chain(seed, k, n, scale, zeros)
    random = np.random.default_rng(seed)
    lists = np.array([random.permutation(k)[: 1 + seed % k] for _ in range(n)])
    kept = np.full(scores.shape, -np.inf)
    np.put_along_axis(kept, lists, np.take_along_axis(scores, lists, axis=1), axis=1)
    out = np.empty(scores.shape)
    values, starts, transitions = smooth_listed(scores, lists, np.array([n]), start, transition, NONE, out)
    check(exact(kept, start, transition), float(values[0]), starts, transitions, out)


def test_weights_and_several_sequences_in_place() -> None:
    lengths, weights = np.array([1, 30, 200]), np.array([0.0, 2.0, 0.5])
    scores, start, transition = chain(3, 9, 231)
    lists = np.argsort(-scores, axis=1)[:, :4]
    kept = np.full(scores.shape, -np.inf)
    np.put_along_axis(kept, lists, np.take_along_axis(scores, lists, axis=1), axis=1)
    truth = smooth(kept, lengths, start, transition, weights, kept)
    found = smooth_listed(scores, lists, lengths, start, transition, weights, scores)
    np.testing.assert_allclose(scores, kept, atol=1e-12)
    for one, other in zip(found, truth, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_lists_of_all_states_leave_nothing_out() -> None:
    scores, start, transition = chain(5, 6, 80)
    everything = np.tile(np.arange(6), (80, 1))
    whole, out = np.empty(scores.shape), np.empty(scores.shape)
    truth = smooth(scores, np.array([80]), start, transition, NONE, whole)
    found = smooth_listed(scores, everything, np.array([80]), start, transition, NONE, out)
    np.testing.assert_allclose(out, whole, atol=1e-13)
    for one, other in zip(found, truth, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
