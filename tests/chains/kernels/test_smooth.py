"""Forward-backward against all paths and against sixty digits: ordinary chains, extreme scores, zeros everywhere."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.oracles.chain_recursions import Known, enumerated, exact
from unveil.chains.kernels import smooth as chains
from unveil.chains.kernels.forward_backward import SweepChain
from unveil.chains.kernels.smooth import add_by_code, smooth, smooth_coded, smooth_in_logs

Floats = NDArray[np.float64]
NONE = np.empty(0)
WIDTHS = [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 65]  # around every way in which states are laid out


def chain(seed: int, k: int, n: int, scale: float = 3.0, zeros: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Scores, start and transitions; a share of entries is impossible."""
    random = np.random.default_rng(seed)
    scores, start = random.normal(0, scale, (n, k)), random.dirichlet(np.ones(k))
    transition = random.dirichlet(np.full(k, random.choice([0.02, 1.0])), k)
    scores[random.random(scores.shape) < 0.5 * zeros] = -np.inf
    transition[random.random(transition.shape) < zeros] = 0.0
    start[random.random(k) < zeros] = 0.0
    return scores, start, transition


def check(known: Known, log_likelihood: float, starts: Floats, transitions: Floats, posteriors: Floats) -> None:
    if known.log_likelihood == -np.inf:
        assert log_likelihood == -np.inf
    assert log_likelihood == pytest.approx(known.log_likelihood, rel=1e-12, abs=1e-10)
    for got, truth in (
        (posteriors, known.posteriors),
        (starts, known.posteriors[0]),
        (transitions, known.transitions),
    ):
        np.testing.assert_allclose(got, truth, rtol=0, atol=1e-10)


def run(scores: Floats, start: Floats, transition: Floats) -> tuple[float, Floats, Floats, Floats]:
    out = np.empty(scores.shape)
    log_likelihoods, starts, transitions = smooth(scores, np.array([len(scores)]), start, transition, NONE, out)
    return float(log_likelihoods[0]), starts, transitions, out


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.sampled_from([0.1, 3.0]), st.booleans())
def test_sums_over_all_paths(seed: int, k: int, n: int, scale: float, zeros: bool) -> None:
    parts = chain(seed, k, n, scale, 0.3 if zeros else 0.0)
    check(enumerated(*parts), *run(*parts))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(1, 14),
    st.sampled_from([30.0, 300.0, 3000.0, 1e5]),
    st.sampled_from([0.0, 0.3, 0.6]),
    st.sampled_from([1.0, 20.0, 90.0]),
)
def test_sixty_digits(seed: int, k: int, n: int, scale: float, zeros: float, power: float) -> None:
    """Scores thousands apart, tiny transitions and none."""
    scores, start, transition = chain(seed, k, n, scale, zeros)
    parts = scores, start, transition**power
    known = exact(*parts)
    check(known, *run(*parts))
    out, starts, transitions = np.empty(scores.shape), np.zeros(k), np.zeros((k, k))
    found = smooth_in_logs(SweepChain(start, transition**power), scores, 1.0, out, starts, transitions)
    check(known, found, starts, transitions, out)


def branches(turn: float) -> tuple[Floats, Floats, Floats]:
    """Two ways that never meet; all that is seen early speaks for one of them, and `turn` later for the other."""
    transition = np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]])
    scores = np.zeros((60, 4))
    scores[:30, 2:] -= 40.0
    scores[30:, :2] -= turn
    return scores, np.full(4, 0.25), transition


@pytest.mark.parametrize("turn", [0.0, 20.0, 39.99, 40.0, 40.01, 60.0])
def test_a_way_given_up_for_lost_returns(turn: float) -> None:
    """A share falls to exp(-1200) and may be all there is at the end: the scaled sweep must not have forgotten it."""
    parts = branches(turn)
    check(exact(*parts), *run(*parts))


