"""Projections, and clusters, of columns that have different units, and of clouds that have no direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import unveil
from benchmarks.trust.planted.case import SHAPES, SUSPECT, Fitted, Planted, fitted, random

NO_DIRECTION = frozenset({"equal_eigenvalues", "parallel_analysis", "null", "noise"})
NO_SHEET = NO_DIRECTION | {"line", "shape", "distance", "residual", "not_converged", "remaining_gain"}
SCALE = frozenset({"scale"})
SPREAD = SHAPES | {"covariances"}  # noise, or classes, that are not as wide as each other


def unscaled() -> np.ndarray:
    """Three groups in two columns, and a third column in a unit a thousand times as small: noise, and it decides."""
    source = random(71)
    groups = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]], 100, axis=0) + source.normal(size=(300, 2))
    return np.column_stack([groups, 1000.0 * source.normal(size=300)])


def _on(model: Any, rows: Callable[[], np.ndarray]) -> Callable[[], Fitted]:
    return lambda: fitted(model, rows())


def sphere(d: int = 5, n: int = 300) -> np.ndarray:
    return random(72).normal(size=(n, d))


def twins() -> np.ndarray:
    """The first direction stands out; the second and the third are equal."""
    return random(73).normal(size=(500, 5)) * [6.0, 2.0, 2.0, 0.5, 0.5]


def heavy_factors() -> np.ndarray:
    """Two factors, all of it stretched as Student's t with three degrees of freedom."""
    source = random(74)
    stretch = np.sqrt(3.0 / source.chisquare(3, (600, 1)))
    return np.asarray(
        stretch * (source.normal(size=(600, 2)) @ source.normal(size=(2, 6)) + source.normal(size=(600, 6)))
    )


def uneven_noise() -> np.ndarray:
    """One factor, and noise of very different sizes by column: factor analysis would do, probabilistic PCA does not."""
    source = random(75)
    noise = np.array([0.1, 0.1, 1.0, 1.0, 6.0, 6.0])
    return np.asarray(source.normal(size=(500, 1)) @ np.ones((1, 6)) + noise * source.normal(size=(500, 6)))


def long_groups() -> np.ndarray:
    """Three long groups side by side."""
    rows = random(76).normal(size=(450, 2)) * [8.0, 0.7]
    return np.asarray(rows + np.repeat([[0, 0], [0, 6], [0, 12]], 150, axis=0))


def unequal_classes() -> Fitted:
    """Classes of one centre apart, one of them ten times as wide and turned: no shared covariance."""
    source = random(77)
    first = source.normal(size=(200, 2)) * [0.3, 3.0]
    second = source.normal(size=(200, 2)) * [3.0, 0.3] + [4.0, 0.0]
    y = np.repeat([0, 1], 200)
    return fitted(unveil.LinearDiscriminantAnalysis(), np.concatenate([first, second]), y=y)


def skewed_classes() -> Fitted:
    source = random(78)
    y = np.repeat([0, 1], 250)
    return fitted(unveil.LinearDiscriminantAnalysis(), source.lognormal(size=(500, 2)) + 2.0 * y[:, None], y=y)


def gaussian_voices() -> np.ndarray:
    source = random(79)
    return np.asarray(source.normal(size=(800, 4)) @ source.normal(size=(4, 4)))


CASES = (
    Planted("PCA on unscaled columns", _on(unveil.PCA(2), unscaled), "describes", SUSPECT, SCALE),
    Planted("PCA of a sphere", _on(unveil.PCA(2), sphere), "describes", SUSPECT, NO_DIRECTION),
    Planted("PCA that cuts between equal eigenvalues", _on(unveil.PCA(2), twins), "describes", SUSPECT, NO_DIRECTION),
    Planted(
        "ProbabilisticPCA of a sphere", _on(unveil.ProbabilisticPCA(2), sphere), "describes", SUSPECT, NO_DIRECTION
    ),
    Planted(
        "ProbabilisticPCA on uneven noise",
        _on(unveil.ProbabilisticPCA(1), uneven_noise),
        "describes",
        SUSPECT,
        SPREAD | SCALE,
    ),
    Planted(
        "ProbabilisticPCA on heavy tails", _on(unveil.ProbabilisticPCA(2), heavy_factors), "describes", SUSPECT, SHAPES
    ),
    Planted(
        "FactorAnalysis of independent columns",
        _on(unveil.FactorAnalysis(2, random_state=0), sphere),
        "describes",
        SUSPECT,
        NO_DIRECTION,
    ),
    Planted(
        "FactorAnalysis on heavy tails",
        _on(unveil.FactorAnalysis(2, random_state=0), heavy_factors),
        "describes",
        SUSPECT,
        SHAPES,
    ),
    Planted("LinearDiscriminantAnalysis on unequal classes", unequal_classes, "describes", SUSPECT, SPREAD),
    Planted("LinearDiscriminantAnalysis on skewed classes", skewed_classes, "describes", SUSPECT, SHAPES),
    Planted(
        "ICA of Gaussian sources",
        _on(unveil.ICA(random_state=0), gaussian_voices),
        "sound/describes",
        SUSPECT,
        NO_DIRECTION | {"gaussian"},
    ),
    Planted(
        "PrincipalCurve through a sphere",
        _on(unveil.PrincipalCurve(), lambda: sphere(3)),
        "sound/describes",
        SUSPECT,
        NO_SHEET,
    ),
    Planted(
        "GenerativeTopographicMap of a sphere",
        _on(unveil.GenerativeTopographicMap(1, random_state=0), lambda: sphere(3)),
        "sound/describes",
        SUSPECT,
        NO_SHEET,
    ),
    Planted("KMeans on unscaled columns", _on(unveil.KMeans(3, random_state=0), unscaled), "describes", SUSPECT, SCALE),
    Planted(
        "KMeans on long groups",
        _on(unveil.KMeans(3, random_state=0), long_groups),
        "describes",
        SUSPECT,
        SCALE | {"shape"},
    ),
    Planted(
        "KMedoids on unscaled columns", _on(unveil.KMedoids(3, random_state=0), unscaled), "describes", SUSPECT, SCALE
    ),
    Planted(
        "KernelKMeans on unscaled columns",
        _on(unveil.KernelKMeans(3, random_state=0), unscaled),
        "describes",
        SUSPECT,
        SCALE,
    ),
)
