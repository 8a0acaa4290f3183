"""The two loops of L-BFGS, against the matrix that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.numerics.lbfgs import Secant, two_loops

Floats = NDArray[np.float64]


def positive(random: np.random.Generator, size: int) -> Floats:
    root = random.normal(size=(size, size))
    return root @ root.T + np.eye(size)


def updated(inverse: Floats, secant: Secant) -> Floats:
    """The inverse curvature after one more step, by the formula of BFGS."""
    step, change = map(np.ravel, secant)
    bend = step @ change
    left = np.eye(len(step)) - np.outer(step, change) / bend
    return left @ inverse @ left.T + np.outer(step, step) / bend


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_equals_the_product_with_the_matrix(shape: tuple[int, ...], count: int) -> None:
    random = np.random.default_rng(count)
    inverse, curvature, vector = positive(random, 6), positive(random, 6), random.normal(size=shape)
    steps = random.normal(size=(count, *shape))
    secants = [Secant(step, (curvature @ step.ravel()).reshape(shape)) for step in steps]
    found = two_loops(vector, secants, lambda rest: (inverse @ rest.ravel()).reshape(shape))
    matrix = inverse
    for secant in secants:
        matrix = updated(matrix, secant)
    np.testing.assert_allclose(found.ravel(), matrix @ vector.ravel(), rtol=1e-9, atol=1e-9)


def test_the_last_change_leads_back_to_the_last_step() -> None:
    random = np.random.default_rng(1)
    curvature = positive(random, 5)
    secants = [Secant(step, curvature @ step) for step in random.normal(size=(4, 5))]
    np.testing.assert_allclose(two_loops(secants[-1].change, secants, np.negative), secants[-1].step, rtol=1e-9)


def test_what_it_is_handed_stays_as_it_is() -> None:
    vector, secant = np.array([1.0, 2.0]), Secant(np.array([1.0, 0.5]), np.array([2.0, 0.5]))
    kept = vector.copy(), *map(np.copy, secant)
    two_loops(vector, [secant], lambda rest: rest)
    assert all(np.array_equal(*pair) for pair in zip((vector, *secant), kept, strict=True))
