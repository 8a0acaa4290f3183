"""Best, k best and drawn paths against the list of all paths."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.chains.kernels.test_smooth import NONE, WIDTHS, branches, chain
from tests.oracles.chain_recursions import all_paths, exact
from unveil.chains.kernels.paths import (
    SHIFTED_STEPS,
    PathSteps,
    best_paths,
    best_paths_of,
    count_paths,
    draw_paths,
    k_best_paths,
)

Floats = NDArray[np.float64]


def logs(start: Floats, transition: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore"):
        return np.log(start), np.log(transition)


def value_of(path: NDArray[np.int64], scores: Floats, start: Floats, transition: Floats) -> float:
    first, steps = logs(start, transition)
    seen = scores[np.arange(len(path)), path].sum()
    return float(first[path[0]] + steps[path[:-1], path[1:]].sum() + seen)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 30),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
)
def test_among_all_paths(seed: int, k: int, n: int, count: int, zeros: float, ties: bool) -> None:
    scores, start, transition = chain(seed, k, n, 3.0, zeros)
    if ties:
        scores, transition = np.sign(scores), np.full((k, k), 0.5)
    _, values = all_paths(scores, start, transition)
    found = np.empty(n, dtype=np.int64)
    value = best_paths(scores, np.array([n]), *logs(start, transition), found)[0]
    best, heights = k_best_paths(scores, *logs(start, transition), count)
    possible = np.sort(values[values > -np.inf])[::-1]
    assert best.shape == (min(count, len(possible)), n)
    np.testing.assert_allclose(heights, possible[:count], rtol=1e-12, atol=1e-12)
    assert len({tuple(path) for path in best}) == len(best)
    assert (np.diff(heights) <= 0).all()
    for path, height in zip(best, heights, strict=True):
        assert value_of(path, scores, start, transition) == pytest.approx(height, rel=1e-12, abs=1e-12)
    if len(possible):
        assert value == heights[0]
        np.testing.assert_array_equal(found, best[0])
    else:
        assert value == -np.inf
        assert not found.any()


def test_lowest_state_of_equals() -> None:
    found = np.empty(7, dtype=np.int64)
    for k in (2, 5, 16, 20, 40):
        start, transition = np.full(k, 1 / k), np.full((k, k), 1 / k)
        scores = np.zeros((7, k))
        scores[3, : k // 2] = -1.0
        best_paths(scores, np.array([7]), *logs(start, transition), found)
        np.testing.assert_array_equal(found, [0, 0, 0, k // 2, 0, 0, 0])


@pytest.mark.parametrize("k", WIDTHS)
def test_every_width(k: int) -> None:
    """Against the plain recursion, over steps at which maxima are taken off."""
    lengths = np.array([2 * SHIFTED_STEPS + 7, 1, 30])
    scores, start, transition = chain(k, k, int(lengths.sum()))
    first, steps = logs(start, transition)
    found, at = np.empty(len(scores), dtype=np.int64), 0
    values = best_paths(scores, lengths, first, steps, found)
    for length, value in zip(lengths, values, strict=True):
        here = scores[at : at + length]
        reach = first + here[0]
        for t in range(1, length):
            reach = (reach[:, None] + steps).max(axis=0) + here[t]
        assert value == pytest.approx(reach.max(), rel=1e-13)
        assert value_of(found[at : at + length], here, start, transition) == pytest.approx(value, rel=1e-12)
        several, heights = k_best_paths(here, first, steps, 3)
        np.testing.assert_array_equal(several[0], found[at : at + length])
        assert heights[0] == value
        at += length


def test_a_long_chain_keeps_its_digits() -> None:
    """Scores that add up to -1e9: the path still follows differences of 1e-7."""
    n = 4000
    scores = np.full((n, 2), -2.5e5)
    scores[np.arange(n), np.arange(n) % 2] += 1e-7
    found = np.empty(n, dtype=np.int64)
    best_paths(scores, np.array([n]), *logs(np.full(2, 0.5), np.full((2, 2), 0.5)), found)
    np.testing.assert_array_equal(found, np.arange(n) % 2)


@pytest.mark.parametrize("turn", [0.0, 39.99, 60.0])
def test_draws_follow_the_posterior(turn: float) -> None:
    """Scaled and in log space."""
    parts = branches(turn)
    known, draws = exact(*parts), 4000
    out = np.empty((60, draws), dtype=np.int64)
    found = draw_paths(parts[0], np.array([60]), *parts[1:], np.random.default_rng(0).random((60, draws)), out)
    assert found[0] == pytest.approx(known.log_likelihood, rel=1e-12)
    shares = np.stack([(out == j).mean(axis=1) for j in range(4)], axis=1)
    np.testing.assert_allclose(shares, known.posteriors, atol=0.05)
    starts, transitions = count_paths(out, np.array([60]), NONE, 4)
    np.testing.assert_allclose(starts, known.posteriors[0], atol=0.05)
    np.testing.assert_allclose(transitions, known.transitions, atol=0.6)


def test_draws_are_the_inverse_of_the_distribution() -> None:
    """All uniforms of a step: each path of two steps comes up as often as its posterior says."""
    scores, start, transition = chain(4, 3, 2)
    grid = (np.arange(300) + 0.5) / 300
    uniforms = np.stack([np.tile(grid, 300), np.repeat(grid, 300)])
    out = np.empty(uniforms.shape, dtype=np.int64)
    draw_paths(scores, np.array([2]), start, transition, uniforms, out)
    joint = np.zeros((3, 3))
    np.add.at(joint, (out[0], out[1]), 1 / out.shape[1])
    np.testing.assert_allclose(joint, exact(scores, start, transition).transitions, atol=0.01)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([3.0, 3000.0]))
def test_draws_are_possible(seed: int, scale: float) -> None:
    scores, start, transition = chain(seed, 4, 12, scale, 0.3)
    lengths, uniforms = np.array([5, 7]), np.random.default_rng(seed).random((12, 9))
    uniforms[:, 0], uniforms[:, 1] = 0.0, np.nextafter(1.0, 0.0)
    out = np.full((12, 9), -1, dtype=np.int64)
    found = draw_paths(scores, lengths, start, transition, uniforms, out)
    for here, value in ((slice(0, 5), found[0]), (slice(5, 12), found[1])):
        assert value == pytest.approx(exact(scores[here], start, transition).log_likelihood, rel=1e-12)
        for path in out[here].T:
            assert not path.any() if value == -np.inf else value_of(path, scores[here], start, transition) > -np.inf


def test_counts_of_paths() -> None:
    paths = np.array([[0, 1], [1, 1], [2, 0], [0, 0], [0, 2]])
    starts, transitions = count_paths(paths, np.array([3, 2]), np.array([2.0, 3.0]), 3)
    np.testing.assert_array_equal(starts, [1 + 1.5 + 1.5, 1, 0])
    np.testing.assert_array_equal(transitions, [[1.5, 1, 1.5], [1, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize("k", [1, 3, 5, 17])
def test_a_sequence_has_the_same_path_alone_and_beside_any_other(k: int) -> None:
    lengths = np.array([40, 7, 1, 300, 12, 12, 3])
    scores, start, transition = chain(k, k, int(lengths.sum()))
    scores[40:47] = -np.inf  # nothing is possible in the second
    with np.errstate(divide="ignore"):
        first, steps = np.log(start), np.log(transition)
    together = np.empty(len(scores), dtype=np.int64)
    values = best_paths(scores, lengths, first, steps, together)
    ends = np.cumsum(lengths)
    for length, end, value in zip(lengths, ends, values, strict=True):
        alone = np.empty(length, dtype=np.int64)
        (expected,) = best_paths(scores[end - length : end], [length], first, steps, alone)
        assert value == expected
        np.testing.assert_array_equal(together[end - length : end], alone)


@pytest.mark.parametrize("k", [1, 3, 5, 16, 40])
@pytest.mark.parametrize("lengths", [[1], [1, 1], [300, 2], [2, 300, 1], [40, 7, 1, 2 * SHIFTED_STEPS + 3, 12]])
def test_codes_are_the_lines_that_they_name(k: int, lengths: list[int]) -> None:
    levels, start, transition = chain(k, k, 6)
    codes = np.random.default_rng(k).integers(6, size=sum(lengths))
    first, steps = logs(start, transition)
    paths, expected = np.empty(len(codes), dtype=np.int64), np.empty(len(codes), dtype=np.int64)
    values = best_paths_of(PathSteps.of(first, steps), levels, lengths, paths, codes)
    np.testing.assert_array_equal(values, best_paths(levels[codes], lengths, first, steps, expected))
    np.testing.assert_array_equal(paths, expected)
