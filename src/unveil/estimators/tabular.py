"""Mixtures of tables as users have them: words, yes and no, counts and numbers side by side.

The mixin turns any of these into rows of numbers for the families, and rows of numbers back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names, check_array

from unveil.core.protocols import Source
from unveil.estimators.columns import Codes, Column, codes_of, columns_of, kind_of
from unveil.estimators.table import as_source
from unveil.sources.array import ArraySource
from unveil.sources.encoded import Encoded
from unveil.sources.weighted import with_weights

Floats = NDArray[np.float64]
MANY = 1000  # values of a column beyond which it is hardly one of categories


class Tabular:
    """Mixin of the mixtures that take columns of any kind."""

    n_features_in_: int
    handle_unknown: str
    kinds_: list[str]
    categories_: list[Any]  # values of the columns of categories, sorted; None for the others

    def _kinds_for(self, natural: list[str]) -> list[str]:
        """What each column is taken for, given what its type says."""
        return natural

    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        found = columns_of(X)
        if reset:
            self.__dict__.pop("_fixed_family", None)
        if found is None:
            return self._numeric_source(X, sample_weight, reset, min_rows)
        columns, names = found
        _check_feature_names(self, X, reset=reset)
        if reset:
            self.n_features_in_ = len(columns)
            self.kinds_ = self._kinds_for([kind_of(column) for column in columns])
            self.categories_ = [self._values(column, kind) for column, kind in zip(columns, self.kinds_, strict=True)]
        if len(columns) != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(
                f"X has {len(columns)} features, but {name} is expecting {self.n_features_in_} features as input"
            )
        rows = np.stack([self._encode(j, column, names) for j, column in enumerate(columns)], axis=1)
        check_array(rows, ensure_all_finite="allow-nan", ensure_min_samples=min_rows, input_name="X")
        source: Source = ArraySource(rows)
        if sample_weight is None:
            return source
        return with_weights(source, np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), (len(rows),)).copy())

    def _numeric_source(self, X: Any, sample_weight: Any, reset: bool, min_rows: int) -> Source:
        """A table of numbers: columns of categories are looked up as the rows are read."""
        source = as_source(self, X, sample_weight, reset=reset, min_rows=min_rows, missing=True)
        if reset:
            self.kinds_ = self._kinds_for(self._natural_kinds(X, source))
            wanted = [kind == "category" for kind in self.kinds_]
            self.categories_ = _distinct(source, wanted) if any(wanted) else [None] * source.n_columns
        if all(values is None for values in self.categories_):
            return source
        known = tuple(None if one is None else np.asarray(one, dtype=np.float64) for one in self.categories_)
        return Encoded(source, known, self.handle_unknown == "error")

    @staticmethod
    def _natural_kinds(X: Any, source: Source) -> list[str]:
        kind = getattr(getattr(X, "dtype", None), "kind", "f")
        return [kind_of(column) for column in X.T] if kind in "iu" else ["number"] * source.n_columns

    @staticmethod
    def _values(column: Column, kind: str) -> Any:
        """Sorted values of a column that is to be coded."""
        coded = kind == "category" or (kind == "yes/no" and column.dtype.kind not in "biuf")
        return codes_of(column).values if coded else None

    def _encode(self, number: int, column: Column, names: list[str] | None) -> Floats:
        """A column as numbers."""
        values, name = self.categories_[number], number if names is None else names[number]
        if values is not None:
            return Codes(values).encode(column, name, self.handle_unknown)
        try:
            return np.array([np.nan if cell is None else float(cell) for cell in column.tolist()])
        except (TypeError, ValueError):
            kind = self.kinds_[number]
            raise ValueError(f"column {name!r} is taken for a {kind}, but holds cells that are not numbers") from None

    def _cell(self, column: int, value: Any) -> float:
        if self.categories_[column] is None:
            return float(value)
        cell = np.empty(1, dtype=object)
        cell[0] = value
        return float(Codes(np.asarray(self.categories_[column], dtype=object)).encode(cell, column, "error")[0])

    def _rows_out(self, rows: Floats) -> Any:
        """Numbers where all columns hold them, objects where words are among them."""
        if all(values is None for values in self.categories_):
            return rows
        out = np.empty(rows.shape, dtype=object)
        for number, values in enumerate(self.categories_):
            column = rows[:, number]
            out[:, number] = column if values is None else Codes(np.asarray(values, dtype=object)).decode(column)
        numeric = all(values is None or np.asarray(values).dtype.kind in "iuf" for values in self.categories_)
        return out.astype(np.float64) if numeric else out


def _distinct(source: Source, wanted: list[bool]) -> list[Any]:
    """Sorted numbers that occur in the columns that are wanted."""
    found: list[set[float]] = [set() for _ in wanted]
    for block in source.read():
        for column, seen in enumerate(found):
            if wanted[column]:
                cells = block.rows[:, column]
                seen.update(np.unique(cells[~np.isnan(cells)]).tolist())
                if len(seen) > MANY:
                    raise ValueError(f"column {column} has more than {MANY} different values: not one of categories")
    return [np.array(sorted(seen)) if want else None for seen, want in zip(found, wanted, strict=True)]
