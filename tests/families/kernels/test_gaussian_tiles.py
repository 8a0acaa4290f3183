"""Vector code over tiles of rows, with tails of every length, against SciPy and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from unveil.families.kernels.gaussian_tiles import LANES, TILE, share_tile
from unveil.families.kernels.small_emissions import (
    maximise_matrices,
    maximise_variances,
    score_matrices,
    score_variances,
)
from unveil.numerics.jit import kernel

SHAPES = [(1, 1, 1), (31, 2, 3), (TILE, 4, 2), (TILE + 1, 5, 2), (2 * TILE + 33, 9, 4)]


def components(d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Means (k, d) and covariances (k, d, d)."""
    random = np.random.default_rng([d, k])
    factors = random.normal(size=(k, d, d)) + 2.0 * np.eye(d)
    return random.normal(size=(k, d)), factors @ np.swapaxes(factors, 1, 2)


@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_scores_are_log_densities(n: int, d: int, k: int) -> None:
    means, covariances = components(d, k)
    x, found = np.random.default_rng(n).normal(size=(d, n)), np.empty((k, n))
    ones, floor = np.full(k, 1.0 / k), np.full(d, 1e-12)
    assert score_matrices(x, np.concatenate([ones, means.ravel(), covariances.ravel()]), floor, found)
    wanted = [multivariate_normal(m, c).logpdf(x.T) for m, c in zip(means, covariances, strict=True)]
    np.testing.assert_allclose(found, np.reshape(wanted, (k, n)), rtol=1e-10, atol=1e-10)
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    assert score_variances(x, np.concatenate([ones, means.ravel(), variances.ravel()]), floor, found)
    wanted = [multivariate_normal(m, np.diag(v)).logpdf(x.T) for m, v in zip(means, variances, strict=True)]
    np.testing.assert_allclose(found, np.reshape(wanted, (k, n)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_moments_are_sums_about_the_means_and_the_m_step_is_made_of_them(n: int, d: int, k: int) -> None:
    means, covariances = components(d, k)
    random = np.random.default_rng(n)
    x, shares = random.normal(size=(d, n)), random.random((k, n))
    away = x[None] - means[:, :, None]
    firsts, seconds = np.einsum("kn,kin->ki", shares, away), np.einsum("kn,kin,kjn->kij", shares, away, away)
    params = np.concatenate([np.full(k, 1.0 / k), means.ravel(), covariances.ravel()])
    sums, fresh = np.full(len(params), np.nan), np.empty(len(params))
    assert maximise_matrices(x, shares, params, 0.25, False, fresh, sums)
    wanted = np.concatenate([shares.sum(axis=1), firsts.ravel(), np.tril(seconds).ravel()])
    np.testing.assert_allclose(sums, wanted, rtol=1e-12, atol=1e-11)
    counts = shares.sum(axis=1)
    steps = firsts / counts[:, None]
    spread = seconds / counts[:, None, None] - steps[:, :, None] * steps[:, None, :] + 0.25 * np.eye(d)
    wanted = np.concatenate([counts / counts.sum(), (means + steps).ravel(), spread.ravel()])
    np.testing.assert_allclose(fresh, wanted, rtol=1e-10, atol=1e-10)
    maximise_matrices(x, shares, params, 0.25, True, fresh, sums)
    pooled = np.tensordot(counts / counts.sum(), spread, 1)
    np.testing.assert_allclose(fresh[k + k * d :].reshape(k, d, d), np.stack([pooled] * k), rtol=1e-10, atol=1e-10)
    sums, fresh = np.full(k + 2 * k * d, np.nan), np.empty(k + 2 * k * d)
    assert maximise_variances(x, shares, params, 0.25, False, fresh, sums)
    own = np.diagonal(spread, axis1=1, axis2=2)
    np.testing.assert_allclose(fresh[k + k * d :].reshape(k, d), own, rtol=1e-10, atol=1e-10)
    maximise_variances(x, shares, params, 0.25, True, fresh, sums)
    even = np.broadcast_to(own.mean(axis=1, keepdims=True), own.shape)
    np.testing.assert_allclose(fresh[k + k * d :].reshape(k, d), even, rtol=1e-10, atol=1e-10)
    squares = np.diagonal(seconds, axis1=1, axis2=2)
    wanted = np.concatenate([shares.sum(axis=1), firsts.ravel(), squares.ravel()])
    np.testing.assert_allclose(sums, wanted, rtol=1e-12, atol=1e-11)


@kernel
def shared_out(logits: np.ndarray, weights: np.ndarray, k: int, rows: int) -> float:
    return share_tile(logits, k, rows, weights)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_responsibilities_are_shares_of_the_weight_and_the_rest_is_the_likelihood(k: int) -> None:
    random = np.random.default_rng(k)
    logits, rows = random.normal(size=(k, TILE)) * 50.0, 6 * LANES
    weights = random.uniform(0.1, 2.0, TILE)
    wanted = logits[:, :rows].copy()
    total = shared_out(flat := logits.ravel(), weights, k, rows)
    norms = logsumexp(wanted, axis=0)
    assert total == pytest.approx(float(weights[:rows] @ norms), rel=1e-13)
    found = flat.reshape(k, TILE)[:, :rows]
    np.testing.assert_allclose(found, np.exp(wanted - norms) * weights[:rows], rtol=1e-12, atol=1e-16)
    logits[0, 3] = np.nan
    assert np.isnan(shared_out(logits.ravel(), weights, k, rows))
