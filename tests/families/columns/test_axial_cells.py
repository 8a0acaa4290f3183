"""Gaussians along the axes with missing cells, against the same by matrices, pattern by pattern."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.families.base import Tile
from unveil.families.columns.marginal import observe
from unveil.families.columns.missing_cells import ByPattern, expect_cells
from unveil.families.covariance.structure import Diagonal, Full, Spherical
from unveil.families.gaussian import Gaussian, GaussianParams

N_ROWS, N_COLUMNS, K = 60, 5, 3


def drawn(structure, far=0.0):
    random = np.random.default_rng(4)
    x = far + random.normal(size=(N_COLUMNS, N_ROWS))
    x[random.random(x.shape) < 0.3] = np.nan
    x[:, 0] = np.nan
    means = far + random.normal(size=(K, N_COLUMNS))
    origins = means.round() if far else random.normal(size=means.shape)
    shape = structure.shape(K, N_COLUMNS)
    return x, GaussianParams(means, random.gamma(3.0, size=shape), origins), random.random((K, N_ROWS))


def dense_twin(structure, params):
    covariances = structure.dense(params.covariances, K, N_COLUMNS)
    return Gaussian(Full(), 0.0), GaussianParams(params.means, covariances, params.origins)


@pytest.mark.parametrize("structure", [Diagonal(), Spherical()])
@pytest.mark.parametrize("far", [0.0, 1e8])
def test_densities_are_those_of_matrices(structure, far):
    x, params, _ = drawn(structure, far)
    family, (twin, dense) = Gaussian(structure, 0.0), dense_twin(structure, params)
    found, want = np.zeros((K, N_ROWS)), np.zeros((K, N_ROWS))
    family.missing_cells(family.plan(params), x, K).score(found)
    ByPattern(twin, twin.plan(dense), x, K).score(want)
    assert np.allclose(found, want, rtol=1e-12, atol=1e-12)
    assert np.all(found[:, 0] == 0.0)


@pytest.mark.parametrize("structure", [Diagonal(), Spherical()])
def test_moments_are_those_of_matrices(structure):
    x, params, shares = drawn(structure)
    family, (twin, dense) = Gaussian(structure, 0.0), dense_twin(structure, params)
    found = family.missing_cells(family.plan(params), x, K).gather(shares)
    patterns = ByPattern(twin, twin.plan(dense), x, K)
    patterns.score(np.zeros((K, N_ROWS)))
    full = patterns.gather(shares)
    squares = full[:, 1 + N_COLUMNS :][:, [0, 5, 9, 12, 14]]  # of the upper triangle
    if isinstance(structure, Spherical):
        squares = squares.sum(axis=1, keepdims=True)
    assert np.allclose(found, np.concatenate([full[:, : 1 + N_COLUMNS], squares], axis=1), rtol=1e-12)


def test_missing_cells_are_at_their_means():
    x, params, shares = drawn(Diagonal())
    family, here = Gaussian(Diagonal(), 0.0), np.array([0, 2])
    rows = x[:, 1:2].copy()
    rows[[1, 3, 4]], rows[here] = np.nan, 0.5
    share = shares[:, 1:2] / shares[:, 1:2].sum()
    found = family.complete(family.plan(params), Tile(rows, share.copy(), None, slice(0, 1), here))
    dense = observe(params.means, family.covariances(params), here)
    assert np.allclose(found, dense.complete(Tile(rows, share, None, slice(0, 1), here)), rtol=1e-12)


def test_a_pass_is_that_of_its_parts():
    x, params, _ = drawn(Diagonal())
    family, weights = Gaussian(Diagonal(), 0.0), np.arange(N_ROWS) % 3.0
    plan, log_weights = family.plan(params), np.log([0.2, 0.3, 0.5])
    moments, bound = expect_cells(family, plan, log_weights, np.ascontiguousarray(x.T), weights)
    logits = np.repeat(log_weights[:, None], N_ROWS, axis=1)
    family.missing_cells(plan, x, K).score(logits)
    top = np.logaddexp.reduce(logits, axis=0)
    assert bound == pytest.approx(weights @ top)
    assert np.allclose(moments[:, 0], np.exp(logits - top) @ weights)


def test_a_thousand_columns_take_no_matrices(monkeypatch):
    monkeypatch.setattr("unveil.families.gaussian.observe", None)
    random = np.random.default_rng(0)
    rows = random.normal(size=(40, 1000)) + 3.0 * (np.arange(40) % 2)[:, None]
    rows[random.random(rows.shape) < 0.01] = np.nan
    from unveil import GaussianMixture

    model = GaussianMixture(2, covariance_type="diag", n_init=1, random_state=0).fit(rows)
    assert np.isfinite(model.score(rows))
    assert np.array_equal(model.predict(rows), np.argmax(model.predict_proba(rows), axis=1))
    assert not np.isnan(model.impute(rows)).any()
