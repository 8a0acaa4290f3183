"""Tables with missing cells, and the likelihood of a factor model, cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

Floats = NDArray[np.float64]


def table(n: int = 400, d: int = 7, q: int = 2, holes: float = 0.2, seed: int = 0) -> Floats:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n, q)) @ draw.normal(size=(q, d)) * 2.0 + draw.normal(size=(n, d)) * 0.5 + 3.0
    return np.where(draw.random((n, d)) < holes, np.nan, rows)


def log_likelihood(model: Any, X: Floats, weights: Floats | None = None) -> float:
    """By the marginal of the cells of each row."""
    covariance, total = model.get_covariance(), 0.0
    for row, weight in zip(X, np.ones(len(X)) if weights is None else weights, strict=True):
        o = ~np.isnan(row)
        if o.any():
            total += weight * multivariate_normal(model.mean_[o], covariance[np.ix_(o, o)]).logpdf(row[o])
    return float(total)
