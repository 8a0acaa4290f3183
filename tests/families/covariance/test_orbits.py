"""Coordinates of covariances: every vector obeys the structure, and every structure nearby has a vector."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.optimize import minimize

from tests.oracles.covariances import MODELS, assert_obeys, obeying, structure_of
from unveil.families.covariance.orbits import Congruent, Orbit, Spectral, contrasts, orbit_of
from unveil.families.covariance.structure import Full

Floats = NDArray[np.float64]
K, D = 3, 3
FLOOR = np.full((K, D), 1e-12)


def orbit(model: str, seed: int = 0) -> tuple[Orbit, Floats]:
    matrices = obeying(model, np.random.default_rng(seed), K, D)
    return orbit_of(structure_of(model), matrices, FLOOR), matrices


@pytest.mark.parametrize("model", MODELS)
def test_the_origin_is_where_it_was_made(model: str) -> None:
    chart, matrices = orbit(model)
    np.testing.assert_allclose(chart.matrices(np.zeros(chart.size)), matrices, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_there_are_as_many_coordinates_as_free_parameters(model: str) -> None:
    assert orbit(model)[0].size == structure_of(model).n_parameters(K, D)


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_every_vector_obeys_the_structure(model: str, seed: int) -> None:
    chart, _ = orbit(model)
    assert_obeys(model, chart.matrices(np.random.default_rng(seed).normal(size=chart.size)))


@pytest.mark.parametrize("model", MODELS)
def test_gradients_are_those_of_differences(model: str) -> None:
    chart, random = orbit(model)[0], np.random.default_rng(1)
    slopes = random.normal(size=(K, D, D))
    slopes = slopes + np.swapaxes(slopes, 1, 2)
    vector = 0.5 * random.normal(size=chart.size)
    moves = 1e-6 * np.eye(chart.size)
    values = [np.sum(slopes * (chart.matrices(vector + m) - chart.matrices(vector - m))) / 2e-6 for m in moves]
    np.testing.assert_allclose(chart.gradient(slopes, vector), values, atol=1e-6 * np.max(np.abs(values)))


@pytest.mark.parametrize("model", MODELS)
def test_what_obeys_the_structure_nearby_is_reached(model: str) -> None:
    """Least squares in the coordinates of one orbit finds the covariances of another a little way off."""
    chart, matrices = orbit(model)
    moved = orbit_of(structure_of(model), matrices, FLOOR).matrices(
        0.2 * np.random.default_rng(2).normal(size=chart.size)
    )
    other = orbit_of(structure_of(model), moved, FLOOR)

    def miss(vector: Floats) -> tuple[float, Floats]:
        away = other.matrices(vector) - matrices
        return 0.5 * float(np.sum(away**2)), other.gradient(away, vector)

    found = minimize(miss, np.zeros(other.size), jac=True, options={"gtol": 1e-9, "maxiter": 2000})
    np.testing.assert_allclose(other.matrices(found.x), matrices, atol=1e-5 * np.abs(matrices).max())


@pytest.mark.parametrize("model", MODELS)
def test_information_is_that_of_fisher(model: str) -> None:
    """n/2 trace(P dC P dC), along each coordinate; raised where a turn tells nothing."""
    chart, matrices = orbit(model)
    counts, precisions = np.array([5.0, 3.0, 2.0]), np.linalg.inv(matrices)
    moves = 1e-6 * np.eye(chart.size)
    slopes = [precisions @ (chart.matrices(move) - chart.matrices(-move)) / 2e-6 for move in moves]
    expected = [0.5 * float(counts @ np.einsum("kij,kji->k", slope, slope)) for slope in slopes]
    np.testing.assert_allclose(chart.information(counts), expected, rtol=1e-5, atol=0.01 * counts.sum())


@pytest.mark.parametrize("model", MODELS)
def test_no_variance_falls_below_the_floor(model: str) -> None:
    _, matrices = orbit(model)
    chart = orbit_of(structure_of(model), matrices, np.full((K, D), 1e-3))
    down = np.concatenate([np.full(chart.sizes[0], -50.0), np.zeros(chart.size - chart.sizes[0])])
    found = chart.matrices(down)
    assert np.all(np.linalg.slogdet(found)[1] >= D * np.log(1e-3) - 1e-9)
    again = orbit_of(structure_of(model), found, np.full((K, D), 1e-3))
    precisions = np.asarray(np.linalg.inv(found), dtype=np.float64)
    shrink, grow = (again.gradient(sign * precisions, np.zeros(again.size)) for sign in (-1.0, 1.0))
    np.testing.assert_allclose(shrink[: again.sizes[0]], 0.0, atol=1e-6)  # no way down
    assert np.all(grow[: again.sizes[0]] > 0.5 * D)  # but one up


def test_matching_letters_have_no_seam() -> None:
    kinds = {model: type(orbit(model)[0]) for model in MODELS}
    assert {model for model, kind in kinds.items() if kind is Congruent} == {"EEE", "VEE", "EVV", "VVV"}
    assert set(kinds.values()) == {Congruent, Spectral}


@pytest.mark.parametrize("model", MODELS)
def test_one_column_has_volumes_alone(model: str) -> None:
    variances = np.full((K, 1, 1), 2.0)
    chart = orbit_of(structure_of(model), variances, FLOOR[:, :1])
    assert chart.size == (1 if model.startswith("E") else K)
    np.testing.assert_allclose(chart.matrices(np.full(chart.size, np.log(3.0))), 6.0)


@given(st.integers(1, 12))
def test_contrasts_are_orthonormal_and_add_up_to_zero(n_columns: int) -> None:
    found = contrasts(n_columns)
    assert found.shape == (n_columns, n_columns - 1)
    np.testing.assert_allclose(found.T @ found, np.eye(n_columns - 1), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)


class Odd(Full):
    """A structure of one's own, of which nothing is known."""


def test_an_unknown_structure_is_refused() -> None:
    with pytest.raises(TypeError, match="Odd has no unconstrained coordinates, which gradient schedules need"):
        orbit_of(Odd(), np.eye(2)[None], FLOOR[:1, :2])
