"""Where one partition of the rows ends and the next begins.

The rule looks at the number of columns alone, never at threads, engine or where the rows are kept, so every route
cuts the same table at the same rows. That, and the fixed tree of additions, is why every route gives the same bits.
Of a sparse table it is the cells that a row stores, on average, that count: a source says so by a `width` of its own.
"""

from __future__ import annotations

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


def partition_bounds(index: int, n_rows: int, n_columns: int) -> tuple[int, int]:
    """First row of partition `index` and the row after its last."""
    size = partition_rows(n_columns)
    return index * size, min((index + 1) * size, n_rows)
