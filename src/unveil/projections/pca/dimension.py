"""How many principal components: Minka's approximation to the evidence (Automatic choice of dimensionality, 2000)."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from unveil.core.arrays import Floats


def minka_dimension(values: Floats, n_rows: float) -> int:
    """The dimension of greatest evidence, given all eigenvalues of the covariance, falling."""
    evidences = [_evidence(values, rank, n_rows) for rank in range(1, len(values))]
    return int(np.argmax([-np.inf, *evidences])) if evidences else len(values)


def _evidence(values: Floats, rank: int, n_rows: float) -> float:
    """Log-evidence of `rank` signal directions, up to a constant (Minka's equations 76 and 78)."""
    n_columns = len(values)
    if values[rank - 1] < 1e-15:
        return -np.inf
    sizes = (n_columns - np.arange(rank)) / 2.0
    manifold = -rank * np.log(2.0) + np.sum(gammaln(sizes) - np.log(np.pi) * sizes)
    signal = -0.5 * n_rows * np.sum(np.log(values[:rank]))
    noise = max(float(np.mean(values[rank:])), 1e-15)
    residual = -0.5 * n_rows * np.log(noise) * (n_columns - rank)
    free = n_columns * rank - rank * (rank + 1.0) / 2.0
    volume = 0.5 * np.log(2.0 * np.pi) * (free + rank)
    spectrum = np.concatenate([values[:rank], np.full(n_columns - rank, noise)])
    curvature = 0.0
    for i in range(rank):
        later = slice(i + 1, n_columns)
        gaps = (values[i] - values[later]) * (1.0 / spectrum[later] - 1.0 / spectrum[i])
        with np.errstate(divide="ignore"):
            curvature += float(np.sum(np.log(gaps) + np.log(n_rows)))
    return float(manifold + signal + residual + volume - 0.5 * curvature - 0.5 * rank * np.log(n_rows))