@pytest.mark.parametrize(("turn", "logs"), [(0.0, 0), (60.0, 1)])
def test_log_space_where_it_matters(turn: float, logs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def spy(*args: Any) -> float:
        calls.append(args)
        return smooth_in_logs(*args)

    monkeypatch.setattr(chains, "smooth_in_logs", spy)
    run(*branches(turn))
    assert len(calls) == logs


def test_left_right_with_clear_states_stays_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is lost is followed, and found harmless."""
    k = 5
    transition = 0.9 * np.eye(k) + 0.1 * np.eye(k, k=1)
    transition[-1, -1] = 1.0
    truth = np.repeat(np.arange(k), 20)
    scores = -0.5 * (60.0 * (truth[:, None] - np.arange(k))) ** 2
    known = exact(scores, np.eye(k)[0], transition)
    monkeypatch.setattr(chains, "smooth_in_logs", None)
    check(known, *run(scores, np.eye(k)[0], transition))


@pytest.mark.parametrize("k", WIDTHS)
def test_every_width_agrees_with_log_space(k: int) -> None:
    lengths, weights = np.array([1, 40, 2, 300, 65]), np.array([1.0, 0.3, 2.0, 0.0, 5.0])
    scores, start, transition = chain(k, k, int(lengths.sum()))
    out, expected, starts, transitions = np.empty(scores.shape), np.empty(scores.shape), np.zeros(k), np.zeros((k, k))
    found = smooth(scores, lengths, start, transition, weights, out)
    parts, ends = SweepChain(start, transition), np.cumsum(lengths)
    for number, (first, last) in enumerate(zip(ends - lengths, ends, strict=True)):
        here = slice(first, last)
        value = smooth_in_logs(parts, scores[here], weights[number], expected[here], starts, transitions)
        assert found[0][number] == pytest.approx(value, rel=1e-13, abs=1e-11)
    np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found[1], starts, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found[2], transitions, rtol=1e-10, atol=1e-12)


def test_in_place() -> None:
    scores, start, transition = chain(1, 6, 100)
    scores[:50] *= 1000.0
    transition[2:, :2] = 0.0  # one sequence in log space, one not
    lengths, out = np.array([50, 50]), np.empty(scores.shape)
    apart = smooth(scores, lengths, start, transition, NONE, out)
    together = smooth(scores, lengths, start, transition, NONE, scores)
    np.testing.assert_array_equal(scores, out)
    for one, other in zip(apart, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_impossible_sequences_count_for_nothing() -> None:
    scores, start, transition = chain(3, 3, 30)
    scores[12] = -np.inf
    out = np.full(scores.shape, np.nan)
    found = smooth(scores, np.array([10, 10, 10]), start, transition, NONE, out)
    assert found[0][1] == -np.inf
    assert np.isfinite(found[0][[0, 2]]).all()
    assert not out[10:20].any()
    np.testing.assert_allclose(out[:10].sum(axis=1), 1.0)
    assert found[1].sum() == pytest.approx(2.0)
    assert found[2].sum() == pytest.approx(18.0)


def test_a_start_that_is_unlikely_to_have_been() -> None:
    """The only possible start has a score of minus thousands."""
    scores = np.array([[-5000.0, 0.0], [0.0, -3000.0]])
    parts = scores, np.array([1.0, 0.0]), np.full((2, 2), 0.5)
    check(exact(*parts), *run(*parts))


def test_scores_of_narrow_densities() -> None:
    """An offset of all scores of a step only adds to the log-likelihood."""
    scores, start, transition = chain(5, 4, 50)
    offsets = np.random.default_rng(0).normal(1e5, 3e5, (50, 1))
    plain, moved = run(scores, start, transition), run(scores + offsets, start, transition)
    assert moved[0] == pytest.approx(plain[0] + offsets.sum(), rel=1e-12)
    np.testing.assert_allclose(moved[3], plain[3], atol=1e-9)


def test_long_chains_lose_nothing() -> None:
    """Posteriors still sum to one after 100,000 steps; two halves, split where the state is known, add up."""
    scores, start, transition = chain(7, 3, 100_000, scale=1.0)
    scores[50_000, 1:] = -np.inf
    value, _, transitions, out = run(scores, start, transition)
    np.testing.assert_allclose(out.sum(axis=1), 1.0, rtol=1e-13)
    assert transitions.sum() == pytest.approx(99_999, rel=1e-13)
    first = run(scores[:50_001], start, transition)
    second = run(scores[50_001:], transition[0], transition)
    assert value == pytest.approx(first[0] + second[0], rel=1e-13)
    np.testing.assert_allclose(np.vstack([first[3], second[3]]), out, atol=1e-12)


@pytest.mark.parametrize("k", [2, 16, 40])
def test_codes_are_a_table_of_scores(k: int) -> None:
    random = np.random.default_rng(k)
    table = random.dirichlet(np.full(7, 0.3), k).T.copy()
    table[2, : k // 2] = 0.0
    table[3] *= 1e-250
    codes, lengths = random.integers(-1, 7, 500), np.array([1, 199, 300])
    _, start, transition = chain(k, k, 1)
    with np.errstate(divide="ignore"):
        table = np.log(table)
    scores = np.where(codes[:, None] >= 0, table[codes], 0.0)
    out, expected = np.empty(scores.shape), np.empty(scores.shape)
    found = smooth_coded(codes, table, lengths, start, transition, NONE, out)
    truth = smooth(scores, lengths, start, transition, NONE, expected)
    np.testing.assert_array_equal(out, expected)
    for one, other in zip(found, truth, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_codes_in_log_space() -> None:
    table = np.array([[-3000.0, 0.0], [0.0, -800.0]])  # probabilities that are no numbers
    codes, transition = np.array([0] * 5 + [-1] + [1] * 9), np.eye(2)
    out = np.empty((15, 2))
    found = smooth_coded(codes, table, np.array([15]), np.full(2, 0.5), transition, NONE, out)
    assert found[0][0] == pytest.approx(-9 * 800.0 + np.log(0.5), rel=1e-13)
    np.testing.assert_allclose(out, [[0.0, 1.0]] * 15, atol=1e-13)


def test_posteriors_by_code() -> None:
    random = np.random.default_rng(0)
    codes, posteriors = random.integers(-1, 5, 200), random.random((200, 3))
    out = np.ones((5, 3))
    add_by_code(codes, posteriors, out)
    for level in range(5):
        np.testing.assert_allclose(out[level], 1.0 + posteriors[codes == level].sum(axis=0), rtol=1e-13)


def test_many_short_sequences_equal_one_by_one() -> None:
    scores, start, transition = chain(11, 3, 3000)
    lengths = np.full(1000, 3)
    out = np.empty(scores.shape)
    log_likelihoods, starts, transitions = smooth(scores, lengths, start, transition, NONE, out)
    alone = [run(scores[first : first + 3], start, transition) for first in range(0, 3000, 3)]
    np.testing.assert_array_equal(log_likelihoods, [one[0] for one in alone])
    np.testing.assert_array_equal(out, np.vstack([one[3] for one in alone]))
    np.testing.assert_allclose(starts, sum(one[1] for one in alone), rtol=1e-12)
    np.testing.assert_allclose(transitions, sum(one[2] for one in alone), rtol=1e-12)


def test_scores_must_lie_in_one_piece() -> None:
    scores, start, transition = chain(1, 2, 8)
    with pytest.raises(TypeError, match="scores must be C-contiguous"):
        smooth(scores[::2], np.array([4]), start, transition, NONE, np.empty((4, 2)))
    with pytest.raises(TypeError, match="out must be C-contiguous float64, got float32"):
        smooth(scores, np.array([8]), start, transition, NONE, np.empty((8, 2), dtype=np.float32))
