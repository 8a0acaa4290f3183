"""Structures of covariance: shapes, free parameters, inverses, floors."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.families.covariance import Diagonal, Full, Spherical, Structure, Tied, floored_matrices, invert_positive


@pytest.mark.parametrize(
    ("structure", "shape", "parameters"),
    [(Full(), (3, 4, 4), 30), (Tied(), (4, 4), 10), (Diagonal(), (3, 4), 12), (Spherical(), (3,), 3)],
)
def test_shapes_and_free_parameters(structure: Structure, shape: tuple[int, ...], parameters: int) -> None:
    assert structure.shape(3, 4) == shape
    assert structure.n_parameters(3, 4) == parameters
    covariances = np.ones(shape) + (np.eye(4) if shape[-2:] == (4, 4) else 0.0)
    assert structure.dense(covariances, 3, 4).shape == (3, 4, 4)
    np.testing.assert_allclose(structure.inverted(structure.inverted(covariances)), covariances)


def test_inverses_and_their_log_determinants() -> None:
    root = np.random.default_rng(0).normal(size=(5, 3, 3))
    matrices = root @ np.swapaxes(root, 1, 2) + 0.1 * np.eye(3)
    inverses, log_determinants = invert_positive(matrices)
    np.testing.assert_allclose(inverses @ matrices, np.broadcast_to(np.eye(3), (5, 3, 3)), atol=1e-9)
    np.testing.assert_allclose(log_determinants, -np.linalg.slogdet(matrices)[1])
    np.testing.assert_array_equal(inverses, np.swapaxes(inverses, 1, 2))


def test_what_is_not_positive_definite_is_refused_by_number() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="matrix 1 is not positive definite"):
        invert_positive(np.stack([np.eye(2), -np.eye(2)]))


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
