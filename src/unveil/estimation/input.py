"""From what users hand in (arrays, frames, scans, Dask collections, weights) to a source, with the right errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from unveil.core.protocols import Block, Source
from unveil.core.result import State
from unveil.sources.array import ArraySource
from unveil.sources.dask import DaskSource, is_dask
from unveil.sources.rows import sample_rows
from unveil.sources.weighted import with_weights

SAMPLE_CELLS = 1 << 22  # cells of the sample that starts are drawn from: 32 megabytes
SAMPLE_ROWS = 1 << 16


def as_source(
    estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1, missing: bool = False
) -> Source:
    """A source over `X`, checked; sets or checks `n_features_in_` and `feature_names_in_` of the estimator.

    Cells may be NaN if `missing` is true.
    """
    if callable(getattr(X, "read", None)) and hasattr(X, "n_columns"):
        source: Source = X
        _check_names(estimator, source, reset)
    elif not isinstance(X, np.ndarray) and is_dask(X):
        source = DaskSource(X)
        _check_names(estimator, source, reset)
    else:
        taken = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan" if missing else True}
        rows = validate_data(estimator, X, reset=reset, ensure_min_samples=min_rows, **taken)
        source = ArraySource(rows)
    if reset and source.n_rows < min_rows:
        raise ValueError(f"X has {source.n_rows} rows; {type(estimator).__name__} needs at least {min_rows}")
    if sample_weight is None:
        return source
    weights = _weights_of(sample_weight)
    weighted = with_weights(source, np.full(source.n_rows, weights) if weights.ndim == 0 else weights)
    if not np.any(weights):
        raise ValueError("sample_weight must have a positive entry, got zeros only: no row would count")
    return weighted


def _weights_of(sample_weight: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers, one for each row: {error}") from None


def _check_names(estimator: Any, source: Source, reset: bool) -> None:
    """What scikit-learn's `validate_data` does for frames, for sources."""
    name = type(estimator).__name__
    if reset:
        estimator.n_features_in_ = source.n_columns
        if source.names is not None:
            estimator.feature_names_in_ = np.array(source.names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    if source.n_columns != estimator.n_features_in_:
        taken = f"is expecting {estimator.n_features_in_} features as input"
        raise ValueError(f"X has {source.n_columns} features, but {name} {taken}")
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and source.names is not None and list(fitted) != list(source.names):
        raise ValueError(f"X has columns {list(source.names)}, but {name} was fitted on {list(fitted)}, in this order")


def frame_of(source: Source) -> NDArray[np.float64]:
    """The shift of the frame: the mean of the first partition with weight, near enough to that of all the data.

    Missing cells do not count; where a column has none there, the next partitions are asked.
    """
    shift = np.full(source.n_columns, np.nan)
    for block in source.read():
        rows = block.rows if block.weights is None else block.rows[block.weights > 0]
        unknown = np.isnan(shift)
        if len(rows) and unknown.any():
            shift[unknown] = _means(rows)[unknown]
        if not np.isnan(shift).any():
            break
    if np.isinf(shift).any():
        refuse_nonfinite(source, missing=True)
    if np.isnan(shift).any():
        refuse_nonfinite(source, missing=True)  # infinities of both signs have no mean either
        refuse_empty_column(source, int(np.flatnonzero(np.isnan(shift))[0]))
    return shift


def _means(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Mean of each column over the cells that are there; NaN where there are none."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite gets a better message
        plain: NDArray[np.float64] = np.mean(rows, axis=0, dtype=np.float64)
        if not np.isnan(plain).any():
            return plain
        there = ~np.isnan(rows)
        sums = np.where(there, rows, 0).sum(axis=0, dtype=np.float64)
        return np.where(there.any(axis=0), sums / np.maximum(there.sum(axis=0), 1), np.nan)


def refuse_empty_column(source: Source, column: int) -> None:
    """Raise a ValueError that says why a column has no mean."""
    if not any(block.weights is None or np.any(block.weights > 0) for block in source.read()):
        raise ValueError("X has no row of positive weight")
    where = f"column {column}" if source.names is None else f"column {source.names[column]!r}"
    raise ValueError(f"X has no value in {where}: all of its cells are missing")


def sample_of(
    source: Source, seed: int, groups: int, most: int = SAMPLE_ROWS, missing: bool = False
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Rows that the start of so many `groups` is drawn from, and their weights: all, or a sample of a large table."""
    size = min(source.n_rows, max(64 * groups, min(most, SAMPLE_ROWS, SAMPLE_CELLS // source.n_columns)))
    chosen = sample_rows(source.n_rows, size, seed)
    rows, weights = [], []
    for block in source.read():
        first, last = np.searchsorted(chosen, (block.start, block.start + len(block.rows)))
        here = chosen[first:last] - block.start
        rows.append(block.rows[here])
        if block.weights is not None:
            weights.append(block.weights[here])
    sample = np.concatenate(rows)
    if not np.all(np.isfinite(sample)):
        refuse_nonfinite(source, missing)
    return sample, np.concatenate(weights) if weights else None


def some_rows(source: Source, most: int = 1 << 14) -> NDArray[Any]:
    """Rows to get an idea of a table by: at even distances where that is cheap, else those of its first partition."""
    if not getattr(source, "random_access", False):
        return next(iter(source.read([0]))).rows[:most]
    every = -(-source.n_rows // most)
    return np.concatenate([block.rows[-block.start % every :: every] for block in source.read()])


def refuse_nonfinite(source: Source, missing: bool = False) -> None:
    """Raise a ValueError that names the first cell of `source` that is not finite; return if there is none."""
    for block in source.read():
        finite_rows(block, source.names, missing)


def finite_rows(block: Block, names: Sequence[str] | None = None, missing: bool = False) -> NDArray[Any]:
    """The rows of `block`, or a ValueError that names the first cell that is not finite, or not NaN if `missing`."""
    rows = block.rows
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(rows, dtype=np.float64)  # one number tells, unless the sum itself overflows
    if np.isfinite(total):
        return rows
    if not isinstance(rows, np.ndarray):  # compressed rows, which their source has checked
        return rows
    bad = np.argwhere(np.isinf(rows) if missing else ~np.isfinite(rows))
    if len(bad):
        row, column = map(int, bad[0])
        kind = "NaN" if np.isnan(rows[row, column]) else "infinity"
        where = f"column {column}" if names is None else f"column {names[column]!r}"
        taken = "finite numbers, or NaN for what is missing, are taken" if missing else "finite numbers are taken"
        raise ValueError(f"Input X contains {kind}: row {block.start + row}, {where}; {taken}")
    return rows


class FiniteGuard:
    """A callback that looks for the cell to blame as soon as a bound is not finite."""

    def __init__(self, source: Source, missing: bool = False) -> None:
        self.source, self.missing = source, missing

    def __call__(self, state: State) -> None:
        """Raise where the data is to blame."""
        if not np.isfinite(state.record.free_energy):
            refuse_nonfinite(self.source, self.missing)
