"""Kernel K-means against the double sum, against explicit features, and against its own laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given as forall
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.clusters.kernel_kmeans.gram import (
    ComputedGram,
    GaussianKernel,
    HeldGram,
    LinearKernel,
    NamedKernel,
    given,
    hold,
)
from unveil.clusters.kernel_kmeans.model import (
    FeatureClusters,
    FeatureMeans,
    FeatureProblem,
    around,
    climb,
    labelled,
    pivots,
    plus_plus,
    random_rows,
)
from unveil.core.result import Fit, State, Status
from unveil.engines import Threads

Floats = NDArray[np.float64]
DOUBLE = np.dtype(np.float64)


def square(K: Floats, weights: Floats, i: int, mine: NDArray[Any]) -> float:
    """Squared distance of row i to the mean of the rows `mine`, by the double sum."""
    w = weights[mine] / weights[mine].sum()
    return float(K[i, i] - 2 * w @ K[mine, i] + w @ K[np.ix_(mine, mine)] @ w)


def oracle(K: Floats, weights: Floats, labels: NDArray[np.intp]) -> float:
    """The cost, row by row."""
    members = {c: np.flatnonzero((labels == c) & (weights > 0)) for c in np.unique(labels[weights > 0])}
    return sum(weights[i] * square(K, weights, i, members[labels[i]]) for i in np.flatnonzero(weights))


def pass_of(K: Floats, weights: Floats, labels: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """One plain pass: nearest mean, the first of equals."""
    members = [np.flatnonzero((labels == c) & (weights > 0)) for c in range(k)]
    squares = [[square(K, weights, i, mine) if len(mine) else np.inf for mine in members] for i in range(len(K))]
    return np.array([int(np.argmax(line <= np.min(line) + 1e-12)) for line in np.array(squares)])


def table(seed: int, n: int, d: int, kind: str) -> Floats:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    if kind == "copies":
        return X[random.integers(max(n // 3, 1), size=n)]
    if kind == "line":
        return np.outer(X[:, 0], np.ones(d))
    return X


def problem_of(K: Floats, weights: Floats, k: int) -> FeatureProblem:
    return FeatureProblem(given(K), weights, k, Threads(1))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, Floats, NDArray[np.intp], int]:
    seed, n = draw(st.integers(0, 10**6)), draw(st.integers(3, 25))
    X = table(seed, n, draw(st.integers(1, 4)), draw(st.sampled_from(["cloud", "copies", "line"])))
    kernel = draw(
        st.sampled_from(
            [GaussianKernel(0.8), LinearKernel(), NamedKernel("poly", {"degree": 2, "gamma": 0.5, "coef0": 1})]
        )
    )
    random, k = np.random.default_rng(seed + 1), draw(st.integers(1, min(n, 5)))
    weights = draw(st.sampled_from([np.ones(n), random.random(n) + 0.01, random.integers(1, 4, n).astype(float)]))
    return hold(kernel, X, DOUBLE, Threads(1)).matrix, weights, random.integers(k, size=n), k


@forall(problems())
@settings(max_examples=60, deadline=None)
def test_a_run_ends_where_no_pass_and_no_single_move_lowers_the_cost(problem: Any) -> None:
    K, weights, labels, k = problem
    outcome = climb(problem_of(K, weights, k), labels, 200, 0.0)
    found, slack = outcome.params.labels, 1e-9 * float(weights @ np.diagonal(K)) + 1e-12
    assert outcome.status is Status.CONVERGED
    assert outcome.params.cost == pytest.approx(oracle(K, weights, found), abs=slack)
    falls = np.diff(np.append([-oracle(K, weights, labels)], outcome.history.free_energy))
    assert np.all(falls >= -slack)
    for i in range(len(K)):
        for c in range(k):
            moved = found.copy()
            moved[i] = c
            assert oracle(K, weights, moved) >= outcome.params.cost - slack
    assert oracle(K, weights, pass_of(K, weights, found, k)) >= outcome.params.cost - slack


@forall(problems())
@settings(max_examples=60, deadline=None)
def test_one_pass_is_the_plain_pass(problem: Any) -> None:
    K, weights, labels, k = problem
    plain = pass_of(K, weights, labels, k)
    clusters = FeatureClusters(problem_of(K, weights, k), labels)
    means = clusters.means
    squares = means.squares(clusters.sums, clusters.diagonal)
    np.testing.assert_array_equal(means.nearest(squares, clusters.diagonal), plain)
    assert clusters.cost == pytest.approx(oracle(K, weights, labels), abs=1e-9 * float(weights @ np.diagonal(K)))


def test_distances_are_those_of_explicit_features() -> None:
    X, random = table(0, 40, 2, "cloud"), np.random.default_rng(1)
    a, b = X.T  # (1 + x·y)² is the product of these six features
    features = np.stack([np.ones(40), 2**0.5 * a, 2**0.5 * b, a * a, b * b, 2**0.5 * a * b], axis=1)
    weights, labels = random.random(40), random.integers(3, size=40)
    gram = hold(NamedKernel("poly", {"degree": 2, "gamma": 1, "coef0": 1}), X, DOUBLE, Threads(1))
    clusters = FeatureClusters(FeatureProblem(gram, weights, 3, Threads(1)), labels)
    means = np.array([np.average(features[labels == c], axis=0, weights=weights[labels == c]) for c in range(3)])
    expected = ((features - means[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(clusters.means.squares(clusters.sums, gram.diagonal), expected, atol=1e-11)


def test_sums_that_follow_changes_equal_sums_from_scratch() -> None:
    X = table(3, 1200, 3, "cloud")
    random = np.random.default_rng(0)
    problem = FeatureProblem(hold(GaussianKernel(0.5), X, DOUBLE, Threads(2)), random.random(1200), 6, Threads(2))
    clusters = FeatureClusters(problem, random.integers(6, size=1200))
    for _ in range(12):
        clusters.step()
        np.testing.assert_allclose(clusters.sums, problem.sums(clusters.labels), atol=1e-10)
        fresh = FeatureClusters(problem, clusters.labels)
        assert clusters.cost == pytest.approx(fresh.cost, rel=1e-11)
        np.testing.assert_allclose(clusters.means.norms, fresh.means.norms, rtol=1e-9)


def run(gram: Any, workers: int) -> Fit:
    weights = np.random.default_rng(0).random(gram.shape[0])
    labels = np.arange(gram.shape[0]) % 7
    return climb(FeatureProblem(gram, weights, 7, Threads(workers)), labels, 100, 0.0)


def test_threads_change_no_bit_and_routes_no_label() -> None:
    X = table(4, 1400, 3, "cloud")
    held, computed = hold(GaussianKernel(0.5), X, DOUBLE, Threads(2)), ComputedGram(GaussianKernel(0.5), X, X, DOUBLE)
    for gram in (held, computed):
        one, three = run(gram, 1), run(gram, 3)
        assert one.history.free_energy.tobytes() == three.history.free_energy.tobytes()
        np.testing.assert_array_equal(one.params.labels, three.params.labels)
    np.testing.assert_array_equal(run(held, 2).params.labels, run(computed, 2).params.labels)


def test_an_empty_cluster_takes_the_furthest_row_and_leaves_none_empty() -> None:
    X = np.array([[0.0], [0.1], [0.2], [9.0]])
    problem = problem_of(X @ X.T, np.ones(4), 3)
    outcome = climb(problem, np.zeros(4, np.intp), 50, 0.0)
    assert outcome.history.events["reseeded"] >= 2
    assert len(np.unique(outcome.params.labels)) == 3
    assert np.count_nonzero(outcome.params.labels == outcome.params.labels[3]) == 1
    assert outcome.params.cost == pytest.approx(0.005)


def test_rows_without_weight_fill_no_cluster() -> None:
    X = np.array([[0.0], [1.0], [50.0]])
    outcome = climb(problem_of(X @ X.T, np.array([1.0, 1.0, 0.0]), 2), np.zeros(3, np.intp), 50, 0.0)
    assert outcome.params.cost == 0.0
    assert outcome.params.labels[0] != outcome.params.labels[1] == outcome.params.labels[2]


def test_a_matrix_with_no_feature_space_still_never_raises_the_cost() -> None:
    took_back = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        K = random.normal(size=(30, 30))
        K = K + K.T
        outcome = climb(problem_of(K, np.ones(30), 4), random.integers(4, size=30), 300, 0.0)
        took_back += outcome.history.events.get("taken_back", 0)
        assert outcome.history.largest_fall() <= 1e-9
        assert outcome.status is Status.CONVERGED
        assert outcome.params.cost == pytest.approx(oracle(K, np.ones(30), outcome.params.labels))
    assert took_back > 0


def test_an_interrupt_keeps_the_labels_so_far() -> None:
    def interrupt(state: State) -> None:
        if state.iteration == 2:
            raise KeyboardInterrupt

    X = table(5, 200, 2, "cloud")
    problem = FeatureProblem(hold(GaussianKernel(1.0), X, DOUBLE, Threads(1)), np.ones(200), 6, Threads(1))
    outcome = climb(problem, np.arange(200) % 6, 50, 0.0, (interrupt,))
    assert outcome.status is Status.INTERRUPTED
    assert len(outcome.history) == 2
    assert outcome.params.cost == pytest.approx(-outcome.history[-1].free_energy, rel=1e-12)


def test_a_tolerance_ends_a_run_early() -> None:
    X = table(5, 300, 2, "cloud")
    problem = FeatureProblem(hold(GaussianKernel(1.0), X, DOUBLE, Threads(1)), np.ones(300), 6, Threads(1))
    early, late = (climb(problem, np.arange(300) % 6, 100, tol) for tol in (0.05, 0.0))
    assert early.status is late.status is Status.CONVERGED
    assert len(early.history) < len(late.history)
    assert late.params.cost <= early.params.cost


def test_seeds_are_different_rows_with_weight() -> None:
    X = np.repeat(table(6, 5, 2, "cloud"), 4, axis=0)
    gram = HeldGram(X @ X.T, np.einsum("ij,ij->i", X, X))
    weights = np.tile([0.0, 1.0, 1.0, 0.0], 5)
    for seed in range(5):
        seeds = plus_plus(gram, weights, 5, np.random.default_rng(seed))
        assert sorted(seeds // 4) == [0, 1, 2, 3, 4]
        assert np.all(weights[seeds] > 0)
        assert len(set(plus_plus(gram, weights, 12, np.random.default_rng(seed)))) == 12  # copies fill the rest
        chosen = random_rows(gram, weights, 10, np.random.default_rng(seed))
        assert sorted(chosen) == np.flatnonzero(weights).tolist()
        np.testing.assert_array_equal(around(gram, np.arange(0, 20, 4)), np.arange(20) // 4)


def test_pivots_span_what_they_can() -> None:
    X = table(7, 50, 3, "cloud")
    gram = hold(LinearKernel(), X, DOUBLE, Threads(1))
    chosen = pivots(gram, np.ones(50), 10, np.random.default_rng(0))
    assert len(set(chosen)) == len(chosen) == 3  # as many as there are dimensions
    assert np.linalg.matrix_rank(X[chosen]) == 3
    assert (
        len(pivots(hold(GaussianKernel(1.0), X, DOUBLE, Threads(1)), np.ones(50), 10, np.random.default_rng(0))) == 10
    )


def test_of_equal_distances_the_first_is_taken_and_an_empty_cluster_never() -> None:
    means = FeatureMeans(np.array([0.0, 1.0, 1.0]), np.array([0.0, 4.0, 4.0]))
    squares = means.squares(np.array([[0.0], [1.0], [1.0 + 1e-15]]), np.array([1.0]))
    assert squares[0, 0] == np.inf
    assert means.nearest(squares, np.array([1.0])).tolist() == [1]


def test_labels_are_checked() -> None:
    assert labelled([1, 0, 1.0], 3, 2).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match=r"init must have shape \(3,\)"):
        labelled([1, 0], 3, 2)
    with pytest.raises(ValueError, match="got 2 in row 1"):
        labelled([1, 2, 0], 3, 2)


def test_kernels_that_overflow_are_refused() -> None:
    gram = HeldGram(np.full((2, 2), np.inf), np.full(2, np.inf))
    with pytest.raises(ValueError, match="kernel must give finite numbers"), np.errstate(all="ignore"):
        climb(FeatureProblem(gram, np.ones(2), 1, Threads(1)), np.zeros(2, np.intp), 5, 0.0)
