"""Complete rows, which need no kernel, against the kernel, against SciPy, and among rows that lack cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from unveil import FactorAnalysis, ProbabilisticPCA
from unveil.core.protocols import Block
from unveil.projections.factors.density import FactorPosterior
from unveil.projections.factors.model import PerColumn, standing

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(0)


def posterior(n_columns: int, n_factors: int, offset: float = 0.0) -> FactorPosterior:
    loadings, noise = RANDOM.normal(size=(n_columns, n_factors)), RANDOM.uniform(0.1, 2.0, n_columns)
    return FactorPosterior.of(PerColumn(), loadings, noise, RANDOM.normal(size=n_columns) + offset)


def by_kernel(of: FactorPosterior, rows: NDArray[Any]) -> tuple[Floats, Floats]:
    plan = of.model.prepare(standing(of.loadings, np.zeros_like(of.noise), of.noise))
    return of.model.infer(plan, Block(0, 0, rows))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_columns", "n_factors"), [(1, 0), (3, 0), (4, 1), (6, 3), (9, 9)])
@pytest.mark.parametrize("n_rows", [1, 40, 5000])
def test_products_are_what_the_kernel_infers(n_rows: int, n_columns: int, n_factors: int, dtype: Any) -> None:
    of, rows = posterior(n_columns, n_factors), RANDOM.normal(size=(n_rows, n_columns)).astype(dtype)
    means, densities = of.inferred(Block(0, 0, rows), dense=True)
    for got, want in zip((means, densities), by_kernel(of, rows), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
    oracle = multivariate_normal(of.mean, of.loadings @ of.loadings.T + np.diag(of.noise))
    np.testing.assert_allclose(densities, np.atleast_1d(oracle.logpdf(rows.astype(np.float64))), rtol=1e-7)
    only, none = of.inferred(Block(0, 0, rows), dense=False)
    assert only.tobytes() == means.tobytes()
    assert len(none) == 0


def test_small_noise_far_from_zero_costs_no_digits() -> None:
    of = posterior(5, 2, 1e6)
    of = FactorPosterior.of(PerColumn(), of.loadings, np.full(5, 1e-10), of.mean)
    rows = of.mean + RANDOM.normal(size=(50, 2)) @ of.loadings.T
    means, densities = of.inferred(Block(0, 0, rows), dense=True)
    wanted, heights = by_kernel(of, rows)
    np.testing.assert_allclose(means, wanted, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(densities, heights, rtol=1e-5)


@pytest.mark.parametrize("make", [FactorAnalysis, ProbabilisticPCA])
def test_a_row_is_the_same_beside_one_that_lacks_a_cell(make: Any) -> None:
    X = RANDOM.normal(size=(300, 2)) @ RANDOM.normal(size=(2, 5)) + RANDOM.normal(size=(300, 5))
    model, holes = make(2).fit(X), X.copy()
    holes[7, 3] = np.nan
    others = np.arange(300) != 7
    for method in ("transform", "score_samples"):
        whole, beside = getattr(model, method)(X), getattr(model, method)(holes)
        np.testing.assert_allclose(beside[others], whole[others], rtol=1e-9, atol=1e-10)
    filled = model.impute(holes)
    assert (filled[~np.isnan(holes)] == holes[~np.isnan(holes)]).all()
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_cells_are_named(bad: float) -> None:
    X = RANDOM.normal(size=(50, 3))
    model = FactorAnalysis(1).fit(X)
    X[9, 1] = bad
    for ask in (model.transform, model.score_samples, model.impute, model.fit):
        with pytest.raises(ValueError, match="Input X contains infinity: row 9, column 1"):
            ask(X)
