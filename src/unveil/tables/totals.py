"""A row of totals or means below a table, which is no row of it: `Total,,,33012`.

It is known by a word for it in its first cell, and by its numbers: one is the sum or the mean of those above, or it has
an empty cell where no other row has. Rows that say so among the others, such as subtotals, are the user's affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

TOTALS = frozenset(
    (
        *("total", "totals", "grand total", "sum", "sums", "average", "mean"),
        *("summe", "gesamt", "gesamtsumme", "insgesamt", "mittelwert", "durchschnitt"),
        *("total général", "somme", "moyenne", "suma", "total general", "promedio", "media"),
        *("totale", "somma", "totaal", "gemiddelde"),
    )
)  # English, German, French, Spanish, Italian, Dutch
LEAST_ROWS = 3  # above it
CLOSE = 1e-3  # of a sum or a mean: its figure may be rounded
EMPTY_ROWS = 5  # between the table and its total, at most


def without_total(raw: pa.Table, bad: Mapping[str, Any] | None = None) -> tuple[pa.Table, str]:
    """The table without a row of totals at its end, and what to say of that; `bad` are cells that did not fit.

    Examples
    --------
    >>> shops = pa.table({"shop": ["a", "b", "c", "Total"], "sales": [3.0, 4.0, 5.0, 12.0]})
    >>> table, said = without_total(shops)
    >>> table.num_rows, said
    (3, "The last row is one of totals ('Total') and no row of the table, left out.")
    """
    n_rows = raw.num_rows - 1
    if n_rows < LEAST_ROWS:
        return raw, ""
    above, last = _trimmed(raw.slice(0, n_rows)), raw.slice(n_rows)
    name, label = _first_cell(last, bad or {}, n_rows + 1)
    if label.strip(" :").casefold() not in TOTALS or _occurs(above.column(name), label):
        return raw, ""
    pairs = [(above.column(other), last.column(other)) for other in raw.column_names if other != name]
    if not any(_sums_up(column, cell) or _only_here_empty(column, cell) for column, cell in pairs):
        return raw, ""
    return above, f"The last row is one of totals ({label!r}) and no row of the table, left out."


def _first_cell(last: pa.Table, bad: Mapping[str, Any], row: int) -> tuple[str, str]:
    """The first cell of a row that holds something, as text, with its column; it may not fit that column."""
    for name in last.column_names:
        if name in bad and (text := dict(bad[name].first).get(row)):
            return name, str(text)
        cell = last.column(name)[0].as_py()
        if cell is not None and cell == cell:
            return name, cell if isinstance(cell, str) else ""
    return last.column_names[0], ""


def _occurs(column: Any, label: str) -> bool:
    if not (pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)):
        return False
    return label in pc.unique(column.cast(pa.string())).to_pylist()


def _sums_up(column: Any, cell: Any) -> bool:
    """Is a number the sum or the mean of those above it?"""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return False
    told, total, mean = cell[0].as_py(), pc.sum(column).as_py(), pc.mean(column).as_py()
    if told is None or not total:
        return False
    return any(abs(told - figure) <= CLOSE * abs(figure) for figure in (total, mean))


def _only_here_empty(column: Any, cell: Any) -> bool:
    return column.null_count == 0 and cell.null_count == 1


def _trimmed(table: pa.Table) -> pa.Table:
    """Without rows at the end in which nothing is."""
    for _ in range(EMPTY_ROWS):
        last = table.slice(max(table.num_rows - 1, 0))
        if table.num_rows <= LEAST_ROWS or any(column.null_count == 0 for column in last.columns):
            break
        table = table.slice(0, table.num_rows - 1)
    return table
