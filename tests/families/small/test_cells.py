"""Passes over numbers, codes and rates with missing cells are those of the general way, cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.core.protocols import Block
from unveil.expectations import Exact
from unveil.families.bernoulli import Bernoulli
from unveil.families.categorical import Categorical
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure, Tied
from unveil.families.exponential import Exponential
from unveil.families.gaussian import Gaussian
from unveil.families.poisson import Poisson
from unveil.families.priors import Gamma
from unveil.families.product import Product
from unveil.families.small.cells import CellTable, cell_groups
from unveil.mixtures.model.model import BlockMemo, Mixture, MixtureParams

STRUCTURES = [Full(), Tied(), Diagonal(), Spherical()]
COLUMNS = ((1, 4), (0, 6), (2,), (3,), (5,))


def family_of(structure: Structure) -> Product:
    families = Gaussian(structure), Categorical((3, 2)), Bernoulli(), Poisson(), Exponential()
    return Product(tuple(zip(families, COLUMNS, strict=True)))


def rows_of(seed: int, n: int = 300) -> Any:
    random = np.random.default_rng(seed)
    rows = np.column_stack(
        [
            random.integers(0, 3, n), random.normal(0, 1, n), random.random(n) < 0.3, random.poisson(2.0, n),
            random.normal(1, 2, n), random.exponential(1.5, n), random.integers(0, 2, n),
        ]
    )  # fmt: skip
    rows[random.random(rows.shape) < 0.2] = np.nan
    return rows


def started(structure: Structure, rows: Any) -> tuple[Mixture, MixtureParams]:
    family, random = family_of(structure), np.random.default_rng(5)
    model = Mixture(family, 3, np.zeros(rows.shape[1]), compiled=False)
    filled = np.where(np.isnan(rows), family.typical(rows), rows)
    shares = random.dirichlet(np.ones(3), len(rows)).T
    return model, model.first(model.gather(Block(0, 0, filled), shares))


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_pass_is_that_of_the_general_way(structure: Structure, weighted: bool) -> None:
    rows = rows_of(1)
    weights = np.random.default_rng(2).random(len(rows)) + 0.5 if weighted else None
    model, params = started(structure, rows)
    block = Block(0, 0, rows, weights)
    plain = BlockMemo(patterns=model._patterns(block))  # nothing laid out
    expected, _ = model.expect(model.prepare(params), block, Exact(), plain, np.random.default_rng)
    table = CellTable.of(model.family, rows, weights, model.shift)
    assert table is not None
    vector = table.vector(params.weights, params.components)
    fresh, sums = np.empty_like(vector), table.empty_sums(vector)
    bound = table.sweep(vector, fresh, sums)
    assert bound == pytest.approx(float(expected["log_likelihood"]) + table.base, rel=1e-12)
    np.testing.assert_allclose(table.moments(vector, sums, params.components), expected["moments"], rtol=1e-9)
    after = model.maximise(expected, params)
    np.testing.assert_allclose(fresh, table.vector(after.weights, after.components), rtol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: type(one).__name__)
def test_vectors_parameters_and_raw_moments_and_back(structure: Structure) -> None:
    rows = rows_of(3)
    model, params = started(structure, rows)
    table = CellTable.of(model.family, rows, None, model.shift)
    assert table is not None
    vector = table.vector(params.weights, params.components)
    np.testing.assert_allclose(table.vector(*table.params(vector)), vector, rtol=1e-12)
    again = table.m_step(table.raw_moments(vector))
    assert again is not None
    np.testing.assert_allclose(again, vector, rtol=1e-9)
    assert table.is_proper(again)
    assert table.m_step(-table.raw_moments(vector)) is None


def test_families_with_priors_and_rows_that_are_infinite_are_left_to_the_general_way() -> None:
    assert cell_groups(Poisson(Gamma(2.0, 1.0)), 2) is None
    assert CellTable.of(Poisson(), np.array([[1.0], [np.inf]]), None, np.zeros(1)) is None
