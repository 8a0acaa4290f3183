"""Eigenvectors against NumPy's, and against what defines them."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.projections.eigenvectors import eigenvectors


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 40, 130])
def test_those_of_numpy(size):
    root = np.random.default_rng(size).standard_normal((size, size))
    matrix = root @ root.T
    values, vectors = eigenvectors(matrix)
    np.testing.assert_allclose(values, np.linalg.eigh(matrix)[0], rtol=1e-9, atol=1e-12 * np.trace(matrix))
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-13)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12 * max(np.trace(matrix), 1.0))


def test_one_triangle_is_looked_at():
    lower = np.array([[2.0, np.nan], [1.0, 2.0]])
    np.testing.assert_allclose(eigenvectors(lower)[0], [1.0, 3.0])


def test_what_is_no_number_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        eigenvectors(np.full((3, 3), np.nan))
