"""Means and covariances together: shapes of the structures, and a gradient that knows no units."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.covariances import MODELS, moments_of, obeying, packed, structure_of
from unveil.families.covariance.axial import EllipticalSums, least_variances
from unveil.families.covariance.elliptical import chart_of
from unveil.families.covariance.orbits import orbit_of

K, D = 3, 2


@pytest.mark.parametrize("model", [model for model in MODELS if model.endswith("I")])
def test_without_matrices_coordinates_and_gradients_are_the_same(model: str) -> None:
    structure, random = structure_of(model), np.random.default_rng(1)
    means, matrices = random.normal(size=(K, 5)), obeying(model, random, K, 5)
    covariances, origins = packed(structure, matrices), random.normal(size=(K, 5))
    chart = chart_of(structure, means, covariances, origins, 1e-6)
    orbit = orbit_of(structure, matrices, least_variances(np.einsum("kii->ki", matrices), means, 1e-6))
    vector, counts = 0.3 * random.normal(size=chart.size), np.array([30.0, 20.0, 10.0])
    found_means, found = chart.at(vector)
    steps, rest = vector[: means.size].reshape(means.shape), vector[means.size :]
    expected = orbit.matrices(rest)
    np.testing.assert_allclose(found_means, means + np.sqrt(np.einsum("kii->ki", matrices)) * steps)
    np.testing.assert_allclose(structure.dense(found, K, 5), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(chart.orbit.information(counts), orbit.information(counts))
    rows = random.normal(size=(K, 40, 5))
    products = np.einsum("kni,knj->kij", rows, rows)
    seen = EllipticalSums(counts, counts, rows.sum(axis=1), 40.0 * moments_of(structure, products / 40.0))
    away = seen.first / counts[:, None] - (found_means - origins)
    centred = structure.centre(seen.second / counts[:, None], seen.first / counts[:, None])
    scatter = counts[:, None, None] * np.eye(5) * (np.broadcast_to(centred, (K, 5)) + away**2)[:, :, None]
    along, pulled = orbit.energy_gradient(counts, scatter, counts[:, None] * away, rest)
    whitened = np.einsum("kji,kj->ki", chart.roots, pulled)
    np.testing.assert_allclose(chart.gradient(seen, None, vector), np.concatenate([whitened.ravel(), along]), rtol=1e-9)


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
        chart = chart_of(structure, centre, packed(structure, matrices * np.outer(scale, scale)), centre, 0.0)
        sums = (rows - means[:, None]) * scale
        products = np.einsum("kni,knj->kij", sums, sums)
        counts = np.full(K, 30.0)
        second = 30.0 * moments_of(structure, products / 30.0)
        seen = EllipticalSums(counts, counts, sums.sum(axis=1), second)
        gradients.append(chart.gradient(seen, None, np.zeros(chart.size)))
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-8, atol=1e-8)
