"""Where one partition of the rows ends and the next begins.

The rule looks at the number of columns alone, never at threads, engine or where the rows are kept, so every route
cuts the same table at the same rows. That, and the fixed tree of additions, is why every route gives the same bits.
Of a sparse table it is the cells that a row stores, on average, that count: a source says so by a `width` of its own.
Rows that belong together, such as the steps of a sequence, are never parted: a source of those names its own `cuts`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

SMALLEST, LARGEST = 256, 16384
CELLS = 1 << 18  # two megabytes of float64: large against the cost of scheduling, small against a machine's memory


def width_of(source: Any) -> int:
    """Cells of a row, as the partitions of a source go by them: its columns, or the `width` that it names."""
    return int(getattr(source, "width", source.n_columns))


def partition_rows(n_columns: int) -> int:
    """Rows per partition, a power of two.

    >>> partition_rows(2), partition_rows(64), partition_rows(5000)
    (16384, 4096, 256)
    """
    rows = CELLS // max(n_columns, 1)
    power = 1 << max(rows.bit_length() - 1, 0)
    return min(max(power, SMALLEST), LARGEST)


def partition_count(n_rows: int, n_columns: int) -> int:
    """Number of partitions of a table."""
    return -(-n_rows // partition_rows(n_columns))


def chosen_partitions(partitions: Sequence[int], n_rows: int, n_columns: int) -> list[int]:
    """`partitions` in increasing order, each once, checked against the size of the table."""
    chosen = sorted({int(index) for index in partitions})
    count = partition_count(n_rows, n_columns)
    if chosen and not 0 <= chosen[0] <= chosen[-1] < count:
        raise IndexError(f"partitions must be numbers from 0 to {count - 1}, got {chosen[0]} to {chosen[-1]}")
    return chosen


def partition_bounds(index: int, n_rows: int, n_columns: int) -> tuple[int, int]:
    """First row of partition `index` and the row after its last."""
    size = partition_rows(n_columns)
    return index * size, min((index + 1) * size, n_rows)


def count_of(source: Any) -> int:
    """Number of partitions of a source."""
    cuts = getattr(source, "cuts", None)
    return partition_count(source.n_rows, width_of(source)) if cuts is None else len(cuts) - 1


def bounds_of(source: Any, index: int) -> tuple[int, int]:
    """First row of partition `index` of a source and the row after its last."""
    cuts = getattr(source, "cuts", None)
    if cuts is None:
        return partition_bounds(index, source.n_rows, width_of(source))
    return int(cuts[index]), int(cuts[index + 1])


def rows_of(source: Any, partitions: range) -> int:
    """Rows in a run of partitions of a source."""
    return bounds_of(source, partitions[-1])[1] - bounds_of(source, partitions[0])[0] if partitions else 0


def runs_of(source: Any, least: int) -> Iterator[range]:
    """All partitions of a source, by runs of neighbours with at least so many rows; the last may have fewer."""
    count, first = count_of(source), 0
    ends = [bounds_of(source, index)[1] for index in range(count)]
    while first < count:
        start = bounds_of(source, first)[0]
        last = min(max(bisect_left(ends, start + least), first) + 1, count)
        yield range(first, last)
        first = last
