"""Partitions on a pool of threads, BLAS held to one thread each.

NumPy, BLAS and the kernels let go of the interpreter's lock, so threads are enough. Results are taken in the order of
the partitions and added in tree order; how many threads there are changes nothing but the time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from typing import Any

from unveil.core.partition import partition_count
from unveil.core.protocols import Block, Source, Step
from unveil.core.statistics import Statistics, TreeSum
from unveil.kernels.blas import single_threaded_blas

AHEAD = 2  # blocks in flight per worker: enough to keep it busy, few enough to bound the memory of a stream
RUNS = 4  # runs of partitions per worker, where any thread can reach any row: enough to even out their load


@dataclass(frozen=True)
class Threads:
    """Run on threads of this process.

    Parameters
    ----------
    workers : int or None, default=None
        Number of threads. None takes the environment variable ``UNVEIL_THREADS``, or else the number of cores this
        process may use.

    Examples
    --------
    >>> from unveil.engines import Threads
    >>> Threads(workers=2).count
    2
    """

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and (not isinstance(self.workers, int) or self.workers < 1):
            raise ValueError(f"workers must be a positive integer or None, got {self.workers!r}")

    @property
    def count(self) -> int:
        """Number of threads that a pass runs on."""
        return self.workers if self.workers is not None else default_workers()

    def map_reduce(
        self, step: Step, source: Source, memos: dict[int, Any] | None, partitions: Sequence[int] | None = None
    ) -> tuple[Statistics, dict[int, Any]]:
        """Statistics of all blocks, added in tree order, and the memos for the next pass."""
        memos = {} if memos is None else memos
        total = TreeSum()
        for index, (statistics, memo) in self._ordered(lambda b: step(b, memos.get(b.index)), source, partitions):
            total.push(statistics)
            if memo is not None:
                memos[index] = memo
        return total.total(), memos

    def map(self, function: Callable[[Block], Any], source: Source) -> Iterator[Any]:
        """`function` of each block, in order."""
        return (result for _, result in self._ordered(function, source, None))

    def _ordered(
        self, function: Callable[[Block], Any], source: Source, partitions: Sequence[int] | None
    ) -> Iterator[tuple[int, Any]]:
        with single_threaded_blas():
            if getattr(source, "random_access", False):
                yield from self._by_runs(function, source, partitions)
                return
            blocks = iter(source.read(partitions))
            head = list(islice(blocks, 2))  # a table of one partition needs no pool
            if self.count == 1 or len(head) < 2:
                yield from ((block.index, function(block)) for block in chain(head, blocks))
            else:
                work = (partial(_one, function, block) for block in chain(head, blocks))
                yield from _windowed(_pool(self.count), work, AHEAD * self.count)

    def _by_runs(
        self, function: Callable[[Block], Any], source: Source, partitions: Sequence[int] | None
    ) -> Iterator[tuple[int, Any]]:
        """Rows that any thread can reach: a task is a run of neighbours, so there are few of them to hand out."""
        count = partition_count(source.n_rows, source.n_columns)
        every = range(count) if partitions is None else partitions
        if self.count == 1 or len(every) < 2:
            yield from _run(function, source, every)
            return
        size = -(-len(every) // (RUNS * self.count))
        runs = (every[first : first + size] for first in range(0, len(every), size))
        yield from _windowed(
            _pool(self.count), (partial(_run, function, source, run) for run in runs), 2 * RUNS * self.count
        )


def _one(function: Callable[[Block], Any], block: Block) -> list[tuple[int, Any]]:
    return [(block.index, function(block))]


def _run(function: Callable[[Block], Any], source: Source, partitions: Sequence[int]) -> list[tuple[int, Any]]:
    return [(block.index, function(block)) for block in source.read(partitions)]


def _windowed(
    pool: ThreadPoolExecutor, work: Iterator[Callable[[], list[tuple[int, Any]]]], width: int
) -> Iterator[tuple[int, Any]]:
    """Results in the order of the work, with at most `width` pieces of it in flight."""
    window: deque[Future[list[tuple[int, Any]]]] = deque()
    try:
        for piece in work:
            window.append(pool.submit(piece))
            if len(window) >= width:
                yield from window.popleft().result()
        while window:
            yield from window.popleft().result()
    finally:
        for future in window:
            future.cancel()
        wait(window)  # nothing of this pass runs on after it, whatever ended it


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """One pool for each number of threads: starting threads for every pass would take longer than a small pass."""
    return ThreadPoolExecutor(workers, thread_name_prefix="unveil")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def default_workers() -> int:
    """Threads to use when nobody says: ``UNVEIL_THREADS``, or the cores that this process may run on."""
    named = os.environ.get("UNVEIL_THREADS")
    if named is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not named.isdigit() or int(named) < 1:
        raise ValueError(f"UNVEIL_THREADS must be a positive integer, got {named!r}")
    return int(named)
