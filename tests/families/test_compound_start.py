"""Parts to begin with: known groups are found, and few rows or none do no harm."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.families import split
from unveil.families.base import Tile
from unveil.families.compound import Compound
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams

Floats = NDArray[np.float64]


def blobs() -> tuple[Floats, NDArray[np.intp]]:
    centres = np.array([[0.0, 0.0], [0.0, 6.0], [30.0, 0.0], [30.0, 6.0]])
    random = np.random.default_rng(3)
    return np.concatenate([random.normal(c, 0.5, (60, 2)) for c in centres]), np.repeat([0, 0, 1, 1], 60)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_splitting_finds_the_parts_of_each_component(seed: int) -> None:
    rows, which = blobs()
    family, q = Gaussian(Full(), 1e-6), np.eye(2)[:, which]
    tile = Tile(np.ascontiguousarray(rows.T), q.copy())
    single = family.first(family.gather_first(tile))
    found = split(family, single, 2, rows, q, seed)
    order = np.argsort(found.parts.means[:, 1] + found.parts.means[:, 0], kind="stable")
    np.testing.assert_allclose(found.parts.means[order], [[0, 0], [0, 6], [30, 0], [30, 6]], atol=0.5)
    np.testing.assert_allclose(found.weights, 0.5, atol=0.01)
    again = split(family, single, 2, rows, q, seed)
    np.testing.assert_array_equal(again.parts.means, found.parts.means)


def test_splitting_few_rows_or_none_is_harmless() -> None:
    random, n_parts = np.random.default_rng(0), 2
    roots = random.normal(size=(2, 2, 2))
    family, means = Compound(Gaussian(Full(), 0.0), n_parts), random.normal(size=(2, 2))
    single = GaussianParams(means, roots @ np.swapaxes(roots, 1, 2) + np.eye(2), np.zeros((2, 2)))
    rows = np.array([[1.0, 2.0], [np.nan, 2.5], [1.0, 2.0]])
    found = split(family.family, single, n_parts, rows, np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
    tile = Tile(random.normal(size=(2, 50)), np.empty((2, 50)))
    family.score(family.plan(found), tile)
    assert np.all(np.isfinite(tile.logits))
    np.testing.assert_array_equal(found.parts.means[n_parts:], np.repeat(means[1:], n_parts, axis=0))
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    assert np.all(found.weights > 0)
