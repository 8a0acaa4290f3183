"""Columns of any table as figures take them: frames of pandas and polars, Arrow tables, mappings and arrays alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Array, Floats, Mask
from unveil.estimation.columns import Column, codes_of, columns_of, is_missing, numbers_of
from unveil.plot.labels import LONGEST_LABEL, label, plain

NUMBERS = ("number", "count")


class PlotColumn(NamedTuple):
    """A column: its name, what it is ("number", "count", "yes/no", "category"), its cells as numbers or codes, NaN
    where missing, and what the codes stand for."""

    name: str
    kind: str
    values: Floats
    levels: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether distances between its values mean something."""
        return self.kind in NUMBERS

    @property
    def missing(self) -> Mask:
        """Cells that hold nothing."""
        return np.isnan(self.values)

    def said(self, row: int) -> str:
        """A cell for people, as a figure may show it.

        >>> PlotColumn("colour", "category", np.array([1.0]), ("red", "<b>")).said(0)
        '&lt;b&gt;'
        """
        value = self.values[row]
        if np.isnan(value):
            return "missing"
        return label(self.levels[int(value)], 24) if self.levels else short_number(float(value))


def plot_columns(X: Any, names: Sequence[Any] | None = None) -> list[PlotColumn]:
    """The columns of a table, by name or, where they have none, by number from 1.

    >>> [(one.name, one.kind, one.levels) for one in plot_columns({"a": [1.5, None], "b": ["x", "y"]})]
    [('a', 'number', ()), ('b', 'category', ('x', 'y'))]
    """
    found, own = _cells(X)
    if found and len({len(column.cells) for column in found}) > 1:
        raise ValueError("X must have columns of one length")
    given = names if names is not None else own
    if given is None:
        given = [f"column {number + 1}" for number in range(len(found))]
    if len(given) != len(found):
        raise ValueError(f"names must hold {len(found)} names, one a column; got {len(given)}")
    return [_coded(str(name), column) for name, column in zip(given, found, strict=True)]


def _cells(X: Any) -> tuple[list[Column], Sequence[str] | None]:
    """Cells and kinds of all columns, and their names if they have some."""
    if hasattr(X, "column_names") and hasattr(X, "itercolumns"):  # an Arrow table
        return [_from_arrow(column) for column in X.itercolumns()], list(X.column_names)
    if isinstance(X, Mapping):
        columns = [_single(cells) for cells in X.values()]
        return columns, [str(name) for name in X]
    found = columns_of(X)
    if found is not None:
        return found
    table = np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {table.shape}")
    return [Column(cells, "number") for cells in np.asarray(table, dtype=np.float64).T], None


def _single(cells: Any) -> Column:
    """A column that stands alone; whole numbers are numbers here, as nobody said that they count something."""
    array = np.asarray(cells)
    if array.dtype.kind in "fiu":
        return Column(array.astype(np.float64), "number")
    own = np.array([None if is_missing(cell) else cell for cell in list(cells)], dtype=object)
    found = columns_of(own[:, None])
    return found[0][0] if found is not None else Column(own, "category")


def _from_arrow(column: Any) -> Column:
    """By its type: truth values are yes or no, whole numbers counts, other numbers numbers, all else categories."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        word = "yes/no" if pa.types.is_boolean(kind) else "number" if pa.types.is_floating(kind) else "count"
        return Column(np.asarray(numbers, dtype=np.float64), word)
    cells = np.empty(len(column), dtype=object)
    cells[:] = column.to_pylist()
    return Column(cells, "category")


def _coded(name: str, column: Column) -> PlotColumn:
    if column.kind in NUMBERS:
        return PlotColumn(name, column.kind, numbers_of(column.cells))
    if column.kind == "yes/no":
        return PlotColumn(name, column.kind, numbers_of(column.cells), ("no", "yes"))
    codes = codes_of(column.cells, name)
    return PlotColumn(
        name, "category", codes.encode(column.cells, name, "missing"), tuple(str(one) for one in codes.values)
    )


def coded_groups(labels: Any, n_rows: int, argument: str = "labels") -> tuple[Array, Array]:
    """Distinct labels, sorted, and the place of each row's among them."""
    groups = np.asarray(labels)
    if groups.shape != (n_rows,):
        raise ValueError(f"{argument} must have shape ({n_rows},), one a row; got {groups.shape}")
    if groups.dtype.kind == "O":
        groups = np.array(["missing" if is_missing(one) else str(one) for one in groups])
    distinct, own = np.unique(groups, return_inverse=True)
    return distinct, own.reshape(-1)


def short_number(value: float) -> str:
    """Four digits, and thousands apart.

    >>> short_number(0.00012345), short_number(1234567.8), short_number(3.0)
    ('0.0001234', '1,234,568', '3')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def short_labels(names: Sequence[Any], longest: int = LONGEST_LABEL) -> list[str]:
    """Labels of at most `longest` letters that differ, as an axis takes equal ones for the same place.

    Where the beginnings of long names are equal, it is their middle that is left out.

    >>> short_labels(["height of tree 1", "height of tree 2", "age"], 10)
    ['heigh…ee 1', 'heigh…ee 2', 'age']
    """
    texts = [plain(name, 400) or "unnamed" for name in names]
    cut = [plain(text, longest) for text in texts]
    alike = Counter(cut)
    for number, text in enumerate(texts):
        if alike[plain(text, longest)] > 1 and len(text) > longest:
            tail = longest // 2 - 1
            cut[number] = f"{text[: longest - tail - 1]}…{text[-tail:]}"
    if len(set(cut)) < len(cut):
        cut = [f"{number + 1}: {text}" for number, text in enumerate(cut)]
    return [label(text, longest + 8) for text in cut]
