"""Tables of probabilities: the constrained maximum against every feasible neighbour, and constraints that clash."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.linalg import null_space

from unveil.chains.model.probability_table import Stochastic, banded, left_right

Floats = NDArray[np.float64]


@st.composite
def problems(draw: Any) -> tuple[Stochastic, Floats, Floats]:
    """A rule, a table that obeys it, and counts of which some are zero."""
    random = np.random.default_rng(draw(st.integers(0, 100_000)))
    k, m = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    labels = random.integers(-1, 4, (k, m)) if draw(st.booleans()) else np.full((k, m), -1)
    allowed = np.ones((k, m), dtype=np.bool_)
    free = np.ones((k, m), dtype=np.bool_)
    if draw(st.booleans()):
        allowed = random.random((k, m)) < 0.7
        allowed[:, 0] = True
    if draw(st.booleans()):
        free = random.random((k, m)) < 0.7
    for label in range(4):  # ties of one kind only
        tied = labels == label
        if tied.any():
            allowed[tied], free[tied] = allowed[tied].any(), free[tied].any()
    table = feasible(labels, allowed, random)
    if table is None:
        labels = np.full((k, m), -1)
        table = feasible(labels, allowed, random)
    assert table is not None
    counts = np.where(random.random((k, m)) < draw(st.sampled_from([0.0, 0.4])), 0.0, random.gamma(1.0, 5.0, (k, m)))
    concentration: Any = draw(st.sampled_from([1.0, 1.5]))
    return Stochastic(allowed, free, labels, concentration), counts, table


def feasible(labels: NDArray[np.intp], allowed: NDArray[np.bool_], random: np.random.Generator) -> Floats | None:
    """A positive table that obeys ties and masks, by alternating scaling and averaging; None if none is found."""
    table = np.where(allowed, random.random(labels.shape) + 0.1, 0.0)
    tied = labels >= 0
    for _ in range(300):
        table = table / table.sum(axis=1, keepdims=True)
        table[tied] = (
            np.bincount(labels[tied], table[tied], 4) / np.maximum(np.bincount(labels[tied], minlength=4), 1)
        )[labels[tied]]
        if np.all(np.abs(table.sum(axis=1) - 1.0) < 1e-13):
            return table if np.all(table[allowed] > 1e-6) else None
    return None


def objective(counts: Floats, table: Floats) -> float:
    """Sum of counts times logarithms; minus infinity where a count meets a zero."""
    used = counts > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(counts[used] * np.log(table[used])))


@given(problem=problems(), seed=st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_no_feasible_neighbour_is_better(problem: tuple[Stochastic, Floats, Floats], seed: int) -> None:
    rule, counts, current = problem
    found = rule.maximise(counts, current)
    rule.check(found, "found")
    some = rule.moving(found.shape).any(axis=1)
    atol = 2e-13 if rule.tied is not None else 1e-14  # fixed entries of `current` may leave tied rows sums that clash
    np.testing.assert_allclose(found[some].sum(axis=1), 1.0, rtol=0, atol=atol)
    np.testing.assert_allclose(found[~rule.moving(found.shape)], current[~rule.moving(found.shape)], atol=1e-15)
    seen = np.where(rule.moving(found.shape), counts + (np.asarray(rule.concentration) - 1.0), 0.0)
    best = objective(seen, found)
    assert best >= objective(seen, current) - 1e-9 * max(abs(best), 1.0)
    random = np.random.default_rng(seed)
    for other in (neighbour(rule, found, random, size) for size in (1e-1, 1e-2, 1e-4) for _ in range(5)):
        assert objective(seen, other) <= best + 1e-9 * max(abs(best), 1.0)


def neighbour(rule: Stochastic, table: Floats, random: np.random.Generator, size: float) -> Floats:
    """A step along the constraints, shortened until no entry is negative."""
    layout = rule.layout(table)
    if layout.size == 0:
        return table
    directions = null_space(layout.members_of_rows)
    step = np.zeros(table.shape)
    moving = layout.group >= 0
    step[moving] = (directions @ random.normal(size=directions.shape[1]))[layout.group[moving]]
    falling = step < 0
    room = float(np.min(-table[falling] / step[falling], initial=np.inf))
    return np.maximum(table + min(size, room) * step, 0.0)


@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_free_numbers_are_the_dimension_of_what_can_be_chosen(problem: tuple[Stochastic, Floats, Floats]) -> None:
    rule, _, table = problem
    members = rule.layout(table).members_of_rows
    rank = int(np.linalg.matrix_rank(members)) if members.size else 0
    assert rule.n_free(table.shape) == members.shape[1] - rank


@pytest.mark.parametrize(("rule", "free"), [(Stochastic(), 6), (Stochastic(allowed=left_right(3)), 2)])
def test_a_plain_table_has_one_number_less_a_row(rule: Stochastic, free: int) -> None:
    assert rule.n_free((3, 3)) == free
    assert Stochastic().n_free((3,)) == 2


def test_shares_and_rows_that_stay() -> None:
    counts, current = np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([[0.5, 0.5], [0.2, 0.8]])
    np.testing.assert_array_equal(Stochastic().maximise(counts, current), [[0.25, 0.75], [0.2, 0.8]])
    np.testing.assert_array_equal(Stochastic().maximise(counts[0], current[0]), [0.25, 0.75])


def test_whole_rows_that_are_tied_share_their_counts() -> None:
    rule = Stochastic(tied=np.array([[0, 1], [0, 1]]))
    found = rule.maximise(np.array([[1.0, 3.0], [2.0, 2.0]]), np.full((2, 2), 0.5))
    np.testing.assert_allclose(found, [[0.375, 0.625], [0.375, 0.625]])
    assert rule.n_free((2, 2)) == 1


def test_ties_within_a_row_share_their_mass() -> None:
    rule = Stochastic(tied=np.array([0, 0, -1]))
    np.testing.assert_allclose(rule.maximise(np.array([3.0, 1.0, 4.0]), np.full(3, 1 / 3)), [0.25, 0.25, 0.5])


def test_fixed_entries_keep_their_value_and_the_others_share_the_rest() -> None:
    rule = Stochastic(free=np.array([False, True, True]))
    np.testing.assert_allclose(rule.maximise(np.array([9.0, 1.0, 3.0]), np.array([0.2, 0.4, 0.4])), [0.2, 0.2, 0.6])
    np.testing.assert_allclose(rule.maximise(np.array([9.0, 0.0, 0.0]), np.array([0.2, 0.3, 0.5])), [0.2, 0.3, 0.5])


def test_a_group_never_seen_fills_up_a_row_that_needs_it() -> None:
    # the tied entries want to be large for the second row, the first has nothing else but what was never seen
    rule = Stochastic(tied=np.array([[0, -1], [0, -1]]))
    found = rule.maximise(np.array([[1.0, 0.0], [0.0, 1.0]]), np.full((2, 2), 0.5))
    np.testing.assert_allclose(found, [[0.5, 0.5], [0.5, 0.5]], atol=1e-12)


def test_a_start_rules_nothing_out() -> None:
    found = Stochastic(allowed=left_right(3)).first(np.array([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    assert np.all(found[left_right(3)] > 0)
    assert np.all(found[~left_right(3)] == 0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    fixed = Stochastic(free=np.array([False, True, True])).first(np.zeros(3), np.array([0.5, 0.1, 0.4]))
    np.testing.assert_allclose(fixed, [0.5, 0.25, 0.25])


def test_the_prior_is_the_dirichlet_density() -> None:
    from scipy.stats import dirichlet

    table = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    alpha = np.array([[2.0, 3.0, 1.0], [1.5, 1.5, 1.5]])
    expected = sum(dirichlet.logpdf(row, one) for row, one in zip(table, alpha, strict=True))
    np.testing.assert_allclose(Stochastic(concentration=alpha).log_prior(table), expected)
    assert Stochastic().log_prior(table) == 0.0
    assert Stochastic(concentration=2.0).log_prior(np.array([1.0, 0.0])) == -np.inf


def test_masks() -> None:
    np.testing.assert_array_equal(left_right(4, 2).sum(axis=1), [3, 3, 2, 1])
    np.testing.assert_array_equal(banded(4, 1).sum(axis=1), [2, 3, 3, 2])


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"concentration": 0.5}, "concentration must be at least 1"),
        ({"allowed": np.array([[True, True], [False, False]])}, "allowed must leave each row"),
        ({"allowed": np.ones((2, 2), bool), "tied": np.zeros(2, int)}, "must have one shape"),
        (
            {"allowed": np.array([[True, False], [True, True]]), "tied": np.array([[-1, 4], [4, -1]])},
            "tied and allowed",
        ),
        ({"free": np.array([[True, False], [True, True]]), "tied": np.array([[-1, 4], [4, -1]])}, "tied and free"),
    ],
)
def test_rules_that_contradict_themselves_are_refused(settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Stochastic(**settings_)


def test_tables_that_leave_no_room_are_refused() -> None:
    rule = Stochastic(free=np.array([[False, True], [False, False]]))
    with pytest.raises(ValueError, match=r"fixed entries of row 1 sum to 0\.5"):
        rule.maximise(np.ones((2, 2)), np.array([[0.5, 0.5], [0.2, 0.3]]))
    tied = Stochastic(free=np.array([[False, True], [False, True]]), tied=np.array([[-1, 0], [-1, 0]]))
    with pytest.raises(ValueError, match="rows \\[0, 1\\] share all that moves"):
        tied.maximise(np.ones((2, 2)), np.array([[0.5, 0.5], [0.2, 0.8]]))
    crossed = Stochastic(tied=np.array([[0, 0, -1], [0, 0, 0]]), allowed=np.array([[1, 1, 0], [1, 1, 1]], dtype=bool))
    with pytest.raises(ValueError, match="no values of rows \\[0, 1\\] sum to 1"):
        crossed.maximise(np.ones((2, 3)), np.full((2, 3), 1 / 3))


@pytest.mark.parametrize(
    ("rule", "table", "words"),
    [
        (Stochastic(), [0.5, 0.6], "must hold probabilities that sum to 1"),
        (Stochastic(allowed=np.array([True, False])), [0.5, 0.5], "must be 0 where it is not allowed"),
        (Stochastic(tied=np.array([2, 2])), [0.4, 0.6], "must have equal entries where tied is 2"),
    ],
)
def test_a_table_against_the_rules_is_named(rule: Stochastic, table: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=f"startprob {words}"):
        rule.check(np.array(table), "startprob")
