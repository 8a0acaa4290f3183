"""How far rows are from each other: metrics as objects, and the matrix of all pairs.

A metric takes two tables and gives the dissimilarity of each row of the one to each of the other, in the precision of
the rows. Euclidean and Manhattan distances are our own kernels; all others are scikit-learn's. What a metric learns
from the data (variances, covariance) it learns once, so that new rows are measured by the same yardstick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Array
from unveil.numerics.jit import kernel

BLOCK_ROWS = 256  # rows of the matrix that are made at once
TILE_COLUMNS = 256  # columns of a tile: the sums of a row of it stay in the nearest cache
FEW_OTHERS = 16  # that hardly fill a vector register or two
EXPANDED_COLUMNS = 64  # from so many columns on, a matrix product and a few corrections beat plain differences
CANCELLING_SHARE = 1e-3  # below this share of the squared norms, the expanded square has lost too many digits
NEGATIVE_ROUNDING = 1e-9  # a negative dissimilarity of this share of the largest is rounding


Dissimilarity = Callable[[Array, Array], Array]  # of each row of one table to each of another


def euclidean(rows: Array, others: Array) -> Array:
    """Square root of the sum of squared differences.

    >>> euclidean(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[3.0, 4.0]])).ravel().tolist()
    [5.0, 4.0]
    """
    if rows.shape[1] < EXPANDED_COLUMNS:
        return _tiled(_roots, rows, others)
    shift = others.mean(axis=0, dtype=np.float64)
    x, y = rows - shift, others - shift
    out = np.empty((len(x), len(y)), rows.dtype)
    expanded(x, y, np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", y, y), x @ y.T, out)
    return out


def manhattan(rows: Array, others: Array) -> Array:
    """Sum of absolute differences."""
    return _tiled(_absolute, rows, others)


@dataclass(frozen=True)
class NamedMetric:
    """A metric of scikit-learn's ``pairwise_distances``, or a function of two rows."""

    metric: str | Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, rows: Array, others: Array) -> Array:
        """Dissimilarities, checked."""
        from sklearn.metrics import pairwise_distances
        from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

        kind = np.dtype(bool) if self.metric in PAIRWISE_BOOLEAN_FUNCTIONS else rows.dtype
        pair = (table.astype(kind, copy=False) for table in (rows, others))
        taken = {} if "nan" not in str(self.metric) else {"ensure_all_finite": "allow-nan"}
        found = np.asarray(pairwise_distances(*pair, metric=self.metric, **taken, **self.params), dtype=np.float64)
        return checked(found, f"metric {_named(self.metric)}").astype(rows.dtype, copy=False)


DIRECT: dict[str, Dissimilarity] = {
    "euclidean": euclidean,
    "l2": euclidean,
    "manhattan": manhattan,
    "cityblock": manhattan,
    "l1": manhattan,
}
LEARNED: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "seuclidean": ("V", lambda rows: np.var(rows, axis=0, ddof=1, dtype=np.float64)),
    "mahalanobis": ("VI", lambda rows: np.linalg.inv(np.atleast_2d(np.cov(rows.T, dtype=np.float64))).T),
}
"""Parameters of metrics that come from the data where they are not given, as scikit-learn has it."""


def learned(metric: Any, params: Mapping[str, Any] | None, rows: Callable[[], Array]) -> dict[str, Any]:
    """`params`, completed by what the metric takes from the data, which is asked for only then."""
    params = dict(params or {})
    name, learn = LEARNED.get(metric, (None, None)) if isinstance(metric, str) else (None, None)
    if name is not None and learn is not None and name not in params:
        params[name] = learn(rows())
    return params


def metric_of(metric: Any, params: Mapping[str, Any]) -> Dissimilarity:
    """The object that a name of scikit-learn's or a function stands for."""
    direct = DIRECT.get(metric) if isinstance(metric, str) and not params else None
    return NamedMetric(metric, params) if direct is None else direct


