"""Every way to find nearest centres against the plain oracle: the same labels to the last, pass after pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.assignment.choice import choose
from unveil.clusters.assignment.direct import Direct
from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.kd_tree import KDTree
from unveil.clusters.assignment.plan import NARROW_COLUMNS
from unveil.clusters.assignment.rules import Elkan, Hamerly, Plain, Pruned
from unveil.numerics.tiles import readable

POLICIES = [Plain(), Plain(thrifty=True), Hamerly(), Pruned(), Pruned(3), Elkan(), KDTree(), Direct()]


@st.composite
def tables(draw):
    """Rows of all kinds, and where centres go from pass to pass."""
    n, d, k = (
        draw(st.integers(1, 300)),
        draw(st.sampled_from([1, 2, 3, 5, 9, NARROW_COLUMNS + 3])),
        draw(st.integers(1, 40)),
    )
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = {
        "random": lambda: random.normal(size=(n, d)),
        "duplicated": lambda: random.normal(size=(max(n // 7, 1), d))[random.integers(max(n // 7, 1), size=n)],
        "collinear": lambda: np.outer(random.integers(-9, 9, size=n), random.integers(1, 4, size=d)).astype(float),
        "grid": lambda: random.integers(0, 4, size=(n, d)) * 0.1,
        "offset": lambda: random.normal(size=(n, d)) + 1e8,
        "uneven": lambda: random.normal(size=(n, d)) * np.logspace(-7, 7, d),
        "tiny": lambda: random.normal(size=(n, d)) * 1e-120,
        "constant": lambda: np.full((n, d), 3.7),
    }[draw(st.sampled_from(["random", "duplicated", "collinear", "grid", "offset", "uneven", "tiny", "constant"]))]()
    rows = rows.astype(draw(st.sampled_from([np.float64, np.float32])))
    path = [rows[random.integers(n, size=k)].astype(np.float64)]
    for step in (0.3, 0.05, 0.0, 1e-9):
        path.append(path[-1] + step * rows.std(dtype=np.float64) * random.normal(size=(k, d)))
    return readable(rows), path


@pytest.mark.parametrize(
    ("shape", "policy"),
    [
        ((150, 4, 3), Direct()),
        ((60_000, 2, 8), Direct()),
        ((200_000, 2, 8), KDTree(most=2048)),
        ((200_000, 3, 1000), KDTree()),
        ((200_000, 8, 50), Hamerly()),
        ((200_000, 16, 16), Hamerly()),
        ((200_000, 64, 500), Pruned()),
        ((10**9, 2, 100), Plain(thrifty=True)),
        ((10**9, 32, 100), Plain(thrifty=True)),
    ],
)
def test_the_rule_chooses(shape, policy):
    assert str(choose(*shape)) == str(policy)


@settings(max_examples=100, deadline=None)
@given(tables(), st.sampled_from(POLICIES))
def test_labels_are_those_of_the_exact_rule(table, policy):
    rows, path = table
    shift, known = rows.mean(axis=0, dtype=np.float64), None
    policy = policy.ready(rows[: len(rows) // 2 + 1], shift)
    for centres in path:
        plan = policy.plan(np.ascontiguousarray(centres - shift), shift)
        known = policy.assign(rows, plan, known)
        expected = distances(rows, shift, plan.centres).argmin(axis=1)
        np.testing.assert_array_equal(known.bounds.labels, expected)


@pytest.mark.parametrize("columns", [2, 8, 40])
def test_a_whole_run_ends_alike(columns):
    random = np.random.default_rng(0)
    rows = readable(random.normal(size=(3000, columns)) + 3 * random.integers(0, 3, size=(3000, 1)))
    wanted = _run(rows, Direct(), 30)
    for policy in POLICIES[:-1]:
        assert _run(rows, policy, 30) == wanted, policy


def _run(rows, policy, k):
    """Labels of every pass of Lloyd's algorithm, as bytes."""
    shift, known, centres, trail = rows.mean(axis=0), None, rows[:k] - rows.mean(axis=0), []
    policy = policy.ready(rows[:1000], shift)
    for _ in range(12):
        known = policy.assign(rows, policy.plan(np.ascontiguousarray(centres), shift), known)
        trail.append(known.bounds.labels.tobytes())
        counts = np.bincount(known.bounds.labels, minlength=k)
        sums = (known.bounds.labels == np.arange(k)[:, None]).astype(float) @ (rows - shift)
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return trail


def test_what_is_known_is_left_as_it_was():
    """A pass that is run again from the same memory, as a cluster may do, gives the same labels."""
    rows, shift = readable(np.random.default_rng(0).normal(size=(2000, 40))), np.zeros(40)
    for policy in (policy.ready(rows[:500], shift) for policy in POLICIES):
        first = policy.assign(rows, policy.plan(rows[:20].copy(), shift), None)
        plan = policy.plan(rows[:20] * 0.9, shift)
        once = policy.assign(rows, plan, first).bounds.labels.copy()
        np.testing.assert_array_equal(policy.assign(rows, plan, first).bounds.labels, once)
