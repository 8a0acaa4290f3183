"""The columns of a table, in one pass: range, mean, what is missing; then which rows and columns a model can use.

Means and squares are merged block by block about the block's own mean (Chan, Golub and LeVeque, 1983), so an offset of
1e8 costs no digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.report.table import Table
from unveil.report.view import complete_rows
from unveil.sources.errors import DataError


class ColumnProfile(NamedTuple):
    """One column as it stands in the table."""

    name: str
    kind: str
    low: float
    mean: float
    high: float
    missing: int

    @property
    def note(self) -> str:
        """Why the column is no use to a model; empty where it is."""
        if np.isnan(self.low):
            return "empty: left out of the model"
        return "constant: left out of the model" if self.low == self.high else ""


class Usable(NamedTuple):
    """What a model can be fitted to: columns that vary, rows that are complete in them."""

    columns: tuple[int, ...]
    n_rows: int
    weight: float  # the sum of the weights, or the number of rows
    mean: Floats
    deviation: Floats
    constant: tuple[str, ...]  # columns that vary, but not among the complete rows


class Sums(NamedTuple):
    """Count, weight, mean and centred squares by column, with the range."""

    rows: Floats
    weight: Floats
    mean: Floats
    squares: Floats
    low: Floats
    high: Floats


def describe(table: Table) -> tuple[list[ColumnProfile], int]:
    """Every column that is read, and the number of rows."""
    blocks = ((np.asarray(block.rows, dtype=np.float64), block.weights) for block in table.source.read())
    sums = _sums(blocks, table.source.n_columns)
    _refuse_infinite(table, sums)
    n_rows = table.source.n_rows
    columns = []
    for j, name in enumerate(table.names):
        low, mean, high = (float(values[j]) for values in (sums.low, sums.mean, sums.high))
        columns.append(
            ColumnProfile(name, table.kinds.get(name, "number"), low, mean, high, n_rows - int(sums.rows[j]))
        )
    return columns, n_rows


def usable(source: Source, columns: list[ColumnProfile]) -> Usable:
    """Columns that vary and rows that are complete in them; clear errors where too little is left."""
    if source.n_rows < 2:
        raise DataError(
            f"the table has {source.n_rows} row{'' if source.n_rows == 1 else 's'}; a report needs at least 2"
        )
    kept = tuple(j for j, column in enumerate(columns) if not column.note)
    if not kept:
        raise DataError(f"no column varies, so there is nothing to find; constant: {_listed(columns)}")
    constant: tuple[str, ...] = ()
    while True:
        pairs = ((np.asarray(rows, dtype=np.float64), weights) for rows, weights in complete_rows(source, kept))
        sums = _sums(pairs, len(kept))
        n_rows = int(sums.rows[0])
        _check_rows(n_rows, source.n_rows, [columns[j] for j in kept])
        varies = sums.low < sums.high
        if varies.all():
            break
        constant += tuple(columns[j].name for j, varied in zip(kept, varies, strict=True) if not varied)
        kept = tuple(j for j, varied in zip(kept, varies, strict=True) if varied)
        if not kept:
            raise DataError(f"no column varies among the {n_rows:,} complete rows, so there is nothing to find")
    deviation = np.sqrt(sums.squares / sums.weight)
    return Usable(kept, n_rows, float(sums.weight[0]), sums.mean, deviation, constant)


def _sums(blocks: Iterable[tuple[Floats, Floats | None]], width: int) -> Sums:
    """Merge all blocks; missing cells count for nothing."""
    zero, nan = np.zeros(width), np.full(width, np.nan)
    total = Sums(zero, zero, zero, zero, nan, nan)
    for rows, weights in blocks:
        if len(rows):
            total = _merged(total, _block_sums(rows, np.ones(len(rows)) if weights is None else weights))
    return total


def _block_sums(rows: Floats, weights: Floats) -> Sums:
    there = ~np.isnan(rows)
    mass = np.where(there, weights[:, None], 0.0)
    weight = mass.sum(axis=0)
    with np.errstate(invalid="ignore"):  # infinities are refused by name afterwards
        mean = np.where(there, mass * rows, 0.0).sum(axis=0) / np.where(weight > 0, weight, 1.0)
        squares = np.where(there, mass * (rows - mean) ** 2, 0.0).sum(axis=0)
    low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
    return Sums(there.sum(axis=0).astype(np.float64), weight, mean, squares, low, high)


def _merged(one: Sums, two: Sums) -> Sums:
    weight = one.weight + two.weight
    share = two.weight / np.where(weight > 0, weight, 1.0)
    with np.errstate(invalid="ignore"):
        step = two.mean - one.mean
        squares = one.squares + two.squares + step**2 * one.weight * share
        mean = one.mean + step * share
    low, high = np.fmin(one.low, two.low), np.fmax(one.high, two.high)
    return Sums(one.rows + two.rows, weight, mean, squares, low, high)


def _refuse_infinite(table: Table, sums: Sums) -> None:
    for j, name in enumerate(table.names):
        if np.isinf(sums.low[j]) or np.isinf(sums.high[j]):
            raise DataError(f"column {name!r} holds infinity; the report takes finite numbers and missing cells")


def _check_rows(n_rows: int, all_rows: int, columns: list[ColumnProfile]) -> None:
    """Errors for tables with too few complete rows."""
    if n_rows == 0:
        worst = max(columns, key=lambda column: column.missing)
        missing = f"column {worst.name!r} misses most, {worst.missing:,} of {all_rows:,}"
        raise DataError(f"every row has a missing value ({missing}); name columns to leave it out")
    if n_rows == 1:
        raise DataError(f"only 1 of {all_rows:,} rows is complete; a report needs at least 2")


def _listed(columns: list[ColumnProfile]) -> str:
    names = ", ".join(repr(column.name) for column in columns[:10])
    return names if len(columns) <= 10 else f"{names} and {len(columns) - 10} more"
