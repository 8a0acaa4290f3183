import copy
import gc
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import dask
import dask.array as da
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster
from hypothesis import given
from threadpoolctl import threadpool_info

import unveil
from unveil.core.partition import partition_count, partition_rows
from unveil.core.protocols import Block, Memo, Source
from unveil.core.statistics import Statistics, TreeSum, heights, tree_sum
from unveil.engines import Dask, Threads
from unveil.engines.cluster.flight import Flight
from unveil.engines.cluster.rows import cut_runs
from unveil.sources import ArraySource, with_weights
from unveil.sources.dask import DaskSource

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file

SIZE = partition_rows(2)
N_ROWS = 70 * SIZE + 77  # 71 partitions, the last nearly empty, in runs of two
ROWS = np.random.default_rng(7).normal(size=(N_ROWS, 2)) * [1e-3, 1e3]
WEIGHTS = np.random.default_rng(8).uniform(size=N_ROWS)


@dataclass(frozen=True)
class Squares:
    """Sums of squares, scaled; the memo says which pass and block wrote it."""

    scale: float
    number: int = 0

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        weights = np.ones(len(block.rows)) if block.weights is None else block.weights
        second = (block.rows * weights[:, None]).T @ block.rows * self.scale
        total = Statistics(weight=weights.sum(), second=second)
        return total, {"number": self.number, "partition": block.index}


@dataclass(frozen=True)
class Remembered:
    """Counts the blocks whose memo is the right one."""

    number: int

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        return Statistics(found=memo == {"number": self.number, "partition": block.index}), None


@dataclass(frozen=True)
class Carried:
    """A source that workers read for themselves."""

    path: Path
    n_rows: int = N_ROWS
    n_columns: int = 2
    dtype: np.dtype = ROWS.dtype
    names: None = None

    def read(self, partitions: Any = None) -> Iterator[Block]:
        return ArraySource(np.load(self.path, mmap_mode="r")).read(partitions)

    def ship(self, run: Any) -> tuple[Callable[..., Iterator[Block]], Any]:
        return Carried.read, self


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    """BLAS has the threads that it has for users."""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        dask.config.set(
            {
                "distributed.admin.large-graph-warning-threshold": "100MB",  # arrays here go in whole
                "distributed.deploy.lost-worker-timeout": "300s",  # a killed worker is not given up on a busy machine
            }
        ),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "rows.npy", ROWS)
    table = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]})
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=200_001)
    return folder


def bits(statistics: Statistics) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in statistics.items()}


def sum_of(engine: Any, source: Source, partitions: Any = None) -> dict[str, bytes]:
    return bits(engine.map_reduce(Squares(0.7), source, None, partitions)[0])


SOURCES: dict[str, Callable[[Path], Source]] = {
    "array": lambda files: ArraySource(ROWS),
    "map": lambda files: ArraySource(np.load(files / "rows.npy", mmap_mode="r")),
    "carried": lambda files: Carried(files / "rows.npy"),
    "parquet scan": lambda files: unveil.scan(files / "rows.parquet"),
    "dask array": lambda files: DaskSource(da.from_array(ROWS, chunks=(155_555, 1))),
}


def test_memos_of_a_subset_live_beside_the_others() -> None:
    with Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as client:
        engine, source = Dask(client), ArraySource(ROWS)
        _, memos = engine.map_reduce(Squares(1.0, 0), source, None)
        _, memos = engine.map_reduce(Squares(1.0, 1), source, memos, [3, 70])
        assert [float(engine.map_reduce(Remembered(n), source, memos)[0]["found"]) for n in (0, 1)] == [69, 2]


@pytest.mark.parametrize("name", SOURCES)
def test_same_bits_as_threads(client: Client, files: Path, name: str) -> None:
    expected = sum_of(Threads(1), ArraySource(ROWS))
    source = SOURCES[name](files)
    assert sum_of(Dask(client), source) == expected
    assert sum_of(Threads(2), source) == expected
    assert sum_of(Threads(5), source) == expected


