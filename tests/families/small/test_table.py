"""Passes over a small table in one piece, against the general way and against densities by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from unveil.core.protocols import Block
from unveil.expectations import Exact
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Tied
from unveil.families.gaussian import Gaussian
from unveil.families.small.table import GaussianTable
from unveil.mixtures.model.model import Mixture, MixtureParams

STRUCTURES = [Full(), Tied(), Diagonal(), Spherical()]
by_structure = pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: type(one).__name__)
SHAPES = pytest.mark.parametrize(
    ("n_rows", "n_columns", "k"),
    [(300, 3, 4), (128, 1, 2), (129, 2, 1), (1000, 9, 3), (40, 6, 2), (700, 30, 3), (4100, 70, 3)],
)


def a_table(n_rows: int, n_columns: int, k: int, structure: Any, weighted: bool) -> tuple[GaussianTable, np.ndarray]:
    """Rows around k places, and the vector of groups by place."""
    random = np.random.default_rng([n_rows, n_columns, k])
    labels = random.integers(k, size=n_rows)
    rows = random.normal(size=(n_rows, n_columns)) * (1.0 + labels[:, None]) + 3.0 * labels[:, None]
    weights = random.uniform(0.5, 2.0, n_rows) if weighted else None
    table = Gaussian(structure, 1e-6).small_table(rows - rows.mean(axis=0), weights)
    return table, table.labelled(labels, k)


@by_structure
@SHAPES
@pytest.mark.parametrize("weighted", [False, True])
def test_a_pass_is_that_of_the_general_way(structure: Any, n_rows: int, n_columns: int, k: int, weighted: bool) -> None:
    table, vector = a_table(n_rows, n_columns, k, structure, weighted)
    fresh, sums, shares = np.empty_like(vector), np.empty_like(vector), np.empty((k, n_rows))
    bound = table.sweep(vector, fresh, sums, shares)
    model = Mixture(table.family, k, np.zeros(n_columns))
    params = MixtureParams(*table.params(vector))
    block = Block(0, 0, np.ascontiguousarray(table.x.T), table.weights)
    statistics, _ = model.expect(model.prepare(params), block, Exact(), None, np.random.default_rng)
    after = model.maximise(statistics, params)
    assert bound == pytest.approx(float(statistics["log_likelihood"]), rel=1e-12)
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(table.moments(vector, sums, params.components), statistics["moments"], **close)
    np.testing.assert_allclose(table.vector(after.weights, after.components), fresh, **close)
    np.testing.assert_allclose(shares.sum(axis=0), table.weights, rtol=1e-13)


def test_the_bound_is_the_likelihood() -> None:
    table, vector = a_table(200, 3, 3, Full(), weighted=False)
    weights, means, covariances = table.split(vector)
    joint = [
        np.log(weight) + multivariate_normal(mean, covariance).logpdf(table.x.T)
        for weight, mean, covariance in zip(weights, means, covariances, strict=True)
    ]
    bound = table.sweep(vector, np.empty_like(vector), np.empty_like(vector))
    assert bound == pytest.approx(float(logsumexp(joint, axis=0).sum()), rel=1e-13)


@by_structure
def test_vectors_and_parameters_are_the_same_thing(structure: Any) -> None:
    table, vector = a_table(300, 3, 4, structure, weighted=True)
    fresh = np.empty_like(vector)
    table.sweep(vector, fresh, np.empty_like(vector))
    for one in (vector, fresh):
        np.testing.assert_allclose(table.vector(*table.params(one)), one, rtol=1e-14)
    assert table.n_components(fresh) == 4


def test_narrow_components_far_from_the_origin_lose_no_digits() -> None:
    random = np.random.default_rng(0)
    rows = np.concatenate([random.normal(size=(200, 2)) * 1e-2 + 1e4, random.normal(size=(200, 2)) - 1e4])
    table = Gaussian(Full(), 0.0).small_table(rows, None)
    vector = table.labelled(np.repeat([0, 1], 200), 2)
    fresh, sums = np.empty_like(vector), np.empty_like(vector)
    assert np.isfinite(table.sweep(vector, fresh, sums))
    spread = np.cov(rows[:200].T, bias=True)
    np.testing.assert_allclose(table.split(fresh)[2][0], spread, rtol=1e-6)
    params = table.family.recentre(table.params(vector)[1])
    assert np.any(params.origins[0] != 0)  # a frame of its own, about which the moments keep their digits
    moments = table.moments(vector, sums, params)
    np.testing.assert_allclose(Gaussian(Full(), 0.0).maximise(moments, params).covariances[0], spread, rtol=1e-6)


@by_structure
@pytest.mark.parametrize("n_columns", [3, 70])
def test_what_is_not_plain_is_left_to_others(structure: Any, n_columns: int) -> None:
    table, vector = a_table(300, n_columns, 2, structure, weighted=False)
    room = np.empty_like(vector)
    for spoil in ("no spread", "no weight", "far away"):
        spoiled = vector.copy()
        weights, means, spread = table.split(spoiled)
        if spoil == "no spread":
            spread[0] = 0.0
        elif spoil == "no weight":
            weights[0] = 0.0
        else:
            means[0] = 1e9
        assert np.isnan(table.sweep(spoiled, room, np.empty_like(vector)))


@by_structure
def test_merged_components_have_the_moments_of_both(structure: Any) -> None:
    table, vector = a_table(400, 3, 2, structure, weighted=True)
    weights, means, spread = table.split(vector)
    both, mean, joined = table.merged((weights[:1], means[:1], spread[:1]), (weights[1:], means[1:], spread[1:]))
    assert both[0] == pytest.approx(1.0)
    np.testing.assert_allclose(mean[0], weights @ means, rtol=1e-12)
    dense = spread if spread.ndim == 3 else spread[:, :, None] * np.eye(3)
    raw = np.einsum("k,kij->ij", weights, dense + means[:, :, None] * means[:, None, :])
    wanted = raw - np.outer(mean[0], mean[0])
    np.testing.assert_allclose(joined[0], wanted if spread.ndim == 3 else np.diag(wanted), rtol=1e-10)


def test_groups_without_rows_are_lent_some_spread() -> None:
    table = Gaussian(Full(), 1e-6).small_table(np.random.default_rng(0).normal(size=(50, 2)), None)
    labels = np.zeros(50, np.intp)
    labels[0] = 1  # one row, and none for group 2
    weights, _, spread = table.split(table.labelled(labels, 3))
    assert np.all(weights > 0)
    assert np.all(np.linalg.eigvalsh(spread)[:, 0] > 0)
