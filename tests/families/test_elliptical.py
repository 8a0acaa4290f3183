"""Means and covariances together: shapes of the structures, and a gradient that knows no units."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.covariances import MODELS, moments_of, obeying, structure_of
from tests.oracles.covariances import packed as expected_shape
from unveil.families.elliptical import Elliptical, EllipticalSums, packed, spread

K, D = 3, 2


@pytest.mark.parametrize("model", MODELS)
def test_matrices_are_packed_in_the_shape_of_the_structure(model: str) -> None:
    structure, matrices = structure_of(model), obeying(model, np.random.default_rng(0), K, D)
    found = packed(structure, matrices)
    assert found.shape == structure.shape(K, D)
    np.testing.assert_array_equal(found, expected_shape(structure, matrices))
    np.testing.assert_allclose(structure.dense(found, K, D), matrices)


@pytest.mark.parametrize("model", MODELS)
def test_second_moments_are_spread_out_without_changing_the_energy(model: str) -> None:
    structure, random = structure_of(model), np.random.default_rng(1)
    precisions = np.linalg.inv(obeying(model, random, K, D))
    roots = random.normal(size=(K, D, D))
    scatters = roots @ np.swapaxes(roots, 1, 2)
    found = spread(structure, moments_of(structure, scatters), D)
    traces = np.einsum("kij,kji->k", precisions, scatters)
    np.testing.assert_allclose(np.einsum("kij,kji->k", precisions, found), traces)


@pytest.mark.parametrize("model", [model for model in MODELS if model not in ("EII", "VII")])
def test_units_of_the_columns_do_not_matter_where_the_structure_has_none(model: str) -> None:
    """Gradients of the means are those of whitened rows, whatever the units and wherever the origin."""
    structure, random = structure_of(model), np.random.default_rng(2)
    matrices = obeying(model, random, K, D)
    units = np.array([1e-3, 1e4]) if model.endswith("I") else np.array([1e3, 1e3])
    means, rows = random.normal(size=(K, D)), random.normal(size=(30, D))
    gradients = []
    for scale, offset in ((np.ones(D), 0.0), (units, 1e6)):
        centre = means * scale + offset
        chart = Elliptical(structure, centre, packed(structure, matrices * np.outer(scale, scale)), centre, 0.0)
        sums = (rows - means[:, None]) * scale
        products = np.einsum("kni,knj->kij", sums, sums)
        counts = np.full(K, 30.0)
        second = 30.0 * moments_of(structure, products / 30.0)
        seen = EllipticalSums(counts, counts, sums.sum(axis=1), second)
        gradients.append(chart.gradient(seen, None, np.zeros(chart.size)))
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-8, atol=1e-8)
