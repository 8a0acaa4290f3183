"""Arrays of floats, which are taken as they are: scikit-learn's checks of a table take longer than a small fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.utils import check_array

from unveil.core.arrays import Array, Floats, Indices
from unveil.core.partition import count_of
from unveil.core.protocols import Block
from unveil.estimation.looks import looked
from unveil.estimation.numbers import plain_numbers, refuse_misread
from unveil.sources.array import ArraySource

FLOAT_TYPES = frozenset({np.dtype(np.float64), np.dtype(np.float32)})
NUMBER_TYPES = FLOAT_TYPES | {np.dtype(one) for one in (np.int64, np.int32, np.uint64, np.uint32)}
AT_HAND = ("auto", "threads")  # engines to which a block at hand need not be sent
LEAST = -float(np.finfo(np.float64).max)  # of what is finite


def plain_source(estimator: Any, X: Any, *, reset: bool, min_rows: int = 1) -> ArraySource | None:
    """A source over an array of numbers that could be taken as it is; None where somebody has to have a closer look.

    It sets or checks `n_features_in_` and `feature_names_in_`, as scikit-learn's `validate_data` does.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in NUMBER_TYPES:
        return None
    known, (n_rows, n_columns) = vars(estimator), X.shape
    if n_rows < min_rows or n_columns == 0:
        return None
    if reset:
        known.pop("feature_names_in_", None)
        estimator.n_features_in_ = n_columns
    elif "feature_names_in_" in known or known.get("n_features_in_") != n_columns:
        return None
    return _source_over(X)


def _source_over(X: Array) -> ArraySource:
    """A source over an array; one for all fits that are made side by side, so that they share their passes."""
    return looked("plain rows", X, lambda: ArraySource(X if X.dtype in FLOAT_TYPES else _as_floats(X)))


def _as_floats(whole: Array) -> Floats:
    """Whole numbers, none of which is rounded."""
    refuse_misread(whole)
    return whole.astype(np.float64)


def as_floats(X: Any, min_columns: int = 1) -> Array:
    """A table of finite floats: an array that is one as it is, all else as scikit-learn's `check_array` takes it."""
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOAT_TYPES and X.size > 0 and is_finite(X)
    if plain:
        return X  # type: ignore[no-any-return]
    checked: Array = check_array(plain_numbers(X), dtype=[np.float64, np.float32], ensure_min_features=min_columns)
    return checked


def is_finite(rows: Array) -> bool:
    """Whether all cells are finite; False also where their sum is beyond the largest number, and one has to look."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(rows, dtype=np.float64)))


@final
@dataclass(frozen=True, eq=False)
class PlainRows:
    """Arrays of ordinary numbers as a fitted estimator takes them: what it knows of its columns, made once.

    A cell of column j is in lowest[j] <= x < beyond[j], and whole where that is asked; sorted `values` of a column are
    replaced by their places.

    Examples
    --------
    >>> import numpy as np
    >>> codes = PlainRows(2, (np.zeros(2), np.array([3.0, np.inf])), np.array([0]), ((1, np.array([5.0, 7.0])),))
    >>> codes(np.array([[2, 7], [0, 5]])).rows.tolist(), codes(np.array([[3, 7]])), codes(np.array([[2, 6]]))
    ([[2.0, 1.0], [0.0, 0.0]], None, None)
    """

    n_columns: int
    bounds: tuple[Floats, Floats] | None = None  # lowest and beyond; None: any, whoever reads them looks for NaN
    whole: Indices | None = None  # columns of whole numbers
    values: tuple[tuple[int, Floats], ...] = ()

    def __call__(self, X: Any) -> ArraySource | None:
        """A source over `X`; None where somebody has to have a closer look."""
        if type(X) is not np.ndarray or X.ndim != 2 or X.shape[1] != self.n_columns or X.dtype not in NUMBER_TYPES:
            return None
        source = _source_over(X)
        rows: Array = source.rows
        if not len(rows) or not self._holds(rows):
            return None
        return ArraySource(self._coded(rows)) if self.values else source

    def _holds(self, rows: Array) -> bool:
        """Whether all cells are as they should be."""
        if self.bounds is not None and not ((rows >= self.bounds[0]) & (rows < self.bounds[1])).all():
            return False
        if self.whole is not None:
            cells = rows if len(self.whole) == self.n_columns else rows[:, self.whole]
            if not (np.floor(cells) == cells).all():
                return False
        return all(
            (values[np.minimum(np.searchsorted(values, rows[:, one]), len(values) - 1)] == rows[:, one]).all()
            for one, values in self.values
        )

    def _coded(self, rows: Array) -> Array:
        """Places of the values."""
        rows = rows.astype(np.float64)
        for one, values in self.values:
            rows[:, one] = np.searchsorted(values, rows[:, one])
        return rows


def block_at_hand(source: Any, engine: Any) -> Block | None:
    """The rows of an array as one block that the calling thread may as well see to; None for all else."""
    if type(source) is not ArraySource or engine not in AT_HAND or count_of(source) != 1:
        return None
    return Block(0, 0, *source.slice(0, source.n_rows))
