"""Runs of partitions: all of them once, and hardly a row decoded twice."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import unveil
from unveil.core.statistics import Statistics
from unveil.engines import Threads
from unveil.sources import ArraySource
from unveil.sources.files import arrow, csv
from unveil.sources.files.runs import cut_into_runs

ROWS = np.random.default_rng(3).normal(size=(300_000, 3))  # 19 partitions


@pytest.mark.parametrize("most", [1, 3, 100])
@pytest.mark.parametrize("group", [1, 7, 10, 35, 1000])
@pytest.mark.parametrize("chosen", [list(range(40)), [0, 3, 4, 39]])
def test_runs_are_the_partitions_and_begin_with_a_piece(most: int, group: int, chosen: list[int]) -> None:
    entries = [(0, range(0, 200, group)), (200, range(0, 200, group))]
    runs = cut_into_runs(chosen, 10, most, entries)
    assert [index for run in runs for index in run] == chosen
    starts = {first + entry for first, rows in entries for entry in rows}
    for before, run in pairwise(runs):
        between = range(10 * before[-1] + 1, 10 * run[0] + 1)  # there is a piece that neither shares with the other
        assert any(row in starts for row in between)
    for run in runs:
        assert len(run) <= most or not any(row in starts for row in range(10 * run[0] + 1, 10 * run[-1] + 1))


def written(folder: Path, store: str) -> Path:
    table, path = pa.table({f"c{j}": ROWS[:, j] for j in range(3)}), folder / f"t.{store}"
    if store == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=70_000)
    elif store == "feather":
        pyarrow.feather.write_feather(table, path, chunksize=30_000)
    elif store == "npy":
        np.save(path, ROWS)
    else:
        pyarrow.csv.write_csv(table, path)
    return path


@pytest.mark.parametrize("store", ["parquet", "feather", "npy", "csv"])
def test_workers_fetch_their_runs_and_decode_hardly_a_row_twice(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    opens: list[Path] = []
    for module in (arrow, csv):
        plain = module.chunk_of
        monkeypatch.setattr(
            module, "chunk_of", lambda batch, *more, plain=plain: (decoded.append(len(batch)), plain(batch, *more))[1]
        )
    scan = unveil.scan(written(tmp_path, store), cache=None)
    runs = scan.runs(most=4)
    assert len(runs) >= 4
    shipped = pickle.loads(pickle.dumps(scan))
    monkeypatch.setattr(type(scan._plan.files[0].format), "header", lambda self, path: opens.append(path))
    want = list(ArraySource(ROWS).read())
    for run in runs:
        for block in shipped.fetch(run):
            assert np.array_equal(block.rows, want[block.index].rows)
    assert opens == []  # heads travel with the source
    piece = {"parquet": 16_384, "feather": 30_000, "csv": 10_000, "npy": 0}[store]  # at the end of a run, or its start
    assert sum(decoded) <= len(ROWS) + len(runs) * piece


@pytest.mark.parametrize("store", ["parquet", "csv"])
def test_threads_read_side_by_side_and_stop_together(store: str, tmp_path: Path) -> None:
    scan, seen = unveil.scan(written(tmp_path, store), cache=None), []
    list(scan.read())
    engine = Threads(2)

    def step(block, memo):
        seen.append(block.index)
        if block.index == 1:
            raise ValueError("enough")
        return Statistics(n=float(len(block.rows))), None

    assert scan.side_by_side
    with pytest.raises(ValueError, match="enough"):
        engine.map_reduce(step, scan, None)
    assert len(seen) < 16  # the other thread ended with its block, not with its run
    total, _ = engine.map_reduce(lambda block, memo: (Statistics(n=float(len(block.rows))), None), scan, None)
    assert total["n"] == len(ROWS)
