"""Routes to the principal components: moments and an eigenproblem, or a singular value decomposition of the rows.

With the centred rows Xc = U S V', the covariance is V (S^2 / (n - 1)) V': both routes meet in the same directions. The
covariance takes one streamed pass over any source. The SVD needs the rows in memory; in return it resolves directions
whose variance is below the rounding of the largest, and its truncated forms (Lanczos; Halko, Martinsson & Tropp 2011)
are cheap when few components of a wide table are wanted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import svds
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd, svd_flip

from unveil.core.protocols import Engine, Source
from unveil.estimators.table import frame_of, refuse_nonfinite
from unveil.models.moments import MomentsStep, moments

Floats = NDArray[np.float64]
ROUNDING = 8 * float(np.finfo(np.float64).eps)


class Spectrum(NamedTuple):
    """Variances along components, falling, with what is needed to put them in proportion."""

    values: Floats
    components: Floats  # (count, columns)
    total: float  # variance over all directions
    mean: Floats
    weight: float
    limit: int  # directions that the data can have variance in

    @property
    def degrees(self) -> float:
        """Divisor of the scatter."""
        return degrees(self.weight)


def by_covariance(engine: Engine, source: Source) -> Spectrum:
    """All components, from one pass of moments."""
    shift = frame_of(source)
    statistics, _ = engine.map_reduce(MomentsStep(shift), source, None)
    if not np.all(np.isfinite(statistics["products"])):
        refuse_nonfinite(source)
    weight, mean, scatter = moments(statistics, shift)
    values, vectors = linalg.eigh(scatter / degrees(weight))
    limit = min(max(source.n_rows, int(weight)), source.n_columns)
    values, components = np.maximum(values[::-1], 0.0)[:limit], _signed(vectors.T[::-1])
    components = _completed(components[:limit], values, ROUNDING * source.n_columns)
    return Spectrum(values, components, float(values.sum()), mean, weight, limit)


def by_svd(rows: NDArray[Any]) -> Spectrum:
    """All components, from a full decomposition."""
    mean = np.asarray(np.mean(rows, axis=0, dtype=np.float64))
    _, singular, components = linalg.svd(rows - mean, full_matrices=False, check_finite=False)
    values = singular**2 / degrees(len(rows))
    components = _completed(_signed(components), singular, ROUNDING * max(rows.shape))
    return Spectrum(values, components, float(values.sum()), mean, float(len(rows)), len(values))


def by_lanczos(rows: NDArray[Any], count: int, tol: float, random_state: Any) -> Spectrum:
    """The first `count` components, by ARPACK."""
    mean = np.asarray(np.mean(rows, axis=0, dtype=np.float64))
    centred = rows - mean
    start = check_random_state(random_state).uniform(-1, 1, min(rows.shape))
    _, singular, components = svds(centred, k=count, tol=tol, v0=start)
    return _truncated(centred, mean, singular[::-1], components[::-1])


def by_random_projection(rows: NDArray[Any], count: int, random_state: Any, **options: Any) -> Spectrum:
    """The first `count` components, by a randomised range finder."""
    mean = np.asarray(np.mean(rows, axis=0, dtype=np.float64))
    centred = rows - mean
    _, singular, components = randomized_svd(centred, count, random_state=random_state, flip_sign=False, **options)
    return _truncated(centred, mean, singular, components)


def _truncated(centred: Floats, mean: Floats, singular: Floats, components: Floats) -> Spectrum:
    n_rows, n_columns = centred.shape
    total = float(np.sum(centred**2)) / degrees(n_rows)
    values = singular**2 / degrees(n_rows)
    return Spectrum(values, _signed(components), total, mean, float(n_rows), min(n_rows, n_columns))


def degrees(weight: float) -> float:
    """Divisor of the scatter: one less than the number of rows, but never nothing."""
    return max(weight - 1.0, 1.0) if weight > 1.0 else weight


def _signed(components: Floats) -> Floats:
    """Components with the largest entry of each positive, so that signs do not depend on the route."""
    return np.asarray(svd_flip(None, components, u_based_decision=False)[1])


def _completed(components: Floats, sizes: Floats, tolerance: float) -> Floats:
    """Components whose size is mere rounding replaced by directions that depend on the others alone.

    Any basis of the directions without variance would do; this one is the same by every route: the axis that is
    furthest from what is there already, made orthogonal to it, again and again.
    """
    rank = int(np.count_nonzero(sizes > tolerance * sizes.max(initial=0.0)))
    basis = components.copy()
    for place in range(rank, len(basis)):
        known = basis[:place]
        axis = int(np.argmax(np.round(1.0 - np.sum(known**2, axis=0), 9)))
        direction = np.eye(1, basis.shape[1], axis)[0]
        for _ in range(2):  # once more: the first time leaves rounding of the size of what was taken off
            direction -= (known @ direction) @ known
        basis[place] = direction / np.linalg.norm(direction)
    return basis
