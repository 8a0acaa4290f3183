"""Mixtures of tables as users have them: words, yes and no, counts and numbers side by side.

The mixin turns any of these into rows of numbers for the families, and rows of numbers back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names, check_array

from unveil.core.arrays import Array, Floats
from unveil.core.protocols import Source
from unveil.estimation.columns import Codes, Column, codes_of, columns_of, is_missing, numbers_of
from unveil.estimation.input import as_source
from unveil.sources.array import ArraySource
from unveil.sources.encoded import Lookup, Reader, Within, encoded

MANY = 1000  # different numbers in a column beyond which it is hardly one of categories


def is_count(cells: Array) -> NDArray[np.bool_]:
    """0, 1, 2, ..."""
    return (cells >= 0) & (cells == np.floor(cells))


def is_yes_or_no(cells: Array) -> NDArray[np.bool_]:
    """0 or 1."""
    return (cells == 0) | (cells == 1)


def is_time(cells: Array) -> NDArray[np.bool_]:
    """From 0 on."""
    found: NDArray[np.bool_] = cells >= 0
    return found


SUPPORTS: dict[str, tuple[Callable[[Array], NDArray[np.bool_]], str]] = {
    "count": (is_count, "counts 0, 1, 2, ..."),
    "yes/no": (is_yes_or_no, "yes or no: truth values, zeros and ones, or two words"),
    "waiting time": (is_time, "times from 0 on"),
}
"""What a column that is taken for something may hold."""


class Tabular:
    """Mixin of the mixtures that take columns of any kind."""

    n_features_in_: int
    handle_unknown: str
    _takes_missing: bool
    kinds_: list[str]
    categories_: list[Any]  # values of the columns of categories, sorted; None for the others

    def _kinds_for(self, n_columns: int, natural: Callable[[], list[str]]) -> list[str]:
        """What each column is taken for; `natural` tells what its type says."""
        return natural()

    # -- rows in -------------------------------------------------------------------------------------------------------

    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        found = columns_of(X)
        before = self._columns_known() if reset else ()
        if found is None:
            source = self._numeric_source(X, reset, min_rows)
        else:
            source = self._column_source(X, *found, reset, min_rows)
        if reset and self._columns_known() != before:
            self.__dict__.pop("_stream", None)  # of other columns: nothing to go on from
        return source if sample_weight is None else as_source(self, source, sample_weight, reset=False)

    def _columns_known(self) -> tuple[Any, ...]:
        """What is known of the columns, to be compared."""
        values = getattr(self, "categories_", [])
        return list(getattr(self, "kinds_", [])), [None if one is None else list(one) for one in values]

    def _column_source(
        self, X: Any, columns: list[Column], names: tuple[str, ...] | None, reset: bool, min_rows: int
    ) -> Source:
        """Columns of words and numbers, coded here and now."""
        _check_feature_names(self, X, reset=reset)
        if not columns or not len(columns[0].cells):
            check_array(np.empty((len(X), len(columns))), ensure_min_samples=min_rows, input_name="X")
        if reset:
            self.n_features_in_ = len(columns)
            self.kinds_ = self._kinds_for(len(columns), lambda: [column.kind for column in columns])
            called = self._called(names)
            self.categories_ = [self._values(*one) for one in zip(columns, self.kinds_, called, strict=True)]
        self._check_count(len(columns))
        pairs = zip(columns, self._called(names), strict=True)
        rows = np.stack([self._encode(j, column.cells, name) for j, (column, name) in enumerate(pairs)], axis=1)
        if all(column.cells.dtype == np.float32 for column in columns):
            rows = rows.astype(np.float32)
        finite: Any = "allow-nan" if self._takes_missing else True
        check_array(rows, dtype=None, ensure_all_finite=finite, ensure_min_samples=min_rows, input_name="X")
        return ArraySource(rows, names=names)

    def _numeric_source(self, X: Any, reset: bool, min_rows: int) -> Source:
        """A table of numbers: columns are looked at as the rows are read."""
        source = as_source(self, X, reset=reset, min_rows=min_rows, missing=self._takes_missing)
        if reset:
            self.kinds_ = self._kinds_for(source.n_columns, lambda: natural_kinds(X, source))
            wanted = [kind == "category" for kind in self.kinds_]
            self.categories_ = _distinct(source, wanted, self._called(source.names))
        readers = tuple(self._reader(j, name) for j, name in enumerate(self._called(source.names)))
        return encoded(source, readers, now=not isinstance(X, np.memmap))

    def _check_count(self, n_columns: int) -> None:
        if n_columns != self.n_features_in_:
            taken = f"{type(self).__name__} is expecting {self.n_features_in_} features as input"
            raise ValueError(f"X has {n_columns} features, but {taken}")

    def _called(self, names: tuple[str, ...] | None) -> list[Any]:
        """Names or numbers of the columns, for messages."""
        return list(range(self.n_features_in_) if names is None else names)

    @staticmethod
    def _values(column: Column, kind: str, name: Any) -> Any:
        """Sorted values of a column that is to be coded."""
        if kind == "category":
            return codes_of(column.cells, name).values
        if kind != "yes/no" or column.kind != "category":
            return None
        values = codes_of(column.cells, name).values
        if len(values) > 2:
            raise ValueError(f"column {name!r} must hold {SUPPORTS[kind][1]}, got {len(values)} values")
        return values

    def _encode(self, number: int, cells: NDArray[Any], name: Any) -> Floats:
        """A column as numbers."""
        values, kind = self.categories_[number], self.kinds_[number]
        if values is not None:
            return Codes(np.asarray(values, dtype=object)).encode(cells, name, self.handle_unknown)
        try:
            numbers = numbers_of(cells)
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r} is taken for a {kind}, but holds cells that are not numbers") from None
        if kind in SUPPORTS:
            Within(*SUPPORTS[kind], name)(numbers)
        return numbers

    def _reader(self, number: int, name: Any) -> Reader | None:
        """What reads a column of a table of numbers."""
        values, kind = self.categories_[number], self.kinds_[number]
        if values is None:
            return Within(*SUPPORTS[kind], name) if kind in SUPPORTS else None
        try:
            known = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r} holds numbers, but words such as {values[0]!r} at fit time") from None
        return Lookup(known, self.handle_unknown == "error", name)

    # -- rows out ------------------------------------------------------------------------------------------------------

    def _known(self, given: Any) -> dict[int, float]:
        if isinstance(given, Mapping):
            return {self._column(name): self._cell(self._column(name), value) for name, value in given.items()}  # type: ignore[attr-defined]
        cells = list(given)
        if len(cells) != self.n_features_in_:
            expected = self.n_features_in_
            raise ValueError(f"given must be a mapping, or a row of {expected} cells, got {len(cells)} cells")
        return {number: self._cell(number, cell) for number, cell in enumerate(cells) if not is_missing(cell)}

    def _cell(self, column: int, value: Any) -> float:
        name = getattr(self, "feature_names_in_", range(self.n_features_in_))[column]
        if is_missing(value):
            raise ValueError(f"given must hold a value for column {name!r}, got {value!r}")
        cell = np.empty(1, dtype=object)
        cell[0] = value
        if self.categories_[column] is None:
            return float(self._encode(column, cell, name)[0])
        return float(Codes(np.asarray(self.categories_[column], dtype=object)).encode(cell, name, "error")[0])

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


def natural_kinds(X: Any, source: Source) -> list[str]:
    """What the columns of a table of numbers are by the type that they were stored as."""
    words = _stored_as(X, source)
    whole = [word == "integer" for word in words]
    least = np.full(source.n_columns, np.inf)
    for block in source.read() if any(whole) else ():
        least = np.fmin(least, np.fmin.reduce(block.rows, axis=0, initial=np.inf))
    kinds = {"yes/no": "yes/no", "integer": "count"}
    return [kinds.get(word, "number") if low >= 0 else "number" for word, low in zip(words, least, strict=True)]


def _stored_as(X: Any, source: Source) -> list[str]:
    """A word for the type of each column: of a scan, of a Dask frame, of an array."""
    if hasattr(X, "schema") and hasattr(X, "files"):
        words, names = dict(X.schema()), X.names
        if names is None:  # of an array in a file, which is of one type
            return [next(iter(words.values()))] * source.n_columns
        return [words[name] for name in names]
    types = list(X.dtypes) if hasattr(X, "dtypes") else [getattr(X, "dtype", None)] * source.n_columns
    letters = {"b": "yes/no", "i": "integer", "u": "integer"}
    return [letters.get(getattr(one, "kind", "f"), "number") for one in types]


def _distinct(source: Source, wanted: list[bool], names: list[Any]) -> list[Any]:
    """Sorted numbers that occur in the columns that are wanted."""
    found: list[set[float]] = [set() for _ in wanted]
    chosen = [column for column, want in enumerate(wanted) if want]
    for block in source.read() if chosen else ():
        for column in chosen:
            cells = block.rows[:, column]
            found[column].update(np.unique(cells[~np.isnan(cells)]).tolist())
            if len(found[column]) > MANY:
                name = names[column]
                raise ValueError(f"column {name!r} has more than {MANY} different numbers: not one of categories")
    return [np.array(sorted(seen)) if want else None for seen, want in zip(found, wanted, strict=True)]
