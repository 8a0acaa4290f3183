"""Nystroem's embedding: inner products of projections, and nothing lost where the landmarks span all."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.clusters.kernel_kmeans import nystroem as landmarks
from unveil.clusters.kernel_kmeans.gram import GaussianKernel, LinearKernel, NamedKernel
from unveil.core.protocols import Block
from unveil.core.result import History, Record, Status
from unveil.engines import Threads
from unveil.sources.array import ArraySource

Floats = NDArray[np.float64]


def rows(n: int = 80, d: int = 3) -> Floats:
    return np.random.default_rng(0).normal(size=(n, d)) + 5.0


def test_where_landmarks_span_all_no_inner_product_is_lost() -> None:
    X = rows()
    embedding = landmarks.choose(LinearKernel(), np.zeros(3), X, None, 20, 0)
    points, left = embedding(Block(0, 0, X))
    assert embedding.whitening.shape == (3, 3)
    np.testing.assert_allclose(points @ points.T, X @ X.T, atol=1e-9)
    np.testing.assert_allclose(left, 0.0, atol=1e-9)


def test_what_is_off_the_span_makes_up_the_squared_norm() -> None:
    X, kernel = rows(), GaussianKernel(0.5)
    embedding = landmarks.choose(kernel, X.mean(axis=0), X, np.arange(80.0), 12, 0)
    points, left = embedding(Block(0, 0, X))
    np.testing.assert_allclose((points**2).sum(axis=1) + left, 1.0, rtol=1e-12)
    K = kernel(X, embedding.landmarks)
    expected = K @ np.linalg.pinv(kernel(embedding.landmarks, embedding.landmarks)) @ K.T
    np.testing.assert_allclose(points @ points.T, expected, atol=1e-7)
    centres = points[:4]
    products, norms = embedding.products(centres, ArraySource(X), Threads(1))
    np.testing.assert_allclose(products, centres @ points.T, atol=1e-12)
    np.testing.assert_allclose(norms, 1.0, rtol=1e-12)


def test_many_rows_are_embedded_in_a_file() -> None:
    X, weights = rows(), np.random.default_rng(1).random(80)
    embedding = landmarks.choose(GaussianKernel(0.5), X.mean(axis=0), X, None, 12, 0)
    source = ArraySource(X, weights)
    inner = landmarks.embedded(embedding, source, Threads(1))
    outer = landmarks.embedded(embedding, source, Threads(1), memory_bytes=0)
    with inner as (inside, left), outer as (mapped, same):
        assert isinstance(mapped.rows, np.memmap)
        assert mapped.rows.tobytes() == inside.rows.tobytes()
        assert same == left == pytest.approx(float(weights @ embedding(Block(0, 0, X))[1]))
        np.testing.assert_array_equal(mapped.weights, weights)


def test_an_inverse_root_leaves_out_what_rounding_has_made() -> None:
    factor = np.random.default_rng(2).normal(size=(6, 4))
    root = landmarks.inverse_root(factor @ factor.T)
    assert root.shape == (6, 4)
    np.testing.assert_allclose(root @ root.T, np.linalg.pinv(factor @ factor.T), atol=1e-8)


def test_a_history_is_lowered_but_for_its_weights() -> None:
    history = History((Record(-1.0, -1.0, -1.0, 7.0, 0.1),), status=Status.CONVERGED, restarts=(-1.0, -2.0))
    lower = landmarks.lowered(history, 0.5)
    assert lower[0] == Record(-1.5, -1.5, -1.5, 7.0, 0.1)
    assert lower.restarts == (-1.5, -2.5)


def test_rows_of_no_length_have_no_landmarks() -> None:
    with pytest.raises(ValueError, match=r"needs rows with a positive k\(x, x\)"):
        landmarks.choose(NamedKernel("additive_chi2"), np.zeros(3), np.abs(rows()), None, 5, 0)