def checked(values: Array, name: str) -> Array:
    """`values`, if all are finite and none is negative but by rounding."""
    lowest, highest = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if not (np.isfinite(lowest) and np.isfinite(highest)):
        raise ValueError(f"{name} must have finite dissimilarities, got {values[~np.isfinite(values)][0]}")
    if lowest < -NEGATIVE_ROUNDING * highest:
        raise ValueError(f"{name} must have dissimilarities that are not negative, got {lowest:g}")
    return np.maximum(values, 0.0) if lowest < 0 else values


def matrix_tasks(metric: Dissimilarity, rows: Array, out: Array) -> Iterator[Callable[[], None]]:
    """Pieces of work that fill `out` with all pairs of `rows`, in any order or at once.

    Half of the pairs are measured and mirrored, so the matrix is symmetric to the bit.
    """
    return (partial(_fill, metric, rows, out, first) for first in range(0, len(rows), BLOCK_ROWS))


def _fill(metric: Dissimilarity, rows: Array, out: Array, first: int) -> None:
    """A block of rows from the diagonal on, and the columns that mirror it."""
    last = min(first + BLOCK_ROWS, len(rows))
    block = metric(rows[first:last], rows[first:])
    corner = block[:, : last - first]
    out[first:last, last:] = block[:, last - first :]
    out[last:, first:last] = block[:, last - first :].T
    out[first:last, first:last] = np.where(_below_diagonal(len(corner)), corner.T, corner)


@lru_cache(maxsize=8)
def _below_diagonal(size: int) -> NDArray[np.bool_]:
    """Where a square of at most `BLOCK_ROWS` is at or below its diagonal."""
    return np.tri(size, dtype=bool)


def _tiled(measure: Callable[..., None], rows: Array, others: Array, dtype: Any = None) -> Array:
    """A kernel on tiles of the columns, in float64, rounded to `dtype`, by default that of the rows.

    It runs along the others; where these are few, along the rows, which sees the same differences but for their sign.
    """
    if len(others) < FEW_OTHERS < len(rows):
        return np.ascontiguousarray(_tiled(measure, others, rows, rows.dtype).T)
    wide, out = np.ascontiguousarray(rows, dtype=np.float64), np.empty((len(rows), len(others)), dtype or rows.dtype)
    sums = np.empty(TILE_COLUMNS)
    for first in range(0, len(others), TILE_COLUMNS):
        turned = np.ascontiguousarray(others[first : first + TILE_COLUMNS].T, dtype=np.float64)
        measure(wide, turned, sums, out[:, first : first + TILE_COLUMNS])
    return out


def _named(metric: Any) -> str:
    return repr(metric) if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)


# -- the kernels, by differences: exact where the expanded square would cancel -----------------------------------------


@kernel
def _roots(rows: Any, turned: Any, sums: Any, out: Any) -> None:
    """Distance of each row to each column of `turned`: so laid out, the inner loop vectorises."""
    for i in range(len(rows)):
        for c in range(turned.shape[1]):
            sums[c] = 0.0
        for j in range(rows.shape[1]):
            for c in range(turned.shape[1]):
                gap = rows[i, j] - turned[j, c]
                sums[c] += gap * gap
        for c in range(turned.shape[1]):
            out[i, c] = np.sqrt(sums[c])


@kernel
def _absolute(rows: Any, turned: Any, sums: Any, out: Any) -> None:
    """Sum of absolute differences of each row to each column of `turned`."""
    for i in range(len(rows)):
        for c in range(turned.shape[1]):
            sums[c] = 0.0
        for j in range(rows.shape[1]):
            for c in range(turned.shape[1]):
                sums[c] += abs(rows[i, j] - turned[j, c])
        for c in range(turned.shape[1]):
            out[i, c] = sums[c]


@kernel
def expanded(rows: Any, others: Any, squares: Any, other_squares: Any, products: Any, out: Any) -> None:
    """Distances by ‖x‖² + ‖y‖² - 2 x·y, given the products; by differences where that cancels."""
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            both = squares[i] + other_squares[c]
            square = both - 2.0 * products[i, c]
            if not square > CANCELLING_SHARE * both:
                square = 0.0
                for j in range(rows.shape[1]):
                    gap = rows[i, j] - others[c, j]
                    square += gap * gap
            out[i, c] = np.sqrt(square)