@pytest.mark.parametrize("n_rows", [1, 3 * SIZE, 33 * SIZE + 1])
def test_same_bits_at_other_sizes(client: Client, n_rows: int) -> None:
    source = ArraySource(ROWS[:n_rows])
    assert sum_of(Dask(client), source) == sum_of(Threads(1), source)


@pytest.mark.parametrize("partitions", [[70], range(1, 70), [1, 2, 5, 6, 7, 40, 41, 69]])
def test_same_bits_for_a_subset(client: Client, partitions: Any) -> None:
    array = DaskSource(da.from_array(ROWS, chunks=(400_000, 2)))
    expected = sum_of(Threads(1), ArraySource(ROWS), partitions)
    assert sum_of(Dask(client), ArraySource(ROWS), partitions) == expected
    assert sum_of(Dask(client), array, partitions) == expected


def test_same_bits_with_weights(client: Client) -> None:
    source = with_weights(ArraySource(ROWS), WEIGHTS)
    assert sum_of(Dask(client), source) == sum_of(Threads(2), source)
    lazily = with_weights(DaskSource(da.from_array(ROWS, chunks=(200_000, 2))), WEIGHTS)
    assert sum_of(Dask(client), lazily) == sum_of(Threads(1), source)


@pytest.mark.parametrize("name", ["array", "carried", "dask array"])
def test_memos_come_back_to_their_blocks(client: Client, files: Path, name: str) -> None:
    engine, source = Dask(client), SOURCES[name](files)
    memos = None
    for number in range(2):
        _, memos = engine.map_reduce(Squares(1.0, number), source, memos)
        found, memos = engine.map_reduce(Remembered(number), source, memos)
        # a run that Dask moves may leave its memos behind, but most stay where they are
        assert 36 <= float(found["found"]) <= 71
    found, _ = engine.map_reduce(Remembered(1), source, None)
    assert float(found["found"]) == 0  # another fit starts without memos


def test_rows_are_sent_once_and_leave_with_the_source(client: Client) -> None:
    class Counting:
        n_rows, n_columns, dtype, names = N_ROWS, 2, ROWS.dtype, None
        reads = 0

        def read(self, partitions: Any = None) -> Iterator[Block]:
            self.reads += 1
            return ArraySource(ROWS).read(partitions)

    engine, source = Dask(client), Counting()
    _, memos = engine.map_reduce(Squares(1.0), source, None)
    first = source.reads
    for _ in range(3):
        _, memos = engine.map_reduce(Squares(1.0), source, memos)
    assert sum(engine.map(lambda block: len(block.rows), source)) == N_ROWS
    assert first == len(cut_runs(source, 2))
    assert source.reads == first
    del source
    gc.collect()
    assert wait_until(lambda: not any(key.startswith("_Run") for key in held_keys(client)))


def held_keys(client: Client) -> list[str]:
    return [str(key) for keys in client.has_what().values() for key in keys]


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_the_scheduler_forgets_old_passes(client: Client) -> None:
    engine, source, memos = Dask(client), ArraySource(ROWS[: 20 * SIZE]), None

    def known() -> int:
        return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    _, memos = engine.map_reduce(Squares(1.0), source, memos)
    before = known()
    for _ in range(10):
        _, memos = engine.map_reduce(Squares(1.0), source, memos)
    assert wait_until(lambda: known() <= before)


@pytest.mark.parametrize("name", ["array", "dask array"])
def test_a_killed_worker_changes_no_bits(client: Client, files: Path, name: str) -> None:
    engine, source = Dask(client), SOURCES[name](files)
    expected = sum_of(Threads(1), ArraySource(ROWS))
    _, memos = engine.map_reduce(Squares(0.7), source, None)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    for _ in range(2):
        total, memos = engine.map_reduce(Squares(0.7), source, memos)
        assert bits(total) == expected
    client.wait_for_workers(1, timeout=30)


def test_map_keeps_the_order(client: Client, files: Path) -> None:
    for name in ("array", "dask array"):
        results = Dask(client).map(lambda block: (block.index, block.start, len(block.rows)), SOURCES[name](files))
        assert list(results) == [(index, index * SIZE, SIZE) for index in range(70)] + [(70, 70 * SIZE, 77)]


