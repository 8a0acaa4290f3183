from __future__ import annotations

import numpy as np
import pytest

from unveil.core.protocols import Block
from unveil.core.statistics import tree_sum
from unveil.projections.topographic import start
from unveil.projections.topographic.lattice import Basis, grid


def passes(X, weights=None, cut=70):
    """A pass over the rows in two blocks."""
    pieces = [slice(0, cut), slice(cut, len(X))]

    def run(step):
        blocks = [Block(i, p.start, X[p], None if weights is None else weights[p]) for i, p in enumerate(pieces)]
        return tree_sum(step(block, None)[0] for block in blocks)

    return run


def table(n=200, d=5, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)) * (np.arange(d, 0, -1.0) ** 2) @ np.linalg.qr(random.normal(size=(d, d)))[0] + 7


def test_axes_are_those_of_the_covariance():
    X, weights = table(), np.random.default_rng(1).integers(0, 3, 200).astype(float)
    spread = start.spread_of(passes(X, weights), X[0])
    mean, scatter = np.average(X, axis=0, weights=weights), np.cov(X.T, aweights=weights, bias=True)
    np.testing.assert_allclose(spread.mean, mean)
    np.testing.assert_allclose(spread.variances, np.diagonal(scatter))
    assert (spread.holes, spread.weight) == (False, weights.sum())
    axes = start.axes_of(passes(X, weights), spread, 3, 0)
    np.testing.assert_allclose(axes.values, np.linalg.eigvalsh(scatter)[::-1][:3])
    np.testing.assert_allclose(scatter @ axes.directions.T, axes.directions.T * axes.values, atol=1e-9)
    assert np.all(axes.directions[np.arange(3), np.abs(axes.directions).argmax(axis=1)] > 0)


def test_wide_tables_find_the_same_axes():
    X = table()
    spread = start.spread_of(passes(X), X[0])
    wanted = start.axes_of(passes(X), spread, 2, 0)
    found = start.axes_of(passes(X), spread, 2, 0, wide=2, spare=1)
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-4)
    np.testing.assert_allclose(found.directions, wanted.directions, atol=1e-2)


def test_holes_are_left_out():
    X = table()
    holed = np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)
    spread = start.spread_of(passes(holed), X[0])
    np.testing.assert_allclose(spread.mean, np.nanmean(holed, axis=0))
    np.testing.assert_allclose(spread.variances, np.nanvar(holed, axis=0))
    assert spread.holes
    axes, whole = (start.axes_of(passes(rows), spread, 1, 0) for rows in (holed, X))
    assert axes.directions[0] @ whole.directions[0] > 0.98


def test_the_plane_is_as_large_as_the_data():
    X = table()
    spread = start.spread_of(passes(X), X[0])
    axes, basis = start.axes_of(passes(X), spread, 3, 0), Basis((3, 3), 1.0)
    coefficients, variance = start.plane(axes, (9, 7), basis)
    images = basis(grid((9, 7))) @ coefficients
    np.testing.assert_allclose(np.var(images @ axes.directions[:2].T, axis=0), axes.values[:2])
    np.testing.assert_allclose(images @ axes.directions[2], 0.0, atol=1e-9)
    assert variance >= axes.values[2]


def test_numbers_that_are_all_alike_have_no_variance_but_a_size():
    X = np.full((100, 3), 1e8 + 0.1)
    spread = start.spread_of(passes(X), X[0])
    assert spread.variances.tolist() == [0.0, 0.0, 0.0]
    assert 0 < spread.size < 1e8


@pytest.mark.parametrize("cell", [np.inf, 1e200])
def test_what_is_not_finite_is_not_taken_for_a_column_that_does_not_vary(cell):
    X = table()
    X[150, 2] = cell
    spread = start.spread_of(passes(X), X[0])
    assert not np.isfinite(spread.variances[2])
    assert not np.isfinite(spread.size)
