"""Stacks of symmetric matrices: inverses, and floors that touch only what lies below."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.families.covariance.symmetric import (
    floored_matrices,
    invert_positive,
    positive,
    raised_matrices,
    unpack,
    width_of,
)


def test_inverses_and_their_log_determinants() -> None:
    root = np.random.default_rng(0).normal(size=(5, 3, 3))
    matrices = root @ np.swapaxes(root, 1, 2) + 0.1 * np.eye(3)
    inverses, log_determinants = invert_positive(matrices)
    np.testing.assert_allclose(inverses @ matrices, np.broadcast_to(np.eye(3), (5, 3, 3)), atol=1e-9)
    np.testing.assert_allclose(log_determinants, -np.linalg.slogdet(matrices)[1])
    np.testing.assert_array_equal(inverses, np.swapaxes(inverses, 1, 2))


def test_what_is_not_positive_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="matrix 1 is not positive definite"):
        invert_positive(np.stack([np.eye(2), -np.eye(2)]))
    with pytest.raises(np.linalg.LinAlgError, match="a variance is not positive: -2"):
        positive(np.array([1.0, -2.0]))


def test_triangles_unfold_to_matrices() -> None:
    (matrix,) = unpack(np.arange(6.0)[None], 3)
    np.testing.assert_array_equal(matrix, [[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    assert [width_of(d * (d + 1) // 2) for d in range(1, 70)] == list(range(1, 70))


def test_eigenvalues_are_raised_only_where_they_fall_below() -> None:
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    low = rotation @ np.diag([1.0, 0.5, 1e-9]) @ rotation.T
    fine = rotation @ np.diag([1.0, 0.5, 0.25]) @ rotation.T
    raised, count = floored_matrices(np.stack([low, fine]), np.full(3, 1e-3))
    assert count == 1
    np.testing.assert_allclose(np.linalg.eigvalsh(raised[0]), [1e-3, 0.5, 1.0], rtol=1e-9)
    np.testing.assert_array_equal(raised[1], fine)
    same, none = floored_matrices(fine[None], np.full(3, 1e-3))
    assert none == 0
    np.testing.assert_array_equal(same[0], fine)


def test_a_column_far_above_its_floor_does_not_make_the_others_flat() -> None:
    """A constant column has next to no floor, and a variance of nothing but what is added to all."""
    matrices = np.diag([0.5, 1e-3])[None]
    same, low = raised_matrices(matrices, np.array([1e-15, 1e-31]))
    np.testing.assert_array_equal(same, matrices)
    assert not low.any()
