"""Tables as users have them: words, yes and no, counts and numbers side by side, coded as rows of numbers and back.

What is learnt of the columns at a fit, `kinds_` and `categories_`, lives on the estimator, for its users to see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.utils.validation import _check_feature_names, check_array

from unveil.core.arrays import Array, Floats
from unveil.core.declared import Declaration, Extent, LabelsOf, ListOf, OrNone, Word
from unveil.core.protocols import Source
from unveil.estimation.arrow_columns import CodedCells
from unveil.estimation.columns import Codes, Column, codes_of, column_number, columns_of, is_missing, numbers_of
from unveil.estimation.input import SUPPORTS, RowsIn, as_source, rows_in
from unveil.estimation.looks import looked
from unveil.estimation.plain_rows import LEAST, PlainRows
from unveil.estimation.registry import FAMILIES
from unveil.families.base import OWN
from unveil.sources.array import ArraySource
from unveil.sources.encoded import Lookup, Reader, Within, encoded

Kinds = Callable[[int, Callable[[], list[str]]], list[str]]
"""What the columns are taken for, by their number and by what their types say, which is asked for only if need be."""
Symbols = Callable[[Array, Any], Array]
"""Values of a column, from those that were seen and its name."""
RANGES = {"count": (0.0, np.inf, True), "yes/no": (0.0, 2.0, True), "waiting time": (0.0, np.inf, False)}
"""Of `SUPPORTS`: the lowest number that a column may hold, one beyond all, and whether they are whole."""
MOST_CATEGORIES = 1000  # different numbers in a column beyond which it is hardly one of categories


def all_categories(n_columns: int, natural: Callable[[], list[str]]) -> list[str]:
    """Every column is one of categories."""
    return ["category"] * n_columns


@final
@dataclass(frozen=True)
class Coded(RowsIn):
    """Columns of any kind."""

    kinds: Kinds
    handle_unknown: str
    missing: bool = True
    symbols: Symbols | None = None  # None: the values that were seen, of which there may be so many

    # -- rows in -------------------------------------------------------------------------------------------------------

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """Columns as numbers."""
        found = looked("columns", X, lambda: columns_of(X))
        before = _columns_known(estimator) if reset else ()
        if found is None:
            source = self._numeric_source(estimator, X, reset, min_rows)
        else:
            source = self._column_source(estimator, X, found, reset, min_rows)
        if reset and _columns_known(estimator) != before:
            estimator.__dict__.pop("_stream", None)  # of other columns: nothing to go on from
        return source if sample_weight is None else as_source(estimator, source, sample_weight, reset=False)

    def _plain(self, estimator: Any) -> PlainRows | None:
        """Numbers that were seen, those that are their own places as they are."""
        lowest, beyond = np.full(estimator.n_features_in_, LEAST), np.full(estimator.n_features_in_, np.inf)
        whole, listed = [], []
        for number, (values, kind) in enumerate(zip(estimator.categories_, estimator.kinds_, strict=True)):
            if values is None:
                lowest[number], beyond[number], counted = RANGES.get(kind, (LEAST, np.inf, False))
            elif not len(values) or np.asarray(values).dtype.kind not in "iuf":
                return None
            elif np.array_equal(values, np.arange(len(values))):
                lowest[number], beyond[number], counted = 0.0, float(len(values)), True
            else:
                listed.append((number, np.asarray(values, dtype=np.float64)))
                continue
            whole += [number] if counted else []
        return PlainRows(len(lowest), (lowest, beyond), np.array(whole) if whole else None, tuple(listed))

    def _column_source(
        self, estimator: Any, X: Any, found: tuple[list[Column], Any], reset: bool, min_rows: int
    ) -> Source:
        """Columns of words and numbers, coded here and now, or as they were for another fit to them."""
        columns, names = found
        _check_feature_names(estimator, X, reset=reset)
        if not columns or not len(columns[0].cells):
            check_array(np.empty((len(X), len(columns))), ensure_min_samples=min_rows, input_name="X")
        if reset:
            estimator.n_features_in_ = len(columns)
            estimator.kinds_ = self.kinds(len(columns), lambda: [column.kind for column in columns])
            triples = list(zip(columns, estimator.kinds_, _called(estimator, names), strict=True))
            taken = (tuple(estimator.kinds_), self.symbols)
            estimator.categories_ = looked("values", found, lambda: [self._values(*one) for one in triples], *taken)
        _check_count(estimator, len(columns))
        how = (tuple(estimator.kinds_), self.handle_unknown, min_rows, id(estimator.categories_))
        return looked("coded", found, lambda: self._coded(estimator, columns, names, min_rows), *how)

    def _coded(self, estimator: Any, columns: list[Column], names: Any, min_rows: int) -> Source:
        """The rows in numbers."""
        pairs = zip(columns, _called(estimator, names), strict=True)
        rows = np.stack([self._encode(estimator, j, one.cells, name) for j, (one, name) in enumerate(pairs)], axis=1)
        if all(column.cells.dtype == np.float32 for column in columns):
            rows = rows.astype(np.float32)
        finite: Any = "allow-nan" if self.missing else True
        check_array(rows, dtype=None, ensure_all_finite=finite, ensure_min_samples=min_rows, input_name="X")
        return ArraySource(rows, names=names)

    def _numeric_source(self, estimator: Any, X: Any, reset: bool, min_rows: int) -> Source:
        """A table of numbers: columns are looked at as the rows are read."""
        source = rows_in(estimator, X, reset=reset, min_rows=min_rows, missing=self.missing)
        names = _called(estimator, source.names)
        if reset:
            estimator.kinds_ = self.kinds(source.n_columns, lambda: natural_kinds(X, source))
            wanted = [kind == "category" for kind in estimator.kinds_]
            seen = _distinct(source, wanted, names, MOST_CATEGORIES if self.symbols is None else None)
            estimator.categories_ = [self._named(values, name) for values, name in zip(seen, names, strict=True)]
        readers = tuple(self._reader(estimator, j, name) for j, name in enumerate(names))
        return encoded(source, readers, now=not isinstance(X, np.memmap))

    def _named(self, seen: Array | None, name: Any) -> Any:
        """Values of a column, from those that were seen."""
        return seen if seen is None or self.symbols is None else self.symbols(seen, name)

    def _values(self, column: Column, kind: str, name: Any) -> Any:
        """Sorted values of a column that is to be coded."""
        if kind == "category":
            return self._named(codes_of(column.cells, name).values, name)
        if kind != "yes/no" or column.kind != "category":
            return None
        values = codes_of(column.cells, name).values
        if len(values) > 2:
            raise ValueError(f"column {name!r} must hold {SUPPORTS[kind][1]}, got {len(values)} values")
        return values

    def _encode(self, estimator: Any, number: int, cells: Array | CodedCells, name: Any) -> Floats:
        """A column as numbers."""
        values, kind = estimator.categories_[number], estimator.kinds_[number]
        if values is not None:
            return Codes(np.asarray(values, dtype=object)).encode(cells, name, self.handle_unknown)
        try:
            numbers = numbers_of(cells)
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r} is taken for a {kind}, but holds cells that are not numbers") from None
        if kind in SUPPORTS:
            Within(*SUPPORTS[kind], name)(numbers)
        return numbers

    def _reader(self, estimator: Any, number: int, name: Any) -> Reader | None:
        """What reads a column of a table of numbers."""
        values, kind = estimator.categories_[number], estimator.kinds_[number]
        if values is None:
            return Within(*SUPPORTS[kind], name) if kind in SUPPORTS else None
        try:
            known = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r} holds numbers, but words such as {values[0]!r} at fit time") from None
        return Lookup(known, self.handle_unknown == "error", name)

    # -- rows out ------------------------------------------------------------------------------------------------------

    def known(self, estimator: Any, given: Any) -> dict[int, float]:
        """Cells that are given, by the number of their column."""
        if isinstance(given, Mapping):
            columns = {column_number(estimator, name): value for name, value in given.items()}
            return {column: self.cell(estimator, column, value) for column, value in columns.items()}
        cells = list(given)
        if len(cells) != estimator.n_features_in_:
            expected = estimator.n_features_in_
            raise ValueError(f"given must be a mapping, or a row of {expected} cells, got {len(cells)} cells")
        pairs = ((number, cell) for number, cell in enumerate(cells) if not is_missing(cell))
        return {number: self.cell(estimator, number, cell) for number, cell in pairs}

    def cell(self, estimator: Any, column: int, value: Any) -> float:
        """A value of a column as the model knows it."""
        name = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))[column]
        if is_missing(value):
            raise ValueError(f"given must hold a value for column {name!r}, got {value!r}")
        cell = np.empty(1, dtype=object)
        cell[0] = value
        values = estimator.categories_[column]
        if values is None:
            return float(self._encode(estimator, column, cell, name)[0])
        return float(Codes(np.asarray(values, dtype=object)).encode(cell, name, "error")[0])

    def shown(self, estimator: Any, rows: Floats) -> Any:
        """Numbers where all columns hold them, objects where words are among them."""
        categories = estimator.categories_
        if all(values is None for values in categories):
            return rows
        out = np.empty(rows.shape, dtype=object)
        for number, values in enumerate(categories):
            column = rows[:, number]
            out[:, number] = column if values is None else Codes(np.asarray(values, dtype=object)).decode(column)
        numeric = all(values is None or np.asarray(values).dtype.kind in "iuf" for values in categories)
        return out.astype(np.float64) if numeric else out


def _columns_known(estimator: Any) -> tuple[Any, ...]:
    """What is known of the columns, to be compared."""
    values = getattr(estimator, "categories_", [])
    return list(getattr(estimator, "kinds_", [])), [None if one is None else list(one) for one in values]


def _check_count(estimator: Any, n_columns: int) -> None:
    if n_columns != estimator.n_features_in_:
        taken = f"{type(estimator).__name__} is expecting {estimator.n_features_in_} features as input"
        raise ValueError(f"X has {n_columns} features, but {taken}")


def _called(estimator: Any, names: tuple[str, ...] | None) -> list[Any]:
    """Names or numbers of the columns, for messages."""
    return list(range(estimator.n_features_in_) if names is None else names)


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


def _distinct(source: Source, wanted: list[bool], names: list[Any], most: int | None) -> list[Array | None]:
    """Sorted numbers that occur in the columns that are wanted; more than `most` are an error."""
    found = [np.empty(0)] * len(wanted)
    chosen = [column for column, want in enumerate(wanted) if want]
    for block in source.read() if chosen else ():
        for column in chosen:
            cells = block.rows[:, column]
            found[column] = np.union1d(found[column], cells[~np.isnan(cells)].astype(np.float64))
            if most is not None and len(found[column]) > most:
                name = names[column]
                raise ValueError(f"column {name!r} has more than {most} different numbers: not one of categories")
    return [seen if want else None for seen, want in zip(found, wanted, strict=True)]


def declared_columns(n_columns: Extent) -> Declaration:
    """What columns are taken for, and the values of those that are coded, as a file must have them."""
    yield "kinds_", ListOf(Word((*FAMILIES, OWN)), list, n_columns)
    yield "categories_", ListOf(OrNone(LabelsOf(None)), list, n_columns)
