"""Partitions on a pool of threads, BLAS held to one thread each.

NumPy, BLAS and the kernels let go of the interpreter's lock, so threads are enough. Results are taken in the order of
the partitions and added in tree order; how many threads there are changes nothing but the time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from unveil.core.protocols import Block, Source, Step
from unveil.core.statistics import Statistics, TreeSum
from unveil.kernels.blas import single_threaded_blas

AHEAD = 2  # blocks in flight per worker: enough to keep it busy, few enough to bound the memory of a stream


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
        blocks = iter(source.read(partitions))
        head = list(islice(blocks, 2))  # a table of one partition needs no pool
        blocks = chain(head, blocks)
        with single_threaded_blas():
            if self.count == 1 or len(head) < 2:
                yield from ((block.index, function(block)) for block in blocks)
                return
            with ThreadPoolExecutor(self.count, thread_name_prefix="unveil") as pool:
                yield from _windowed(pool, function, blocks, AHEAD * self.count)


def _windowed(
    pool: ThreadPoolExecutor, function: Callable[[Block], Any], blocks: Iterator[Block], width: int
) -> Iterator[tuple[int, Any]]:
    """Results in the order of the blocks, with at most `width` blocks in flight."""
    window: deque[tuple[int, Future[Any]]] = deque()
    try:
        for block in blocks:
            window.append((block.index, pool.submit(function, block)))
            if len(window) >= width:
                index, future = window.popleft()
                yield index, future.result()
        while window:
            index, future = window.popleft()
            yield index, future.result()
    finally:
        for _, future in window:
            future.cancel()


def default_workers() -> int:
    """Threads to use when nobody says: ``UNVEIL_THREADS``, or the cores that this process may run on."""
    named = os.environ.get("UNVEIL_THREADS")
    if named is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not named.isdigit() or int(named) < 1:
        raise ValueError(f"UNVEIL_THREADS must be a positive integer, got {named!r}")
    return int(named)
