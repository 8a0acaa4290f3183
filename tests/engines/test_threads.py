import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from unveil.core.protocols import Block, Memo
from unveil.core.statistics import Statistics, tree_sum
from unveil.engines import Threads
from unveil.engines.threads import default_workers, submitted
from unveil.sources import ArraySource

ROWS = np.random.default_rng(3).normal(size=(140_000, 3)) * 10.0 ** np.arange(-3, 0)


def squares(block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Sums of squares, and how often the block was seen before."""
    seen = 0 if memo is None else memo
    return Statistics(weight=len(block.rows), second=block.rows.T @ block.rows, seen=seen), seen + 1


def bits(statistics: Statistics) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in statistics.items()}


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_sum_is_the_tree_sum_of_the_blocks(workers: int) -> None:
    source = ArraySource(ROWS)
    total, _ = Threads(workers).map_reduce(squares, source, None)
    assert bits(total) == bits(tree_sum(squares(block, None)[0] for block in source.read()))
    np.testing.assert_allclose(total["second"], ROWS.T @ ROWS, rtol=1e-12)


@pytest.mark.parametrize("workers", [1, 3])
def test_memos_come_back_to_their_blocks(workers: int) -> None:
    engine, source = Threads(workers), ArraySource(ROWS)
    _, memos = engine.map_reduce(squares, source, None)
    _, memos = engine.map_reduce(squares, source, memos, [0, 4])
    total, _ = engine.map_reduce(squares, source, memos)
    assert float(total["seen"]) == 9 + 2


@pytest.mark.parametrize("workers", [1, 3])
def test_a_single_block_is_as_it_would_be_among_others(workers: int) -> None:
    engine, source = Threads(workers), ArraySource(ROWS)
    alone, memos = engine.map_reduce(squares, source, None, [4])
    (block,) = source.read([4])
    assert bits(alone) == bits(squares(block, None)[0])
    again, memos = engine.map_reduce(squares, source, memos, range(4, 5))
    total, _ = engine.map_reduce(squares, source, memos)
    assert (float(again["seen"]), float(total["seen"])) == (1, 2)


def test_a_subset_counts_its_own_rows_alone() -> None:
    total, _ = Threads(2).map_reduce(squares, ArraySource(ROWS), None, [1, 8])
    assert float(total["weight"]) == 16384 + 140_000 - 8 * 16384


@pytest.mark.parametrize("workers", [1, 4])
def test_map_keeps_the_order(workers: int) -> None:
    assert list(Threads(workers).map(lambda block: block.index, ArraySource(ROWS))) == list(range(9))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_step_surfaces_as_itself(workers: int) -> None:
    def broken(block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        raise ZeroDivisionError(f"block {block.index}")

    with pytest.raises(ZeroDivisionError, match="block 0"):
        Threads(workers).map_reduce(broken, ArraySource(ROWS), None)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    """BLAS has the threads that it has for users."""


def blas_threads(_block: Block | None = None) -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_its_own_number_after() -> None:
    before = blas_threads()
    inside = list(Threads(2).map(blas_threads, ArraySource(ROWS)))
    assert all(found == {1} for found in inside)
    assert blas_threads() == before


def test_two_fits_at_once_restore_blas_at_the_end() -> None:
    before, entered, leave = blas_threads(), threading.Event(), threading.Event()

    def slow(block: Block) -> bool:
        entered.set()
        return leave.wait(10)

    outer = threading.Thread(target=lambda: list(Threads(1).map(slow, ArraySource(ROWS[:10]))))
    outer.start()
    assert entered.wait(10)
    assert list(Threads(1).map(blas_threads, ArraySource(ROWS[:10]))) == [{1}]
    assert blas_threads() == {1}  # the other one still runs
    leave.set()
    outer.join()
    assert blas_threads() == before


def test_blocks_in_flight_are_bounded() -> None:
    started: list[int] = []

    class Counting:
        n_rows, n_columns, dtype, names = len(ROWS), 3, ROWS.dtype, None

        def read(self, partitions: object = None) -> object:
            for block in ArraySource(ROWS).read():
                started.append(block.index)
                yield block

    results = Threads(2).map(lambda block: block.index, Counting())
    assert next(iter(results)) == 0
    assert len(started) <= 4


def test_no_rows_are_an_error() -> None:
    with pytest.raises(ValueError, match="no rows"):
        Threads(1).map_reduce(squares, ArraySource(np.empty((0, 2))), None)


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2"])
def test_number_of_workers_is_checked(workers: object) -> None:
    with pytest.raises(ValueError, match="workers must be a positive integer or None"):
        Threads(workers)


def test_environment_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNVEIL_THREADS", "3")
    assert Threads().count == 3
    assert Threads(2).count == 2
    monkeypatch.delenv("UNVEIL_THREADS")
    assert default_workers() >= 1


@pytest.mark.parametrize("value", ["0", "many", "-2", ""])
def test_nonsense_in_the_environment_is_an_error(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("UNVEIL_THREADS", value)
    with pytest.raises(ValueError, match="UNVEIL_THREADS must be a positive integer"):
        default_workers()


def test_no_room_for_a_thread_is_a_memory_error() -> None:
    class Full:
        def submit(self, work: object) -> None:
            raise RuntimeError("can't start new thread")

    with pytest.raises(MemoryError, match=r"can't start new thread.*take fewer threads"):
        submitted(Full(), int)  # type: ignore[arg-type]
