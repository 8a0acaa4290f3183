"""What may be handed in as rows, and how it is read: numbers, zeros and ones, counts. Columns of words are `coded`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Array, Floats, Mask
from unveil.core.protocols import Source
from unveil.estimation.columns import column_number
from unveil.estimation.input import as_source
from unveil.sources.array import ArraySource
from unveil.sources.binarized import Binarized
from unveil.sources.encoded import Within, encoded


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

    def known(self, estimator: Any, given: Any) -> dict[int, float]:
        """Cells that are given, by the number of their column: a mapping, or a row with NaN for what is not."""
        if isinstance(given, Mapping):
            columns = {column_number(estimator, name): value for name, value in given.items()}
            return {column: self.cell(estimator, column, value) for column, value in columns.items()}
        row = np.asarray(given, dtype=np.float64)
        if row.shape != (estimator.n_features_in_,):
            expected = estimator.n_features_in_
            raise ValueError(f"given must be a mapping, or a row of {expected} cells, got shape {row.shape}")
        return {int(column): float(row[column]) for column in np.flatnonzero(~np.isnan(row))}

    def seen(self, estimator: Any, known: Mapping[int, float]) -> Floats:
        """The known cells as the family takes them, in a row of which the others are missing."""
        row = np.full((1, estimator.n_features_in_), np.nan)
        row[0, list(known)] = list(known.values())
        if np.count_nonzero(np.isfinite(row)) < len(known):
            raise ValueError(f"given must hold finite numbers, got {dict(known)}")
        found: Floats = next(iter(self.view(ArraySource(row)).read())).rows[0]
        return found

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
        return self.view(as_source(estimator, X, sample_weight, reset=reset, min_rows=min_rows, missing=True))

    def view(self, source: Source) -> Source:
        """The rows as zeros and ones."""
        if self.threshold is not None:
            return Binarized(source, float(self.threshold))
        for block in source.read():
            bad = np.argwhere((block.rows != 0) & (block.rows != 1) & ~np.isnan(block.rows))
            if len(bad):
                row, column = map(int, bad[0])
                got = f"got {block.rows[row, column]:g} at row {block.start + row}, column {column}"
                raise ValueError(f"X must hold zeros and ones only while binarize is None, {got}")
        return source


@final
@dataclass(frozen=True)
class Counts(RowsIn):
    """Counts only: an array is looked at at once, a file as it is read."""

    missing: bool = True

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """The table, or an error that names the first cell that is no count."""
        source = as_source(estimator, X, reset=reset, min_rows=min_rows, missing=True)
        names = getattr(estimator, "feature_names_in_", range(source.n_columns))
        source = encoded(source, tuple(Within(*SUPPORTS["count"], name) for name in names), now=True)
        return source if sample_weight is None else as_source(estimator, source, sample_weight, reset=False)

    def cell(self, estimator: Any, column: int, value: Any) -> float:
        """A count."""
        name = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))[column]
        cells: NDArray[Any] = Within(*SUPPORTS["count"], name)(np.array([value], dtype=np.float64))
        return float(cells[0])


NUMBERS, NUMBERS_WITH_GAPS, COUNTS = Numbers(), Numbers(missing=True), Counts()
