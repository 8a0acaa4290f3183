"""Common axes: found where they exist, best where they do not, by majorisation's own measure."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.covariances import Floats, random_scatters
from unveil.families.covariance.orientation import common_axes, shared_axes


def height(counts: Floats, scatters: Floats, axes: Floats) -> float:
    squares = np.einsum("ij,kil,lj->kj", axes, scatters, axes)
    return float(counts @ np.log(squares).sum(axis=1) / counts.sum())


def majorised(counts: Floats, scatters: Floats, axes: Floats, steps: int) -> Floats:
    """The slow oracle: Browne and McNicholas, largest eigenvalues of the scatters as majorisers."""
    largest = np.linalg.eigvalsh(scatters)[:, -1]
    for _ in range(steps):
        inverses = 1.0 / np.einsum("ij,kil,lj->kj", axes, scatters, axes)
        pulls = (largest[:, None, None] * axes - scatters @ axes) * (counts[:, None] * inverses)[:, None, :]
        left, _, right = np.linalg.svd(pulls.sum(axis=0))
        axes = left @ right
    return axes


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_axes_that_are_common_are_found(d: int) -> None:
    random = np.random.default_rng(d)
    axes, _ = np.linalg.qr(random.normal(size=(d, d)))
    variances = random.uniform(0.5, 5.0, (4, d))
    matrices = (axes * variances[:, None, :]) @ axes.T
    start, _ = np.linalg.qr(axes + 0.1 * random.normal(size=(d, d)))
    for found in (common_axes(np.ones(4), matrices, start[None], lambda s: s), shared_axes(matrices)):
        np.testing.assert_allclose(found.T @ found, np.eye(d), atol=1e-12)
        np.testing.assert_allclose(np.max(np.abs(axes.T @ found), axis=0), 1.0, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_majorisation_comes_to_the_same_height(seed: int) -> None:
    counts, scatters = random_scatters(seed, 3, 3)
    start = np.linalg.eigh(scatters.sum(axis=0))[1]
    slow = majorised(counts, scatters, start, 3000)
    ours = common_axes(counts, scatters, start[None], lambda squares: squares)
    assert height(counts, scatters, ours) <= height(counts, scatters, slow) + 1e-9
    again = common_axes(counts, scatters, slow[None], lambda squares: squares)
    assert height(counts, scatters, again) == pytest.approx(height(counts, scatters, slow), abs=1e-8)


def test_the_best_start_is_taken() -> None:
    """At equal diagonals every axis is as good as any other nearby: the slope is nought, at the worst place."""
    scatters = np.array([[[2.5, 1.5], [1.5, 2.5]], [[2.5, -1.5], [-1.5, 2.5]]])
    own = np.linalg.eigh(scatters[0])[1]
    found = common_axes(np.ones(2), scatters, np.stack([np.eye(2), own]), lambda squares: squares)
    np.testing.assert_allclose(height(np.ones(2), scatters, found), np.log(4.0))
