"""Block Lanczos beside a dense eigensolver."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.numerics.blas import single_threaded_blas
from unveil.projections.pca.lanczos import LanczosSearch, Leading, leading

Floats = NDArray[np.float64]


def matrix(values: Floats, seed: int = 0) -> Floats:
    turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return (turned * values) @ turned.T


def search(S: Floats, count: int, block: int, products: int = 500, tolerance: float = 1e-12) -> Leading:
    everywhere = np.ones(len(S), bool)
    return leading(
        lambda v: v @ S, everywhere, LanczosSearch(count, block, products, tolerance), np.random.default_rng(1)
    )


@pytest.mark.parametrize(("count", "block"), [(1, 1), (5, 8), (20, 8), (59, 8), (60, 8), (10, 70)])
def test_pairs_are_those_of_a_dense_solver(count: int, block: int) -> None:
    S = matrix(np.linspace(1.0, 3.0, 60))
    found = search(S, count, block)
    assert found.converged
    np.testing.assert_allclose(found.values, np.linspace(1.0, 3.0, 60)[::-1][:count], rtol=1e-12)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(count), atol=1e-12)
    left = np.linalg.norm(found.vectors @ S - found.values[:, None] * found.vectors, axis=1)
    assert np.all(left < 1e-11)


def test_restarts_reach_values_that_lie_close() -> None:
    values = np.sort(np.random.default_rng(0).uniform(0.0, 1.0, 900))
    with single_threaded_blas():  # products as small as these are fastest so
        found = search(matrix(values), 12, 4)
    assert found.converged
    assert found.products * 4 > 172  # more than the basis holds
    np.testing.assert_allclose(found.values, values[::-1][:12], rtol=1e-12)


def test_more_copies_of_a_value_than_a_block_has_vectors() -> None:
    values = np.concatenate([np.full(15, 3.0), np.linspace(1.0, 2.0, 45)])
    found = search(matrix(values), 20, 4)
    np.testing.assert_allclose(found.values, np.sort(values)[::-1][:20], rtol=1e-12)


@pytest.mark.parametrize("rank", [0, 3])
def test_a_rank_that_is_less_than_asked_for(rank: int) -> None:
    values = np.concatenate([np.arange(1.0, rank + 1), np.zeros(30)])
    found = search(matrix(values), 8, 4)
    np.testing.assert_allclose(found.values, np.sort(values)[::-1][:8], atol=1e-13)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(8), atol=1e-12)
    assert found.converged


def test_the_residual_is_the_true_one_before_convergence() -> None:
    S = matrix(np.linspace(0.0, 1.0, 300))
    found = search(S, 3, 5, products=4)
    true = np.linalg.norm(found.vectors @ S - found.values[:, None] * found.vectors, axis=1)
    assert not found.converged
    np.testing.assert_allclose(found.residuals, true, rtol=1e-8)


def test_nothing_outside_of_the_support() -> None:
    support = np.arange(40) % 3 > 0
    S = matrix(np.linspace(1.0, 2.0, 40)) * np.outer(support, support)
    found = leading(lambda v: v @ S, support, LanczosSearch(6, 3, 200, 1e-12), np.random.default_rng(0))
    assert np.all(found.vectors[:, ~support] == 0.0)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(S)[::-1][:6], rtol=1e-12)
