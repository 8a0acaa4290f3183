"""The test for Gaussian components: scores against SciPy, chances against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from unveil.projections.ica.gaussianity import (
    chance_anywhere,
    gaussian_finding,
    kurtosis_score,
    light_score,
    pvalues_of,
    shape_of,
    skewness_score,
)

SAMPLE = np.random.default_rng(1).exponential(size=200) + 3.0


def test_scores_are_scipys() -> None:
    shape = shape_of(np.array([[np.sum(SAMPLE**power)] for power in range(1, 5)]), 200.0)
    assert shape.skewness[0] == pytest.approx(stats.skew(SAMPLE))
    assert shape.kurtosis[0] == pytest.approx(stats.kurtosis(SAMPLE))
    assert skewness_score(shape.skewness, 200.0)[0] == pytest.approx(stats.skewtest(SAMPLE).statistic)
    assert kurtosis_score(shape.kurtosis, 200.0)[0] == pytest.approx(stats.kurtosistest(SAMPLE).statistic)


def test_one_direction_is_the_usual_test() -> None:
    assert chance_anywhere(2.5, 1, 3.0) == pytest.approx(2 * stats.norm.sf(2.5))


@pytest.mark.parametrize(("order", "levels"), [(3, (3.0, 3.5)), (4, (3.0, 3.5))])
def test_chances_are_those_of_a_field_over_the_circle(order: int, levels: tuple[float, ...]) -> None:
    """A Gaussian field with correlation cos(angle)**order, drawn on a fine grid of all directions of the plane."""
    angles = np.linspace(0, np.pi, 180, endpoint=False)
    correlation = np.cos(angles[:, None] - angles) ** order
    values, vectors = np.linalg.eigh(correlation)
    few = values > 1e-9  # a polynomial of that order has no more freedom
    roots = vectors[:, few] * np.sqrt(values[few])
    highest = np.abs(np.random.default_rng(0).normal(size=(20_000, few.sum())) @ roots.T).max(axis=1)
    for level in levels:
        assert np.mean(highest > level) == pytest.approx(chance_anywhere(level, 2, float(order)), rel=0.2)


@pytest.mark.parametrize("count", [1, 2, 3, 16, 64])
def test_chances_fall_with_the_level(count: int) -> None:
    chances = [chance_anywhere(u, count, 4.0) for u in np.linspace(0, 60, 400)]
    assert chances[0] == 1.0
    assert np.all(np.diff(chances) <= 0)
    assert chances[-1] < 1e-100


def test_few_rows_tell_nothing() -> None:
    assert shape_of(np.array([[0.0], [10.0], [40.0], [900.0]]), 10.0).pvalues.tolist() == [1.0]


def lowest_kurtosis(rows: NDArray[np.float64]) -> float:
    """Over directions of white rows, by the fixed point w <- 6 w - E[y³ z] from a few starts."""
    w = np.random.default_rng(0).normal(size=(rows.shape[1], 5))
    for _ in range(60):
        w /= np.linalg.norm(w, axis=0)
        w = 6 * w - rows.T @ (rows @ w) ** 3 / len(rows)
    return float(np.min(np.mean((rows @ (w / np.linalg.norm(w, axis=0))) ** 4, axis=0)) - 3)


@pytest.mark.parametrize(("n_rows", "count", "draws"), [(40, 3, 200), (100, 10, 100), (100, 40, 30), (1000, 20, 20)])
def test_the_lightest_tails_of_noise_are_still_noise(n_rows: int, count: int, draws: int) -> None:
    """Anscombe and Glynn's score alone fails here: of 1000 x 20 cells of noise it calls nearly all something else."""
    random, alarms = np.random.default_rng(n_rows), 0
    for _ in range(draws):
        noise = random.normal(size=(n_rows, count))
        white = np.linalg.qr(noise - noise.mean(axis=0))[0] * np.sqrt(n_rows)
        lowest = np.full(count, lowest_kurtosis(white))
        alarms += bool(pvalues_of(np.zeros(count), lowest, float(n_rows))[0] <= 0.05)
    assert alarms <= 0.05 * draws + 2 * np.sqrt(0.05 * draws)


def test_light_tails_are_told_from_noise_all_the_same() -> None:
    uniform = np.array([-1.2, -1.2])
    assert pvalues_of(np.zeros(2), uniform, 120.0).max() < 0.01
    assert pvalues_of(np.zeros(2), np.array([-0.05, 0.1]), 120.0).min() == 1.0
    np.testing.assert_allclose(light_score(np.array([-1e-3]), 1e8), 1e-3 / np.sqrt(24e-8), rtol=1e-3)  # in the limit


def test_what_does_not_vary_and_weights_beyond_all_bounds() -> None:
    flat = shape_of(np.zeros((4, 2)), 100.0)
    assert flat.kurtosis.tolist() == flat.skewness.tolist() == [0.0, 0.0]
    assert flat.pvalues.tolist() == [1.0, 1.0]
    assert np.all(np.isfinite(pvalues_of(np.array([0.1]), np.array([0.1]), 1e300)))


def test_what_is_said() -> None:
    assert gaussian_finding(np.array([False, False]), 0.01, 900.0).severity == "fine"
    one = gaussian_finding(np.array([False, True]), 0.01, 900.0)
    assert (one.severity, "component 1 cannot be told" in one.message) == ("note", True)
    assert "cannot be separated" in gaussian_finding(np.array([True, True]), 0.01, 900.0).message
    severities = [gaussian_finding(np.array([True, True]), 0.01, rows).severity for rows in (60.0, 300.0, 900.0)]
    assert severities == ["note", "doubt", "warning"]
    assert "..." in gaussian_finding(np.ones(12, dtype=bool), 0.01, 900.0).message
