"""Projections of tables that have the directions, factors, classes, sources or curves that are asked for."""

from __future__ import annotations

import numpy as np

import unveil
from benchmarks.trust.healthy.case import Healthy, Shape, centres, drawn_from
from benchmarks.trust.planted.case import Fitted

CURVE_NOISE = 0.1


def plane(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """As many strong directions as are asked for, each its own strength, in round noise."""
    n, d, k = shape
    directions = np.linalg.qr(random.standard_normal((d, k)))[0]
    scores = random.standard_normal((n, k)) * (3.0 * 1.6 ** np.arange(k))
    return np.asarray(scores @ directions.T + random.standard_normal((n, d)))


def factors(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Each column has noise of its own size."""
    n, d, k = shape
    loadings = random.choice([-1.0, 1.0], (k, d)) * random.uniform(0.8, 1.6, (k, d))
    return np.asarray(
        random.standard_normal((n, k)) @ loadings + random.uniform(0.5, 1.0, d) * random.standard_normal((n, d))
    )


def sources(random: np.random.Generator, shape: Shape) -> np.ndarray:
    mixing = np.linalg.qr(random.standard_normal((shape.d, shape.d)))[0] * random.uniform(0.8, 1.2, shape.d)
    return np.asarray(random.laplace(size=(shape.n, shape.d)) @ mixing)


def curve(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """A bent line in so many columns."""
    along = random.uniform(-1.5, 1.5, shape.n)
    line = np.stack([np.sin(along + number) if number else along for number in range(shape.d)], axis=1)
    return np.asarray(line + CURVE_NOISE * random.standard_normal(line.shape))


def classes(n: int, d: int, k: int) -> Healthy:
    """Classes of one covariance."""

    def make() -> Fitted:
        random = np.random.default_rng([n, d, k])
        y = random.integers(0, k, n)
        shape = np.eye(d) + 0.3 * random.standard_normal((d, d)) / np.sqrt(d)
        X = 0.5 * centres(k, d)[y] + random.standard_normal((n, d)) @ shape
        return Fitted(unveil.LinearDiscriminantAnalysis().fit(X, y), X, {"y": y})

    return Healthy(f"LinearDiscriminantAnalysis, {Shape(n, d, k)}", make)


PLANES = ((50, 4, 1), (200, 6, 2), (300, 20, 3), (1000, 10, 3), (5000, 8, 2))
CASES = (
    *(drawn_from(unveil.PCA(k), plane, (n, d, k)) for n, d, k in (*PLANES, (50_000, 8, 2))),
    *(drawn_from(unveil.ProbabilisticPCA(k), plane, (n, d, k)) for n, d, k in PLANES),
    *(
        drawn_from(unveil.FactorAnalysis(k, random_state=0), factors, (n, d, k))
        for n, d, k in ((100, 6, 1), (300, 8, 2), (500, 12, 3), (2000, 10, 2), (10_000, 8, 1))
    ),
    *(classes(n, d, k) for n, d, k in ((60, 2, 2), (150, 4, 3), (500, 6, 2), (2000, 5, 4), (20_000, 3, 2))),
    *(
        drawn_from(unveil.ICA(random_state=0), sources, (n, d, d))
        for n, d in ((500, 2), (1000, 4), (3000, 3), (10_000, 5))
    ),
    *(drawn_from(unveil.PrincipalCurve(), curve, (n, d, 1)) for n, d in ((100, 2), (300, 3), (2000, 2))),
    *(
        drawn_from(unveil.GenerativeTopographicMap(1, random_state=0), curve, (n, d, 1))
        for n, d in ((200, 2), (500, 3), (2000, 3))
    ),
)
