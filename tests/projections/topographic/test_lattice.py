import numpy as np
import pytest

from unveil.projections.topographic.lattice import Basis, grid, magnification, spacing


def test_the_last_direction_runs_fastest():
    points = grid((2, 3))
    assert points.tolist() == [[-1, -1], [-1, 0], [-1, 1], [1, -1], [1, 0], [1, 1]]
    assert spacing((2, 3)).tolist() == [2.0, 1.0]


def test_a_bump_is_one_at_its_centre_and_as_wide_as_it_should_be():
    basis = Basis((5,), 0.5)
    values = basis(grid((5,)))
    np.testing.assert_allclose(np.diagonal(values[:, :5]), 1.0)
    np.testing.assert_allclose(values[0, 1], np.exp(-0.5 / 0.5**2))
    assert values[:, 5].tolist() == grid((5,)).ravel().tolist()
    assert np.all(values[:, 6] == 1.0)
    assert (basis.n_bumps, basis.n_functions) == (5, 7)


@pytest.mark.parametrize("shape", [(1,), (7,), (1, 4), (4, 3)])
def test_slopes_are_those_of_differences(shape):
    basis, points = Basis(shape, 0.8), np.random.default_rng(0).uniform(-1, 1, (9, len(shape)))
    for direction in range(len(shape)):
        step = 1e-6 * np.eye(len(shape))[direction]
        numeric = (basis(points + step) - basis(points - step)) / 2e-6
        np.testing.assert_allclose(basis.slopes(points)[:, direction], numeric, atol=1e-8)


def test_magnification_is_the_root_of_the_determinant():
    basis, random = Basis((3, 3), 1.0), np.random.default_rng(1)
    slopes, coefficients = basis.slopes(grid((4, 4))), random.normal(size=(basis.n_functions, 5))
    jacobians = slopes @ coefficients
    wanted = np.sqrt(np.linalg.det(jacobians @ np.swapaxes(jacobians, 1, 2)))
    np.testing.assert_allclose(magnification(slopes, coefficients), wanted, rtol=1e-10)
    assert magnification(slopes, coefficients[:, :1]).tolist() == [0.0] * 16
