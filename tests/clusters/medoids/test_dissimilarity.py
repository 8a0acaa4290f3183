"""Metrics beside scikit-learn's, and the matrix of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from unveil.clusters.medoids.dissimilarity import (
    BLOCK_ROWS,
    FEW_OTHERS,
    checked,
    euclidean,
    expanded,
    learned,
    manhattan,
    matrix_tasks,
    metric_of,
)


def rows(n: int = 30, d: int = 4, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random((n, d))


@pytest.mark.parametrize(
    "name", ["euclidean", "l2", "manhattan", "l1", "cosine", "chebyshev", "canberra", "hamming", "correlation"]
)
@pytest.mark.parametrize("d", [4, 100])
def test_named_metrics_are_scikit_learns(name: str, d: int) -> None:
    x, y = rows(d=d), rows(7, d, seed=1)
    np.testing.assert_allclose(metric_of(name, {})(x, y), pairwise_distances(x, y, metric=name), rtol=1e-10)


def test_parameters_reach_the_metric() -> None:
    x, y = rows(), rows(7, seed=1)
    found = metric_of("minkowski", {"p": 3})(x, y)
    np.testing.assert_allclose(found, pairwise_distances(x, y, metric="minkowski", p=3))


@pytest.mark.parametrize("name", ["seuclidean", "mahalanobis"])
def test_what_a_metric_learns_is_learned_once(name: str) -> None:
    x = rows()
    params = learned(name, None, lambda: x)
    np.testing.assert_allclose(metric_of(name, params)(x[:5], x), pairwise_distances(x, metric=name)[:5], atol=1e-7)
    assert learned(name, params, lambda: rows(seed=9)) == params


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", lambda a, b: float(np.abs(a - b).max())])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_matrix_is_symmetric_to_the_bit_in_any_order_of_the_work(metric: Any, dtype: Any) -> None:
    x = rows(BLOCK_ROWS + 40, 3).astype(dtype)
    x = x if isinstance(metric, str) else x[:40]
    out = np.full((len(x), len(x)), np.nan, dtype)
    for task in reversed(list(matrix_tasks(metric_of(metric, {}), x, out))):
        task()
    np.testing.assert_array_equal(out, out.T)
    np.testing.assert_allclose(out, pairwise_distances(x.astype(np.float64), metric=metric), atol=1e-5)


def test_yes_no_metrics_take_numbers_as_yes_or_no() -> None:
    x = np.round(rows(9, 6))
    np.testing.assert_allclose(metric_of("jaccard", {})(x, x[:3]), pairwise_distances(x > 0, x[:3] > 0, "jaccard"))


def test_distances_between_close_rows_far_from_the_origin_keep_their_digits() -> None:
    x = 1e6 + 1e-3 * np.round(rows(20, 80), 3)
    found = metric_of("euclidean", {})(x, x)
    np.testing.assert_allclose(found, pairwise_distances(x - 1e6, metric="euclidean"), rtol=1e-6, atol=1e-7)
    assert np.all(np.diag(found) == 0)


def test_rounding_below_zero_is_zero_and_more_is_refused() -> None:
    assert checked(np.array([[-1e-16, 1.0]]), "metric").tolist() == [[0.0, 1.0]]
    with pytest.raises(ValueError, match=r"metric must have dissimilarities that are not negative, got -0\.5"):
        checked(np.array([[-0.5, 1.0]]), "metric")
    with pytest.raises(ValueError, match="finite dissimilarities, got nan"):
        checked(np.array([[np.nan, 1.0]]), "metric")


@pytest.mark.parametrize(("name", "peer"), [("euclidean", "euclidean"), ("manhattan", "cityblock")])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 13, 3), (20, 5, 40)])
def test_distances_are_scipys(name: str, peer: str, shape: tuple[int, int, int]) -> None:
    m, k, d = shape
    random = np.random.default_rng(0)
    x, y = random.normal(size=(m, d)), random.normal(size=(k, d))
    np.testing.assert_allclose(metric_of(name, {})(x, y), cdist(x, y, peer), rtol=1e-13)


def test_the_expanded_square_is_mended_where_it_cancels() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(9, 80)) + 1e4
    y = np.vstack([x[:4] + 1e-6 * random.normal(size=(4, 80)), -x])
    out, squares = np.empty((9, 13)), [np.einsum("ij,ij->i", table, table) for table in (x, y)]
    expanded(x, y, *squares, x @ y.T, out)
    np.testing.assert_allclose(out, cdist(x, y), rtol=1e-11)


@pytest.mark.parametrize("metric", [euclidean, manhattan])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_others_give_the_same_bits_as_among_many(metric: Any, dtype: Any) -> None:
    x, y = rows(300, 5).astype(dtype), rows(FEW_OTHERS + 3, 5, seed=1)
    np.testing.assert_array_equal(metric(x, y[:4]), metric(x, y)[:, :4])
    assert metric(x, y[:4]).dtype == dtype
    assert metric(x, y[:4]).flags.c_contiguous
