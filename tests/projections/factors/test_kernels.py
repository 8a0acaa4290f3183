"""The posterior of hidden scores against conditionals of the joint normal distribution, written out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from unveil.core.protocols import Block
from unveil.projections.factors.kernels import (
    FactorPlan,
    PatternRows,
    complete_factors,
    expect_factors,
    infer_factors,
    plan_of,
)
from unveil.projections.factors.missing import _table, arrange, unpacked

Floats = NDArray[np.float64]
random = np.random.default_rng(0)


def made(n: int, d: int, q: int, holes: float, noise: float = 0.5) -> tuple[Floats, dict[str, Floats]]:
    params = {
        "shift": random.normal(size=d),
        "mean": random.normal(size=d),
        "loadings": random.normal(size=(d, q)),
        "noise": noise * random.uniform(0.5, 2.0, d),
    }
    rows = random.normal(size=(n, d)) * 3.0
    rows[random.random((n, d)) < holes] = np.nan
    return rows, params


def one_by_one(rows: Floats, p: dict[str, Floats]) -> tuple[Floats, list[Floats], Floats]:
    """Means, covariances and log-densities, row by row, from the joint covariance of cells and scores."""
    middle, loadings = p["shift"] + p["mean"], p["loadings"]
    total = loadings @ loadings.T + np.diag(p["noise"])
    means, covariances, densities = [], [], []
    for row in rows:
        o = ~np.isnan(row)
        gain = loadings[o].T @ np.linalg.inv(total[np.ix_(o, o)])
        means.append(gain @ (row - middle)[o])
        covariances.append(np.eye(loadings.shape[1]) - gain @ loadings[o])
        normal = multivariate_normal(middle[o], total[np.ix_(o, o)]) if o.any() else None
        densities.append(normal.logpdf(row[o]) if normal else 0.0)
    return np.array(means).reshape(len(rows), -1), covariances, np.array(densities)


def table(rows: NDArray[np.floating], weights: Floats | None = None) -> PatternRows:
    result: PatternRows = _table(Block(0, 0, rows, weights), arrange(rows))
    return result


CASES = {
    "each row its own pattern": (300, 9, 3, 0.4),
    "patterns repeat": (300, 3, 2, 0.3),
    "complete": (300, 6, 3, 0.0),
    "one score": (50, 5, 1, 0.2),
    "several tiles": (1500, 4, 2, 0.3),
    "more scores than cells of a row": (60, 4, 6, 0.5),
}


@pytest.mark.parametrize("shape", CASES.values(), ids=CASES.keys())
def test_means_and_densities(shape: tuple[int, int, int, float]) -> None:
    rows, params = made(*shape)
    if shape[3]:
        rows[7] = np.nan
    means, densities = infer_factors(plan_of(**params), table(rows))
    wanted, _, wanted_densities = one_by_one(rows, params)
    np.testing.assert_allclose(means, wanted, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(densities, wanted_densities, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", CASES.values(), ids=CASES.keys())
def test_sums(shape: tuple[int, int, int, float]) -> None:
    rows, params = made(*shape)
    weights = random.integers(0, 4, len(rows)).astype(np.float64)
    plan: FactorPlan = plan_of(**params)
    sums, log_likelihood = expect_factors(plan, table(rows, weights))
    means, covariances, densities = one_by_one(rows, params)
    longer = np.column_stack([means, np.ones(len(rows))])
    second = longer[:, :, None] * longer[:, None, :]
    second[:, :-1, :-1] += covariances
    there, cells = ~np.isnan(rows), np.nan_to_num(rows - params["shift"] - params["mean"])
    weighted = weights[:, None] * there
    assert log_likelihood == pytest.approx(weights @ densities, rel=1e-11)
    latent = unpacked(sums.latent[:, None])[0]
    np.testing.assert_allclose(latent, np.tensordot(weights, second, 1), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(unpacked(sums.grams), np.tensordot(weighted.T, second, 1), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sums.cross, longer.T @ (weights[:, None] * cells), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sums.squares, weights @ cells**2, rtol=1e-11)


@pytest.mark.parametrize("shape", [*CASES.values(), (40, 3, 0, 0.4)], ids=[*CASES.keys(), "no scores"])
def test_moments_of_rows_with_their_missing_cells(shape: tuple[int, int, int, float]) -> None:
    rows, params = made(*shape)
    if shape[3]:
        rows[7] = np.nan
    weights = random.integers(0, 4, len(rows)).astype(np.float64)
    *moments, log_likelihood = complete_factors(plan_of(**params), table(rows, weights))
    total = params["loadings"] @ params["loadings"].T + np.diag(params["noise"])
    sums, products = np.zeros(shape[1]), np.zeros((shape[1], shape[1]))
    for row, weight in zip(rows - params["shift"] - params["mean"], weights, strict=True):
        o, m = ~np.isnan(row), np.isnan(row)
        gain = total[np.ix_(m, o)] @ np.linalg.inv(total[np.ix_(o, o)])
        full = row.copy()
        full[m] = gain @ row[o]
        second = np.outer(full, full)
        second[np.ix_(m, m)] += total[np.ix_(m, m)] - gain @ total[np.ix_(o, m)]
        sums, products = sums + weight * full, products + weight * second
    np.testing.assert_allclose(moments[0], sums, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(moments[1], products, rtol=1e-8, atol=1e-8)
    assert log_likelihood == pytest.approx(weights @ one_by_one(rows, params)[2], rel=1e-11)


def test_no_scores_is_independent_noise() -> None:
    rows, params = made(40, 3, 0, 0.2)
    means, densities = infer_factors(plan_of(**params), table(rows))
    assert means.shape == (40, 0)
    np.testing.assert_allclose(densities, one_by_one(rows, params)[2], rtol=1e-11, atol=1e-12)
    sums, total = expect_factors(plan_of(**params), table(rows))
    assert total == pytest.approx(densities.sum(), rel=1e-12)
    np.testing.assert_allclose(sums.grams[0], np.count_nonzero(~np.isnan(rows), axis=0))


def test_patterns_brought_together_change_nothing() -> None:
    rows, params = made(400, 3, 2, 0.3)
    together, plan = table(rows), plan_of(**params)
    apart = together._replace(order=np.arange(400), bounds=np.arange(401))
    assert len(together.bounds) < 10
    for one, other in zip(infer_factors(plan, together), infer_factors(plan, apart), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_float32_is_read_as_it_is() -> None:
    rows, params = made(50, 4, 2, 0.2)
    light = rows.astype(np.float32)
    same = infer_factors(plan_of(**params), table(light.astype(np.float64)))
    assert all(np.array_equal(a, b) for a, b in zip(infer_factors(plan_of(**params), table(light)), same, strict=True))


def test_hardly_any_noise_loses_no_digits() -> None:
    """The quadratic form as a difference would have none left: the oracle has sixty."""
    import mpmath

    rows, params = made(3, 4, 2, 0.0, noise=1e-11)
    plane = params["loadings"] @ random.normal(size=(2, 3)) + 3e-6 * random.normal(size=(4, 3))
    rows = plane.T + params["shift"] + params["mean"]
    _, densities = infer_factors(plan_of(**params), table(rows))
    with mpmath.workdps(60):
        exact = {name: mpmath.matrix(np.atleast_1d(value).tolist()) for name, value in params.items()}
        load = mpmath.matrix(params["loadings"].tolist())
        noise = mpmath.diag([mpmath.mpf(value) for value in params["noise"]])
        total = load * load.T + noise
        for row, found in zip(rows, densities, strict=True):
            gap = mpmath.matrix(row.tolist()) - exact["shift"] - exact["mean"]
            log = mpmath.log(mpmath.det(total)) + 4 * mpmath.log(2 * mpmath.pi) + (gap.T * (total**-1) * gap)[0]
            assert found == pytest.approx(float(-log / 2), rel=1e-8)
