"""Rows with cells missing anywhere, all at once, against tiles of one pattern each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.families.base import Family, Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.columns.missing_cells import ByPattern
from unveil.families.covariance.structure import Full
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.independent import Masked
from unveil.families.poisson import Poisson, PoissonParams

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(1)
CHANCES = np.concatenate([RANDOM.dirichlet(np.ones(levels), 3) for levels in (2, 3, 4)], axis=1)
MEANS = RANDOM.normal(size=(3, 3))
FAMILIES: dict[str, tuple[Family, Any]] = {
    "bernoulli": (Bernoulli(), BernoulliParams(RANDOM.uniform(0.1, 0.9, (3, 3)))),
    "poisson": (Poisson(), PoissonParams(RANDOM.uniform(0.5, 4.0, (3, 3)))),
    "exponential": (Exponential(), ExponentialParams(RANDOM.uniform(0.5, 4.0, (3, 3)))),
    "categorical": (Categorical((2, 3, 4)), CategoricalParams(CHANCES)),
    "gaussian": (Gaussian(Full(), 0.0), GaussianParams(MEANS, np.repeat(np.eye(3)[None], 3, axis=0), 0.5 * MEANS)),
}


def rows_of(family: Family, params: Any) -> Floats:
    rows = np.concatenate(
        [family.draw(params, component, 20, np.random.RandomState(component)) for component in range(3)]
    )
    rows[np.random.default_rng(2).random(rows.shape) < 0.3] = np.nan
    rows[0] = np.nan
    return rows


@pytest.mark.parametrize("name", FAMILIES)
def test_all_at_once_is_row_by_row(name: str) -> None:
    family, params = FAMILIES[name]
    rows, plan = rows_of(family, params), family.plan(params)
    q = np.random.default_rng(3).dirichlet(np.ones(3), len(rows)).T
    scores, moments = np.empty((3, len(rows))), np.zeros((3, family.n_statistics(3)))
    for number, row in enumerate(rows):
        there = np.flatnonzero(~np.isnan(row))
        tile = Tile(row[:, None].copy(), np.empty((3, 1)), observed=None if len(there) == 3 else there)
        family.score(plan, tile)
        scores[:, number] = tile.logits[:, 0]
        tile.logits[...] = q[:, [number]]
        moments += family.gather(plan, tile)
    found, logits = family.missing_cells(plan, np.ascontiguousarray(rows.T), 3), np.ones((3, len(rows)))
    found.score(logits)
    np.testing.assert_allclose(logits - 1.0, scores, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.gather(q), moments, rtol=1e-10)


def test_only_independent_columns_do_without_patterns() -> None:
    x = np.array([[1.0, np.nan, 0.0, np.nan, 2.0], [0.0, 1.0, 1.0, 1.0, np.nan], [1.0, 0.0, 1.0, 3.0, 1.0]])
    kinds = {name: family.missing_cells(family.plan(params), x, 3) for name, (family, params) in FAMILIES.items()}
    assert all(isinstance(kinds[name], Masked) for name in kinds if name != "gaussian")
    gaussian = kinds["gaussian"]
    assert isinstance(gaussian, ByPattern)
    found = {tuple(tile.places): tile.observed for tile in gaussian.tiles}
    assert set(found) == {(0, 2), (1, 3), (4,)}
    assert found[0, 2] is None
    np.testing.assert_array_equal(found[1, 3], [1, 2])
    np.testing.assert_array_equal(found[4,], [0, 2])
