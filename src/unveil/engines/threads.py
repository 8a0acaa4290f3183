"""Partitions on a pool of threads, BLAS held to one thread each.

NumPy, BLAS and the kernels let go of the interpreter's lock, so threads are enough. Results are taken in the order of
the partitions and added in tree order; how many threads there are changes nothing but the time. So a pass may well be
left to one of them: where the blocks of the pass before took hardly any time, handing them out would take longer.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from numbers import Integral
from time import thread_time
from typing import Any

from unveil.core.idle_threads import lending
from unveil.core.partition import count_of
from unveil.core.protocols import Block, Source, Step
from unveil.core.statistics import Statistics, TreeSum, subtrees
from unveil.numerics.blas import single_threaded_blas

BLOCKS_AHEAD = 2  # blocks in flight per worker: enough to keep it busy, few enough to bound the memory of a stream
QUICK_BLOCK = 2.5e-4  # seconds of a block below which threads wait longer for the interpreter's lock than they work
LONE_RUN = 8  # partitions in a run of a thread that works alone: their statistics are all held until they are added
RUNS_EACH = 2  # runs of partitions per worker, where any thread can reach any row, and more of them,
LONGEST_RUN = 1e-3  # seconds, where a run would last longer than this: enough to even out their load


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
        if self.workers is not None and (not isinstance(self.workers, Integral) or self.workers < 1):
            raise ValueError(f"workers must be a positive integer or None, got {self.workers!r}")

    @property
    def count(self) -> int:
        """Number of threads that a pass runs on."""
        return self.workers if self.workers is not None else default_workers()

    def map_reduce(
        self, step: Step, source: Source, memos: dict[int, Any] | None, partitions: Sequence[int] | None = None
    ) -> tuple[Statistics, dict[int, Any]]:
        """Statistics of all blocks, added in tree order, and the memos for the next pass."""
        memos = memos if isinstance(memos, _Memos) else _Memos(memos or {})
        if partitions is not None and len(partitions) == 1 and getattr(source, "random_access", False):
            return self._reduce_one(step, source, memos, partitions), memos
        total, seconds, blocks = TreeSum(), 0.0, 0
        with single_threaded_blas():
            for sums, fresh, spent, count in self._results(
                partial(_reduce, step, memos), source, partitions, memos.pace
            ):
                memos.update(fresh)
                seconds, blocks = seconds + spent, blocks + count
                for height, statistics in sums:
                    total.push(statistics, height)
        memos.pace = seconds / max(blocks, 1)
        return total.total(), memos

    def _reduce_one(self, step: Step, source: Source, memos: _Memos, partition: Sequence[int]) -> Statistics:
        """Statistics of a single block: a mini-batch, of which there are many, so nothing else is done for it."""
        with single_threaded_blas(), nullcontext() if self.count == 1 else lending(self.share):
            (block,) = source.read(partition)
            statistics, memo = step(block, memos.get(block.index))
        if memo is not None:
            memos[block.index] = memo
        return statistics

    def map(self, function: Callable[[Block], Any], source: Source) -> Iterator[Any]:
        """`function` of each block, in order."""
        with single_threaded_blas():
            for results in self._results(partial(_apply, function), source, None):
                yield from results

    def share(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """`function` of each item, in order, on the threads; not to be called from within one of them.

        >>> list(Threads(workers=2).share(abs, [-1, 2, -3]))
        [1, 2, 3]
        """
        if self.count == 1:
            return map(function, items)
        return _helped(_pool(self.count - 1), (partial(function, item) for item in items), math.inf)

    def _results(
        self,
        task: Callable[[int, Iterable[Block]], Any],
        source: Source,
        partitions: Sequence[int] | None,
        pace: float = math.inf,
    ) -> Iterator[Any]:
        """What `task` makes of runs of blocks, in order; it is told how many blocks came before.

        Where the `pace` of the pass before, seconds per block, is quick, this thread does it all, unless blocks have to
        be read.
        """
        alone = (pace < QUICK_BLOCK or self.count == 1) and getattr(source, "random_access", False)
        if getattr(source, "random_access", False):
            runs, width = self._runs(source, partitions, alone, pace), 2 * RUNS_EACH * self.count
        else:
            runs, width = (
                ((place, [block]) for place, block in enumerate(source.read(partitions))),
                BLOCKS_AHEAD * self.count,
            )
        head = list(islice(runs, 2))  # a single run needs no pool
        work = (partial(task, *run) for run in chain(head, runs))
        if self.count > 1 and len(head) == 1:
            return self._lending(work)
        if self.count == 1 or len(head) < 2 or alone:
            return (piece() for piece in work)
        return _helped(_pool(self.count - 1), work, width)

    def _lending(self, work: Iterator[Callable[[], Any]]) -> Iterator[Any]:
        """Results of work that this thread does alone, while its model may use the others."""
        for piece in work:
            with lending(self.share):
                result = piece()
            yield result

    def _runs(
        self, source: Source, partitions: Sequence[int] | None, alone: bool, pace: float
    ) -> Iterator[tuple[int, Iterable[Block]]]:
        """Rows that any thread can reach: neighbours travel together, so that there is little to hand out.

        Sources read as they are asked for rows, so it is the thread that uses a block which reads it.
        """
        every = range(count_of(source)) if partitions is None else partitions
        fair = max(min(len(every), LONE_RUN) if alone else len(every) // (RUNS_EACH * self.count), 1)
        size = 1 << (fair.bit_length() - 1)  # a power of two, so that a run is a subtree of the sum
        while not alone and size > 1 and size * pace > LONGEST_RUN:
            size //= 2
        return ((first, source.read(every[first : first + size])) for first in range(0, len(every), size))


class _Memos(dict[int, Any]):
    """What blocks remember, and how long one took in the last pass."""

    pace: float = math.inf  # seconds of a processor


def _reduce(
    step: Step, memos: dict[int, Any], place: int, blocks: Iterable[Block]
) -> tuple[list[Any], dict[int, Any], float, int]:
    """Sums over a run, by subtrees, the memos of its blocks, the time it took and their number."""
    statistics, fresh, began = [], {}, thread_time()
    for block in blocks:
        here, memo = step(block, memos.get(block.index))
        statistics.append(here)
        if memo is not None:
            fresh[block.index] = memo
    count = len(statistics)
    return list(subtrees(statistics, place, place + count)), fresh, thread_time() - began, count


def _apply(function: Callable[[Block], Any], place: int, blocks: Iterable[Block]) -> list[Any]:
    return [function(block) for block in blocks]


def _helped(helpers: ThreadPoolExecutor, work: Iterator[Callable[[], Any]], width: float) -> Iterator[Any]:
    """Results in the order of the work, with at most `width` pieces of it in flight.

    This thread is one of those that work: while what comes next is not done, it does what nobody has begun.
    """
    window: deque[_Piece] = deque()
    try:
        for piece in work:
            window.append(_Piece(helpers, piece))
            if len(window) >= width:
                yield _next(window)
        while window:
            yield _next(window)
    finally:
        for each in window:
            each.future.cancel()
        wait([each.future for each in window])  # nothing of this pass runs on after it, whatever ended it


def submitted(helpers: ThreadPoolExecutor, work: Callable[[], Any]) -> Any:
    """Work for a helper; a MemoryError where the system has no room for the thread, and says so in other words."""
    try:
        return helpers.submit(work)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        raise MemoryError(f"{error}: limits of memory or of threads leave no room; take fewer threads") from error


class _Piece:
    """Work that a helper may have begun, or else this thread may take back."""

    def __init__(self, helpers: ThreadPoolExecutor, work: Callable[[], Any]) -> None:
        self.work, self.future, self.own = work, submitted(helpers, work), False
        self.outcome: Any = None

    def taken_back(self) -> bool:
        """Whether nobody had begun it; then it is done now."""
        if self.own or not self.future.cancel():
            return False
        self.own, self.outcome = True, self.work()
        return True


def _next(window: deque[_Piece]) -> Any:
    """What came of the first piece of work of those that are in flight."""
    first = window[0]
    while not (first.own or first.future.done()) and any(piece.taken_back() for piece in window):
        pass
    window.popleft()
    return first.outcome if first.own else first.future.result()


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
