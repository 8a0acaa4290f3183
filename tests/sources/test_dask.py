import pathlib

import dask
import dask.array as da
import dask.dataframe as dd
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from unveil.sources import ArraySource, from_frame
from unveil.sources.dask import DaskSource, is_dask
from unveil.sources.errors import DataError

ROWS = np.random.default_rng(5).normal(size=(60_000, 3))


def equal(one: DaskSource, other: ArraySource, partitions: list[int] | None = None) -> bool:
    pairs = zip(one.read(partitions), other.read(partitions), strict=True)
    return all(a[:2] == b[:2] and a.rows.tobytes() == b.rows.tobytes() and a.rows.flags.c_contiguous for a, b in pairs)


@pytest.mark.parametrize("chunks", [(60_000, 3), (14_001, 2), ((1, 16_384, 43_615), (1, 2)), (16_384, 1)])
def test_blocks_are_those_of_the_array(chunks: tuple) -> None:
    source = DaskSource(da.from_array(ROWS, chunks=chunks))
    assert (source.n_rows, source.n_columns, source.dtype, source.names) == (60_000, 3, np.dtype(np.float64), None)
    assert equal(source, ArraySource(ROWS))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, unique=True))
def test_a_subset_of_the_partitions(partitions: list[int]) -> None:
    assert equal(DaskSource(da.from_array(ROWS, chunks=(19_999, 2))), ArraySource(ROWS), partitions)


def test_partitions_that_are_not_there_are_an_error() -> None:
    with pytest.raises(IndexError, match="from 0 to 3"):
        list(DaskSource(da.from_array(ROWS)).read([4]))


@pytest.mark.parametrize("most", [1, 3, 4, 100])
def test_runs_hold_their_partitions(most: int) -> None:
    source = DaskSource(da.from_array(ROWS, chunks=(13_579, 2)))
    expected = list(ArraySource(ROWS).read())
    runs = source.runs(most=most)
    assert [index for run in runs for index in run] == list(range(4))
    assert max(map(len, runs)) == {1: 1, 3: 2, 4: 4, 100: 4}[most]
    for run in (*runs, (1, 2)):  # the last is cut by somebody else
        read, rows = source.ship(run)
        blocks = list(read(rows.compute(), run))
        assert [block.index for block in blocks] == list(run)
        assert all(block.rows.tobytes() == expected[block.index].rows.tobytes() for block in blocks)
        assert all(block.start == expected[block.index].start for block in blocks)


def test_the_first_block_brings_no_others() -> None:
    seen: list[int] = []

    def noted(block: np.ndarray) -> np.ndarray:
        seen.append(len(block))
        return block

    array = da.from_array(ROWS, chunks=(16_384, 3)).map_blocks(noted, meta=np.empty((0, 3)))
    with dask.config.set(scheduler="synchronous"):
        blocks = DaskSource(array).read()
        next(blocks)
        assert len(seen) == 1
        assert sum(len(block.rows) for block in blocks) == len(ROWS) - 16_384


def test_single_precision_stays_and_whole_numbers_become_double() -> None:
    single, whole = ROWS.astype(np.float32), (ROWS * 10).astype(np.int16)
    assert equal(DaskSource(da.from_array(single, chunks=10_000)), ArraySource(single))
    assert equal(DaskSource(da.from_array(whole, chunks=10_000)), ArraySource(whole.astype(np.float64)))


def test_fortran_order_is_undone() -> None:
    assert equal(DaskSource(da.from_array(np.asfortranarray(ROWS), chunks=(20_000, 3))), ArraySource(ROWS))


def test_chunks_of_unknown_size_are_counted() -> None:
    array = da.from_array(ROWS, chunks=(14_000, 3))
    source = DaskSource(array[array[:, 0] > 0])
    assert source.n_rows == (ROWS[:, 0] > 0).sum()
    assert equal(source, ArraySource(ROWS[ROWS[:, 0] > 0]))


def test_a_frame_brings_its_names() -> None:
    frame = dd.from_pandas(pd.DataFrame(ROWS, columns=["a", "b", "c"]), npartitions=4)
    source = DaskSource(frame)
    assert source.names == ("a", "b", "c")
    assert equal(source, ArraySource(ROWS))


@pytest.mark.parametrize(
    ("array", "said"), [(da.ones(5), "2 dimensions"), (da.from_array(np.array([["a"]])), "must hold numbers")]
)
def test_what_is_no_table_of_numbers_is_an_error(array: da.Array, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DaskSource(array)


def test_dask_is_known_by_its_looks() -> None:
    assert is_dask(da.ones((2, 2)))
    assert not is_dask(ROWS)
    assert not is_dask(pd.DataFrame(ROWS))


def test_frames_of_parquet_with_missing_cells_and_words(tmp_path: pathlib.Path) -> None:
    table = pd.DataFrame({"a": ROWS[:500, 0], "b": pd.array([1, None] * 250, dtype="Int64"), "c": [True, False] * 250})
    table.assign(d="word").to_parquet(tmp_path / "part.0.parquet")
    frame = dd.read_parquet(tmp_path)
    source = DaskSource(frame[["a", "b", "c"]])
    wanted = from_frame(table)
    assert (source.names, source.dtype, source.n_rows) == (("a", "b", "c"), np.dtype(np.float64), 500)
    assert np.array_equal(next(source.read()).rows, wanted.rows, equal_nan=True)
    with pytest.raises(DataError, match="'d'"):
        DaskSource(frame)
