"""Products with the scatter beside the scatter itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from unveil.engines import Threads
from unveil.projections.pca.scatter_products import ScatterProduct, summarise
from unveil.sources import ArraySource
from unveil.sources.sparse import SparseSource

RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.integers(0, 3, 5000).astype(np.float64)


def rows(offset: float) -> Any:
    table = sparse.random(5000, 11, 0.3, random_state=0).toarray()
    table[:, 4] = np.random.default_rng(1).normal(size=5000) + offset
    return table


@pytest.mark.parametrize("kind", [ArraySource, lambda X, w: SparseSource(sparse.csr_array(X), w)])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_product_is_one_with_the_scatter(kind: Any, weights: Any, offset: float, dtype: Any) -> None:
    X = rows(offset).astype(dtype)
    source, gains, vectors = kind(X, weights), RANDOM.uniform(0.5, 2.0, 11), RANDOM.normal(size=(10, 11))
    exact, times = X.astype(np.float64), np.ones(5000) if weights is None else weights
    mean = np.average(exact, axis=0, weights=times)
    centred = (exact - mean) * gains
    summary = summarise(Threads(1), source, np.zeros(11) + (np.arange(11) == 4) * offset)
    np.testing.assert_allclose(summary.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(summary.variance, np.average((exact - mean) ** 2, axis=0, weights=times), rtol=1e-9)
    want = vectors @ ((centred.T * times) @ centred)
    scatter = ScatterProduct(Threads(1), source, summary, gains)
    for _ in range(2):  # rows that were filled up are remembered from the first pass
        np.testing.assert_allclose(scatter(vectors), want, rtol=1e-8, atol=1e-8 * np.abs(want).max())


def test_rows_near_zero_are_not_shifted() -> None:
    near, far = (ArraySource(RANDOM.normal(size=(400, 3)) + offset) for offset in (0.5, 9.0))
    shifts = []
    for source in (near, far):
        summary = summarise(Threads(1), source, np.zeros(3))
        shifts.append(ScatterProduct(Threads(1), source, summary, np.ones(3)).shift)
    assert not shifts[0].any()
    np.testing.assert_allclose(shifts[1], far.rows.mean(axis=0))
