from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from unveil.core.partition import CELLS, LARGEST, SMALLEST, partition_bounds, partition_count, partition_rows


@given(st.integers(0, 100_000))
def test_rows_are_a_power_of_two_within_limits(n_columns: int) -> None:
    rows = partition_rows(n_columns)
    assert rows & (rows - 1) == 0
    assert SMALLEST <= rows <= LARGEST
    assert rows == SMALLEST or rows * n_columns <= CELLS


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_wider_tables_have_no_longer_partitions(one: int, other: int) -> None:
    narrow, wide = sorted((one, other))
    assert partition_rows(narrow) >= partition_rows(wide)


@given(st.integers(1, 200_000), st.integers(1, 2000))
def test_partitions_cover_every_row_once(n_rows: int, n_columns: int) -> None:
    count = partition_count(n_rows, n_columns)
    bounds = [partition_bounds(index, n_rows, n_columns) for index in range(count)]
    assert bounds[0][0] == 0
    assert bounds[-1][1] == n_rows
    assert all(before[1] == after[0] for before, after in pairwise(bounds))
    assert all(stop - start == partition_rows(n_columns) for start, stop in bounds[:-1])
    assert 0 < bounds[-1][1] - bounds[-1][0] <= partition_rows(n_columns)


@pytest.mark.parametrize(("n_rows", "count"), [(0, 0), (1, 1), (16384, 1), (16385, 2), (32768, 2)])
def test_number_of_partitions_of_a_narrow_table(n_rows: int, count: int) -> None:
    assert partition_count(n_rows, 2) == count