def test_blas_has_one_thread_on_a_worker(client: Client) -> None:
    def threads(block: Block) -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    assert all(found == {1} for found in Dask(client).map(threads, ArraySource(ROWS[:40_000])))


def test_an_error_in_a_step_surfaces_as_itself(client: Client) -> None:
    def broken(block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        raise ZeroDivisionError(f"block {block.index}")

    with pytest.raises(ZeroDivisionError, match="block 0"):
        Dask(client).map_reduce(broken, ArraySource(ROWS[:100]), None)


def test_ctrl_c_cancels_what_is_under_way(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled: list[Any] = []
    cancel = client.cancel

    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    def noted(futures: Any, **options: Any) -> None:
        cancelled.extend(futures)
        cancel(futures, **options)

    monkeypatch.setattr(Flight, "_heard", interrupted)  # where it waits
    monkeypatch.setattr(client, "cancel", noted)
    with pytest.raises(KeyboardInterrupt):
        Dask(client).map_reduce(Squares(1.0), ArraySource(ROWS[: 5 * SIZE]), None)
    assert len(cancelled) == 5
    assert all(future.cancelled() for future in cancelled)


def test_no_rows_are_an_error(client: Client) -> None:
    with pytest.raises(ValueError, match="no rows"):
        Dask(client).map_reduce(Squares(1.0), ArraySource(np.empty((0, 2))), None)


def test_the_current_client_is_taken_where_none_is_given(client: Client) -> None:
    with client.as_current():
        assert sum_of(Dask(), ArraySource(ROWS[:18_000])) == sum_of(Threads(1), ArraySource(ROWS[:18_000]))


def test_no_client_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(cls: type) -> None:
        raise ValueError("No clients found")

    monkeypatch.setattr(Client, "current", classmethod(none))
    with pytest.raises(ValueError, match=r"make one first, client = distributed.Client\(\)"):
        Dask().map_reduce(Squares(1.0), ArraySource(ROWS[:10]), None)


def test_copies_share_the_client_and_pickles_have_none(client: Client) -> None:
    assert copy.deepcopy(Dask(client)).client is client
    assert pickle.loads(pickle.dumps(Dask(client))).client is None


@dataclass(frozen=True)
class Said:
    """Adds by writing down what was added to what."""

    text: str

    def __add__(self, other: "Said") -> "Said":
        return Said(f"({self.text}+{other.text})")


@pytest.mark.parametrize("number", range(1, 71))
def test_runs_of_any_length_keep_the_tree(number: int) -> None:
    items = [Said(str(index)) for index in range(number)]
    for length in (1, 2, 3, 4, 7, 8, 16, 32):
        assert summed_by(items, list(range(length, number, length))) == tree_sum(items)


@given(st.integers(1, 200), st.sets(st.integers(1, 199)))
def test_cuts_anywhere_keep_the_tree(number: int, cuts: set[int]) -> None:
    items = [Said(str(index)) for index in range(number)]
    assert summed_by(items, sorted(cut for cut in cuts if cut < number)) == tree_sum(items)


def summed_by(items: list[Said], cuts: list[int]) -> Said:
    """The sum by subtrees of the stretches between `cuts`, as tasks hand it in."""
    adder = TreeSum()
    for first, last in zip([0, *cuts], [*cuts, len(items)], strict=True):
        for height in heights(first, last):
            adder.push(tree_sum(items[first : first + (1 << height)]), height)
            first += 1 << height
        assert first == last
    return adder.total()


@given(st.integers(1, 10**8), st.integers(1, 2_000))
def test_runs_are_worth_a_task_and_fit_in_memory(n_rows: int, n_columns: int) -> None:
    count = partition_count(n_rows, n_columns)
    runs = cut_runs(SimpleNamespace(n_rows=n_rows, n_columns=n_columns), 8)
    length = len(runs[0])
    assert [run[0] for run in runs] == list(range(0, count, length))
    assert runs[-1][-1] == count - 1
    assert length & (length - 1) == 0
    assert length == 1 or (length * partition_rows(n_columns) * n_columns <= 1 << 23 and len(runs) >= 32)
