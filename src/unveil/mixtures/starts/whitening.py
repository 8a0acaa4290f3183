"""Units in which all directions of the data have the same spread."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from unveil.core.arrays import Floats

MANY_COLUMNS = 64  # from which a Cholesky factor takes a tenth of the time of singular values
LEAST_PIVOT = 1e-4  # of the factor of a correlation matrix, whose pivots are otherwise not to be trusted


def whitening(points: Floats, weights: Floats | None) -> Floats:
    """A matrix after which the points have unit spread in every direction that has any.

    Turned or not is the same to those who go by distances.
    """
    shares = np.ones(len(points)) if weights is None else weights
    middle = shares @ points / shares.sum()
    centred = (points - middle) * np.sqrt(shares / shares.sum())[:, None]
    found = _by_cholesky(centred) if len(points) > points.shape[1] >= MANY_COLUMNS else None
    if found is not None:
        return found
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    used = singular > 1e-10 * max(float(singular.max(initial=0.0)), 1e-300)
    return np.ascontiguousarray((directions[used] / singular[used, None]).T) if used.any() else np.eye(points.shape[1])


def _by_cholesky(centred: Floats) -> Floats | None:
    """From the correlations of the columns; None where these are too nearly dependent."""
    units = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    if not np.all((units > 0) & np.isfinite(units)):
        return None
    scaled = centred / units
    factor, failed = lapack.dpotrf(scaled.T @ scaled, lower=1, clean=1)
    if failed or not factor.diagonal().min() > LEAST_PIVOT:
        return None
    return np.ascontiguousarray(lapack.dtrtri(factor, lower=1)[0].T / units[:, None])
