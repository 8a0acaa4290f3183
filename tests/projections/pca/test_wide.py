"""Wide tables in the space of their rows: nothing is lost, and errors name the cell."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import subspace_angles

from unveil.projections.pca.routes import Spectrum
from unveil.projections.pca.wide import is_wide, leading_directions, narrowed
from unveil.sources import ArraySource, with_weights

Floats = NDArray[np.float64]


def table(n: int = 6, d: int = 20, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("factor", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_way_there_and_back(offset: float, factor: float) -> None:
    X = factor * (table() + offset)
    X[0] *= 1e6  # a row far out costs the others no digits
    narrow = narrowed(with_weights(ArraySource(X), [0.0, 1, 2, 1, 1, 1]))
    (block,) = narrow.source.read()
    assert block.rows.shape == (6, 6)
    assert block.weights is not None
    assert block.weights.tolist() == [0, 1, 2, 1, 1, 1]
    np.testing.assert_allclose(narrow.basis @ narrow.basis.T, np.eye(6), atol=1e-14)
    again = block.rows @ narrow.basis + narrow.origin
    np.testing.assert_allclose(again[1:], X[1:], rtol=1e-13, atol=1e-13 * np.max(np.abs(X[1:])))


def test_a_spectrum_is_turned_back() -> None:
    X = table()
    narrow = narrowed(ArraySource(X))
    spectrum = Spectrum(np.ones(2), np.eye(2, 6), 2.0, np.arange(6.0), 6.0, 6)
    wide = narrow.widened(spectrum)
    np.testing.assert_allclose(np.abs(wide.components), np.abs(narrow.basis[:2]))
    assert np.all(wide.components.max(axis=1) >= -wide.components.min(axis=1))
    np.testing.assert_allclose(wide.mean, narrow.origin + np.arange(6.0) @ narrow.basis)


def test_cells_that_are_not_finite_are_named() -> None:
    X = table()
    X[4, 7] = np.inf
    with pytest.raises(ValueError, match="infinity: row 4, column 7"):
        narrowed(ArraySource(X))


@pytest.mark.parametrize("shape", [(30, 5), (5, 30), (5, 5), (2, 9)])
@pytest.mark.parametrize("factor", [1.0, 1e-200, 1e200])
def test_leading_directions_are_those_of_the_decomposition(shape: tuple[int, int], factor: float) -> None:
    rows = table(*shape)
    found = leading_directions(factor * rows, 2)
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-12)
    assert subspace_angles(found.T, np.linalg.svd(rows)[2][:2].T).max() < 1e-7


def test_more_directions_than_rows() -> None:
    rows = table(2, 9)
    found = leading_directions(rows, 3)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(rows @ found.T @ found, rows, atol=1e-12)
    assert not leading_directions(np.zeros((3, 2)), 1).any(axis=0).all()


def test_which_tables_are_wide() -> None:
    assert is_wide(ArraySource(table(3, 4)))
    assert not is_wide(ArraySource(table(4, 4)))
