"""The search for the noise of factor analysis: derivatives by differences, and Newton's steps against L-BFGS-B."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from unveil.core.result import Status
from unveil.projections.factors.noise_search import (
    FEW_COLUMNS,
    FactorRule,
    NoiseRecord,
    Profile,
    bends,
    by_lbfgs,
    by_newton,
    off_the_floor,
    starts,
)

Floats = NDArray[np.float64]
IRIS = np.corrcoef(load_iris().data.T)


def correlations(n_columns: int, n_factors: int, seed: int, noise: float = 1.0, n_rows: int = 200) -> Floats:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n_rows, n_factors)) @ draw.normal(size=(n_factors, n_columns))
    return np.corrcoef((rows + noise * draw.normal(size=rows.shape)).T)


def ended(matrix: Floats, count: int, search: Any, start: int = 0, tol: float = 1e-10) -> tuple[Profile, Any, Status]:
    profile = Profile.of(matrix, count)
    record = NoiseRecord(profile)
    first = record.look(np.log(starts(profile)[start]))
    return profile, *search(record, first, np.full(len(matrix), np.log(1e-9)), FactorRule(count, tol))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_first_and_second_derivatives(count: int, seed: int) -> None:
    for matrix in (IRIS, correlations(6, 2, seed)):
        profile, small = Profile.of(matrix, count), 1e-6
        logs = np.random.default_rng(seed).normal(size=len(matrix)) - 2.0
        pairs = [(profile.look(logs + small * axis), profile.look(logs - small * axis)) for axis in np.eye(len(logs))]
        slope = [(ahead.height - behind.height) / (2 * small) for ahead, behind in pairs]
        bent = [(ahead.slope - behind.slope) / (2 * small) for ahead, behind in pairs]
        place = profile.look(logs)
        np.testing.assert_allclose(place.slope, slope, atol=1e-6 * np.abs(slope).max())
        np.testing.assert_allclose(bends(place), bent, atol=1e-6 * np.abs(bent).max())


@pytest.mark.parametrize(("n_columns", "n_factors"), [(4, 1), (6, 2), (9, 4), (12, 5)])
@pytest.mark.parametrize("seed", range(4))
def test_newton_ends_where_lbfgs_does(n_columns: int, n_factors: int, seed: int) -> None:
    matrix = correlations(n_columns, n_factors, seed, 0.7, n_rows=2000)
    _, quick, status = ended(matrix, n_factors, by_newton)
    _, slow, _ = ended(matrix, n_factors, by_lbfgs, tol=1e-13)
    assert status is Status.CONVERGED
    assert quick.height <= slow.height + 1e-9
    if quick.height >= slow.height - 1e-7:  # the same of several ends, if there are several
        np.testing.assert_allclose(np.exp(quick.logs), np.exp(slow.logs), atol=1e-4)


def test_noise_that_is_small_and_not_nothing_is_found() -> None:
    """The likelihood falls towards the floor, from where the slope in logarithms says next to nothing."""
    draw = np.random.default_rng(7)
    loadings, noise = draw.normal(size=(8, 2)), np.full(8, 0.5)
    noise[2] = 2e-4
    covariance = loadings @ loadings.T + np.diag(noise * np.sum(loadings**2, axis=1))
    scale = np.sqrt(np.diagonal(covariance))
    wanted = noise * np.sum(loadings**2, axis=1) / scale**2
    for start in (0, 1):
        _, place, _ = ended(covariance / np.outer(scale, scale), 2, by_newton, start)
        np.testing.assert_allclose(np.exp(place.logs), wanted, rtol=1e-4)


def test_a_perfect_fit_is_the_greatest_likelihood() -> None:
    profile, place, _ = ended(correlations(4, 2, 1), 2, by_newton)
    assert -0.5 * place.height <= profile.greatest + 1e-12
    assert -0.5 * place.height == pytest.approx(profile.greatest, abs=1e-8)
    flat = Profile.of(np.ones((3, 3)), 1)
    assert flat.greatest == np.inf


def test_both_searches_are_used_and_end_at_the_floor_of_a_heywood_case() -> None:
    for n_columns in (6, FEW_COLUMNS + 1):
        matrix = correlations(n_columns, 3, 5, noise=0.05, n_rows=60)
        profile = Profile.of(matrix, n_columns // 2)
        least = np.full(n_columns, 1e-9)
        found = profile.climb(starts(profile)[0], least, FactorRule(n_columns // 2))
        assert found.status is Status.CONVERGED
        assert np.all(found.noise >= least)
        assert np.all(np.diff(found.path) >= -1e-9)


def test_starts() -> None:
    first, second = starts(Profile.of(IRIS, 1))
    np.testing.assert_allclose(first, np.clip(0.875 / np.diagonal(np.linalg.inv(IRIS)), 0.005, 1.0), rtol=1e-9)
    assert second.tolist() == [0.5] * 4
    assert len(off_the_floor(np.array([0.5, 1e-6]))) == 2
    assert len(off_the_floor(np.array([0.5, 0.1]))) == 1
