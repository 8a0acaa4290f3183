"""Kernels against scikit-learn's, the Gram matrix by every route, and the best single move by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from unveil.clusters.kernel_kmeans.gram import (
    ComputedGram,
    FunctionKernel,
    GaussianKernel,
    Kernel,
    LinearKernel,
    NamedKernel,
    SumSegments,
    add_rows,
    better_move,
    decay,
    given,
    hold,
    named,
)
from unveil.engines import Threads

Floats = NDArray[np.float64]
DOUBLE = np.dtype(np.float64)


def rows(n: int, d: int = 3, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, d))


def dot(x: Floats, y: Floats, power: int = 1) -> float:
    return float(x @ y) ** power


KERNELS = [
    (GaussianKernel(0.7), {"metric": "rbf", "gamma": 0.7}),
    (LinearKernel(), {"metric": "linear"}),
    (NamedKernel("laplacian", {"gamma": 0.2}), {"metric": "laplacian", "gamma": 0.2}),
    (FunctionKernel(dot, {"power": 2}), {"metric": "poly", "degree": 2, "gamma": 1, "coef0": 0}),
]


@pytest.mark.parametrize(("kernel", "settings"), KERNELS)
def test_kernels_agree_with_scikit_learn(kernel: Kernel, settings: dict[str, object]) -> None:
    X, Y = rows(70), rows(90, seed=1)
    np.testing.assert_allclose(kernel(X, Y), pairwise_kernels(X, Y, **settings), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(pairwise_kernels(X, **settings)), rtol=1e-12)


@pytest.mark.parametrize(("kernel", "settings"), KERNELS)
def test_the_matrix_is_symmetric_and_the_same_by_every_route(kernel: Kernel, settings: dict[str, object]) -> None:
    X = rows(1100 if kernel in (KERNELS[0][0], KERNELS[1][0]) else 60)
    held, computed = hold(kernel, X, DOUBLE, Threads(2)), ComputedGram(kernel, X, X, DOUBLE)
    np.testing.assert_array_equal(held.matrix, held.matrix.T)
    np.testing.assert_array_equal(np.diagonal(held.matrix), held.diagonal)
    np.testing.assert_allclose(held.matrix, pairwise_kernels(X, **settings), rtol=1e-11, atol=1e-12)
    assert held.matrix.tobytes() == hold(kernel, X, DOUBLE, Threads(1)).matrix.tobytes()
    chosen = np.array([5, 2, 59])
    np.testing.assert_allclose(held.rows(chosen), computed.rows(chosen), rtol=1e-12, atol=1e-13)
    assert held.shape == computed.shape == (len(X), len(X))


def test_sums_are_those_of_a_product() -> None:
    X, Y = rows(1300), rows(40, seed=1)
    random = np.random.default_rng(2)
    labels, amounts, member = random.integers(4, size=1300), random.normal(size=1300), np.zeros((4, 1300))
    member[labels, np.arange(1300)] = amounts
    sums = np.zeros((4, 40))
    gram = ComputedGram(GaussianKernel(0.5), X, Y, DOUBLE)
    gram.add(np.arange(1300), labels, amounts, sums, 0, 25)
    gram.add(np.arange(1300), labels, amounts, sums, 25, 40)
    np.testing.assert_allclose(sums, member @ GaussianKernel(0.5)(X, Y), atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_added_where_they_belong(dtype: type) -> None:
    matrix, sums = np.arange(12, dtype=dtype).reshape(3, 4), np.zeros((2, 6))
    add_rows(matrix, np.array([2, 0, 2]), 1, np.array([0, 1, 1]), np.array([1.0, 2.0, -1.0]), sums, 2, 5)
    np.testing.assert_array_equal(sums, [[0, 0, 9, 10, 11, 0], [0, 0, -7, -6, -5, 0]])


def test_decay_is_exp_and_never_above_one() -> None:
    values = np.array([[0.0, 1e-13, -1.0, -700.0, -800.0]])
    decay(values)
    np.testing.assert_allclose(values, [[1.0, 1.0, math.exp(-1), math.exp(-700), 0.0]], rtol=1e-14)


def test_segments_cut_all_columns_and_may_be_asked_for_some() -> None:
    segments = SumSegments(1000, 5000)
    assert [(block.start, len(block.rows)) for block in segments.read()] == [
        (0, 256),
        (256, 256),
        (512, 256),
        (768, 232),
    ]
    assert [block.start for block in segments.read([3])] == [768]
    assert segments.dtype == DOUBLE


def cost(X: Floats, weights: Floats, labels: NDArray[np.intp]) -> float:
    """Weighted K-means cost, cluster by cluster."""
    total = 0.0
    for c in np.unique(labels):
        mine = labels == c
        mean = np.average(X[mine], axis=0, weights=weights[mine])
        total += float(weights[mine] @ ((X[mine] - mean) ** 2).sum(axis=1))
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_move_that_is_found_is_the_first_and_the_best(seed: int) -> None:
    X, random = rows(15, 2, seed), np.random.default_rng(seed)
    weights, labels = random.random(15) + 0.1, random.integers(3, size=15)
    K = X @ X.T
    member = np.zeros((3, 15))
    member[labels, np.arange(15)] = weights
    counts, sums = member.sum(axis=1), member @ K
    norms = np.einsum("ci,ci->c", sums, member) / counts**2
    gains = np.zeros((15, 3))
    for i in range(15):
        for c in range(3):
            moved = labels.copy()
            moved[i] = c
            gains[i, c] = cost(X, weights, labels) - cost(X, weights, moved)
    row, target = better_move(0, sums, np.diagonal(K).copy(), weights, labels, counts, norms)
    expected = int(np.argmax((gains > 1e-9).any(axis=1)))
    assert (row, target) == (expected, int(np.argmax(gains[expected])))


def test_kernels_by_name_take_what_they_know() -> None:
    settings = {"gamma": 2.0, "degree": 3, "coef0": 1}
    assert named("rbf", settings, {}) == GaussianKernel(2.0)
    assert named("rbf", settings, {"gamma": 5.0}) == GaussianKernel(5.0)
    assert named("linear", settings, {}) == LinearKernel()
    assert named("sigmoid", settings, {}) == NamedKernel("sigmoid", {"gamma": 2.0, "coef0": 1})
    with pytest.raises(
        ValueError, match="kernel_params has 'width', which kernel='cosine' does not know; it takes none"
    ):
        named("cosine", settings, {"width": 1})


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "must be square"),
        (np.full((2, 2), np.inf), "must be finite"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "must be symmetric.*0.1"),
    ],
)
def test_what_is_no_matrix_of_inner_products_is_refused(matrix: Floats, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        given(matrix)
