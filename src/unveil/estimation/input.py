"""From what users hand in (arrays, frames, scans, Dask collections, weights) to a source, with the right errors.

`RowsIn` says what rows may be for an estimator: numbers, zeros and ones, counts. Columns of words are `coded`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.validation import validate_data

from unveil.core.arrays import Array, Floats, Mask
from unveil.core.protocols import Block, Engine, Source
from unveil.core.result import State
from unveil.core.shared_pass import base_of, change_of
from unveil.estimation.columns import column_number
from unveil.estimation.looks import looked
from unveil.estimation.numbers import plain_numbers
from unveil.estimation.picking import Picked, picked
from unveil.estimation.plain_rows import PlainRows, is_finite, plain_source
from unveil.sources.array import ArraySource
from unveil.sources.binarized import Binarized
from unveil.sources.dask import DaskSource, is_dask
from unveil.sources.encoded import Within, encoded
from unveil.sources.rows import sample_rows
from unveil.sources.weighted import Weighted, with_weights

SAMPLE_CELLS = 1 << 22  # cells of the sample that starts are drawn from: 32 megabytes
SAMPLE_ROWS = 1 << 16
SAMPLE_ROWS_EACH = 64  # for each group at least


def as_source(
    estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1, missing: bool = False
) -> Source:
    """A source over `X`, checked; sets or checks `n_features_in_` and `feature_names_in_` of the estimator.

    Cells may be NaN if `missing` is true.
    """
    plain = plain_source(estimator, X, reset=reset, min_rows=min_rows)
    if plain is not None and is_finite(plain.rows):
        source: Source = plain
    elif callable(getattr(X, "read", None)) and hasattr(X, "n_columns"):
        source = X
        _check_names(estimator, source, reset)
    elif not isinstance(X, np.ndarray) and is_dask(X):
        source = looked("rows", X, lambda: DaskSource(X))
        _check_names(estimator, source, reset)
    else:
        taken = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan" if missing else True}
        rows = validate_data(estimator, plain_numbers(X), reset=reset, ensure_min_samples=min_rows, **taken)
        source = looked("rows", X, lambda: ArraySource(rows), missing)
    if reset and source.n_rows < min_rows:
        raise ValueError(f"X has {source.n_rows} rows; {type(estimator).__name__} needs at least {min_rows}")
    if sample_weight is None:
        return source
    weights = _weights_of(sample_weight)
    weighted = with_weights(source, np.full(source.n_rows, weights) if weights.ndim == 0 else weights)
    if not np.any(weights):
        raise ValueError("sample_weight must have a positive entry, got zeros only: no row would count")
    return weighted


# -- what is looked at no longer than it takes -------------------------------------------------------------------------
# Scikit-learn's checks of a table take a tenth of a millisecond, which is half of a fit to a small table and all of a
# question about one row. An array of floats needs no conversion; all else is left to scikit-learn, errors included.


def rows_in(
    estimator: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    reset: bool,
    min_rows: int = 1,
    missing: bool = False,
    finite: bool = True,
) -> Source:
    """A source over `X`; see `as_source`. Whether the cells of an array are finite is for the caller to find out.

    What is no array of floats yet is looked at cell by cell, unless `finite` is False.
    """
    plain = plain_source(estimator, X, reset=reset, min_rows=min_rows) if sample_weight is None else None
    if plain is not None:
        return plain
    with nullcontext() if finite else config_context(assume_finite=True):
        return as_source(estimator, X, sample_weight, reset=reset, min_rows=min_rows, missing=missing)


def _weights_of(sample_weight: Any) -> NDArray[np.float64]:
    weights = plain_numbers(np.asanyarray(sample_weight), "sample_weight")
    if weights.dtype.kind in "USc" or (weights.dtype.kind == "O" and any(isinstance(one, str) for one in weights.flat)):
        raise ValueError(f"sample_weight must be numbers, one for each row, got {weights.flat[0]!r}")
    try:
        return np.asarray(weights, dtype=np.float64)
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


def frame_of(source: Source, look: Callable[[Array], object] | None = None) -> NDArray[np.float64]:
    """The shift of the frame: the mean of the first partition with weight, near enough to that of all the data.

    Missing cells do not count; where a column has none there, the next partitions are asked. `look` is shown the rows.
    """
    shift = np.full(source.n_columns, np.nan)
    for block in _from_the_first(source):
        if look is not None:
            look(block.rows)
        rows = block.rows if block.weights is None else block.rows[block.weights > 0]
        unknown = np.isnan(shift)
        if len(rows) and unknown.any():
            shift[unknown] = _means(rows)[unknown]
        if not np.isnan(shift).any():
            break
    if not np.isfinite(shift).all():
        refuse_nonfinite(source, missing=True)  # infinities of both signs have no mean either
    if np.isnan(shift).any():
        refuse_empty_column(source, int(np.flatnonzero(np.isnan(shift))[0]))
    return shift


def _from_the_first(source: Source) -> Iterator[Block]:
    """The blocks of a source; the first of what is under its layers is read once for all that look at it."""
    base = base_of(source)
    first: Block | None = looked("first", base, lambda: next(iter(base.read()), None))
    if first is None:
        return
    change = change_of(source, first.start, first.start + len(first.rows))
    yield first if change is None else change(first)
    yield from islice(source.read(), 1, None)


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
    source: Source,
    seed: int,
    groups: int,
    most: int = SAMPLE_ROWS,
    missing: bool = False,
    least_each: int = SAMPLE_ROWS_EACH,
    engine: Engine | None = None,
) -> Picked:
    """Rows that the start of so many `groups` is drawn from, and their weights: all, or a sample of a large table."""
    size = min(source.n_rows, max(least_each * groups, min(most, SAMPLE_ROWS, SAMPLE_CELLS // source.n_columns)))
    chosen = np.arange(size) if size == source.n_rows else sample_rows(source.n_rows, size, seed)
    sample, weights = _rows_at(source, chosen, seed, engine)
    if not np.all(np.isfinite(sample)):
        refuse_nonfinite(source, missing)
    return sample, weights


def _rows_at(source: Source, chosen: NDArray[Any], seed: int, engine: Engine | None) -> Picked:
    """Rows by number, and their weights; `seed` and their count say which those are."""
    if isinstance(source, Weighted):  # rows are the same whatever their weights
        rows, weights = _rows_at(source.source, chosen, seed, engine)
        return rows, source.weights[chosen] if weights is None else source.weights[chosen] * weights
    if isinstance(source, Binarized):
        rows, weights = _rows_at(source.source, chosen, seed, engine)
        return source.mapping(0, len(rows))(Block(0, 0, rows)).rows, weights
    return looked("sample", source, lambda: picked(source, chosen, engine), seed, len(chosen))


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
    if is_finite(rows):
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


# -- what rows may be for an estimator ---------------------------------------------------------------------------------


def is_count(cells: Array) -> Mask:
    """0, 1, 2, ..."""
    return (cells >= 0) & (cells == np.floor(cells))


def is_yes_or_no(cells: Array) -> Mask:
    """0 or 1."""
    return (cells == 0) | (cells == 1)


def is_time(cells: Array) -> Mask:
    """From 0 on."""
    found: Mask = cells >= 0
    return found


SUPPORTS: dict[str, tuple[Callable[[Array], Mask], str]] = {
    "count": (is_count, "counts 0, 1, 2, ..."),
    "yes/no": (is_yes_or_no, "yes or no: truth values, zeros and ones, or two words"),
    "waiting time": (is_time, "times from 0 on"),
}
"""What a column that is taken for something may hold."""


class RowsIn(ABC):
    """How an estimator reads the rows that it is handed, and how it shows rows of its own."""

    missing: bool  # may cells be NaN?

    @abstractmethod
    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """`X` as rows of numbers, checked; what is learnt of the columns is set where `reset` is true."""

    def plain(self, estimator: Any) -> PlainRows | None:
        """How a fitted estimator takes arrays of ordinary numbers without a closer look, if it does."""
        known = vars(estimator)
        return None if "feature_names_in_" in known or "n_features_in_" not in known else self._plain(estimator)

    def _plain(self, estimator: Any) -> PlainRows | None:
        """The same of one whose columns have numbers, not names."""
        return None

    def known(self, estimator: Any, given: Any) -> dict[int, float]:
        """Cells that are given, by the number of their column: a mapping, or a row with NaN for what is not."""
        if isinstance(given, Mapping):
            columns = {column_number(estimator, name): value for name, value in given.items()}
            return {column: self.cell(estimator, column, value) for column, value in columns.items()}
        row, width = np.asarray(given, dtype=np.float64), estimator.n_features_in_
        if row.shape != (width,):
            raise ValueError(f"given must be a mapping, or a row of {width} cells, got shape {row.shape}")
        return {int(column): float(row[column]) for column in np.flatnonzero(~np.isnan(row))}

    def seen(self, estimator: Any, known: Mapping[int, float]) -> Floats:
        """The known cells as the family takes them, in a row of which the others are missing."""
        row = np.full((1, estimator.n_features_in_), np.nan)
        row[0, list(known)] = list(known.values())
        if np.count_nonzero(np.isfinite(row)) < len(known):
            raise ValueError(f"given must hold finite numbers, got {dict(known)}")
        return next(iter(self.view(ArraySource(row)).read())).rows[0]  # type: ignore[no-any-return]

    def cell(self, estimator: Any, column: int, value: Any) -> float:
        """A value of a column as the model knows it."""
        return float(value)

    def view(self, source: Source) -> Source:
        """Rows of numbers as the family takes them."""
        return source

    def shown(self, estimator: Any, rows: Floats) -> Any:
        """Rows of the model as the user knows them."""
        return rows


@final
@dataclass(frozen=True)
class Numbers(RowsIn):
    """Numbers as they are."""

    missing: bool = False

    def _plain(self, estimator: Any) -> PlainRows:
        """As they are."""
        return PlainRows(estimator.n_features_in_)

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """The table."""
        return as_source(estimator, X, sample_weight, reset=reset, min_rows=min_rows, missing=self.missing)


@final
@dataclass(frozen=True)
class ZerosAndOnes(RowsIn):
    """Numbers cut at a threshold, or checked to be zeros and ones where there is none."""

    threshold: float | None
    missing: bool = True

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """The table as zeros and ones."""
        return self.view(rows_in(estimator, X, sample_weight, reset=reset, min_rows=min_rows, missing=True))

    def view(self, source: Source) -> Source:
        """The rows as zeros and ones."""
        if self.threshold is not None:
            return Binarized(source, float(self.threshold))
        looked("zeros and ones", base_of(source), lambda: _refuse_all_but_bits(source))
        return source


def _refuse_all_but_bits(source: Source) -> None:
    for block in source.read():
        bad = np.argwhere((block.rows != 0) & (block.rows != 1) & ~np.isnan(block.rows))
        if len(bad):
            row, column = map(int, bad[0])
            got = f"got {block.rows[row, column]:g} at row {block.start + row}, column {column}"
            raise ValueError(f"X must hold zeros and ones only while binarize is None, {got}")


@final
@dataclass(frozen=True)
class Counts(RowsIn):
    """Counts only: an array is looked at at once, a file as it is read."""

    missing: bool = True

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """The table, or an error that names the first cell that is no count."""
        rows = rows_in(estimator, X, reset=reset, min_rows=min_rows, missing=True)
        names = getattr(estimator, "feature_names_in_", range(rows.n_columns))
        readers = tuple(Within(*SUPPORTS["count"], name) for name in names)
        source = looked("counts", rows, lambda: encoded(rows, readers, now=True), *names)
        return source if sample_weight is None else as_source(estimator, source, sample_weight, reset=False)

    def _plain(self, estimator: Any) -> PlainRows:
        """Counts as they are, none of them missing."""
        d = estimator.n_features_in_
        return PlainRows(d, (np.zeros(d), np.full(d, np.inf)), np.arange(d))

    def cell(self, estimator: Any, column: int, value: Any) -> float:
        """A count."""
        name = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))[column]
        return float(Within(*SUPPORTS["count"], name)(np.array([value], dtype=np.float64))[0])


NUMBERS, NUMBERS_WITH_GAPS, COUNTS = Numbers(), Numbers(missing=True), Counts()
