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
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, chain, islice
from numbers import Integral
from threading import Event
from time import thread_time
from typing import Any, NamedTuple

from unveil.core.idle_threads import default_workers as default_workers
from unveil.core.idle_threads import lending
from unveil.core.memory import reading_room
from unveil.core.partition import count_of, rows_of, width_of
from unveil.core.protocols import Block, Source, Step
from unveil.core.statistics import Statistics, TreeSum, subtrees
from unveil.engines.memos import Memos
from unveil.numerics.blas import single_threaded_blas

BLOCKS_AHEAD = 2  # blocks in flight per worker: enough to keep it busy, few enough to bound the memory of a stream
QUICK_BLOCK = 2.5e-4  # seconds of a block below which threads wait longer for the interpreter's lock than they work
LONE_RUN = 8  # partitions in a run of a thread that works alone: their statistics are all held until they are added
DECODED_RUN = 32  # partitions of a file in a run: large against what is decoded twice at its ends
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
        memos = memos if isinstance(memos, Memos) else Memos(source, memos)
        if partitions is not None and len(partitions) == 1 and getattr(source, "random_access", False):
            return self._reduce_one(step, source, memos, partitions), memos
        total, seconds, blocks = TreeSum(), 0.0, 0
        with single_threaded_blas():
            ended = Event()
            task = partial(_reduce, step, memos, ended)
            try:
                for sums, spent, count in self._results(task, source, partitions, memos.pace, ended):
                    seconds, blocks = seconds + spent, blocks + count
                    for height, statistics in sums:
                        total.push(statistics, height)
            finally:
                ended.set()
        memos.pace = seconds / max(blocks, 1)
        return total.total(), memos

    def _reduce_one(self, step: Step, source: Source, memos: Memos, partition: Sequence[int]) -> Statistics:
        """Statistics of a single block: a mini-batch, of which there are many, so nothing else is done for it."""
        with single_threaded_blas(), nullcontext() if self.count == 1 else lending(self.share):
            (block,) = source.read(partition)
            statistics, memo = step(block, memos.recall(block.index))
        if memo is not None:
            memos.remember(block.index, memo)
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
        task: Callable[[_BlockRun], Any],
        source: Source,
        partitions: Sequence[int] | None,
        pace: float = math.inf,
        ended: Event | None = None,
    ) -> Iterator[Any]:
        """What `task` makes of runs of blocks, in order.

        Where the `pace` of the pass before, seconds per block, is quick, this thread does it all, unless blocks have to
        be read. Work that stops once the pass has `ended`, and of which little comes, is done by runs that each thread
        decodes for itself; else blocks of a file are handed out one by one, so that no more than a few results wait.
        """
        alone = (pace < QUICK_BLOCK or self.count == 1) and getattr(source, "random_access", False)
        runs: Iterator[_BlockRun] | None = None
        if getattr(source, "random_access", False):
            runs, width = self._runs(source, partitions, alone, pace), 2 * RUNS_EACH * self.count
        elif ended is not None:
            runs, width = self._decoded(source, partitions), 2 * self.count
        if runs is None:
            width = max(min(BLOCKS_AHEAD * self.count, int(reading_room() / (2 * _bytes_of_block(source)))), 1)
            runs = (_BlockRun(place, 1, [block]) for place, block in enumerate(source.read(partitions)))
        head = list(islice(runs, 2))  # a single run needs no pool
        work = (partial(task, run) for run in chain(head, runs))
        if self.count > 1 and len(head) == 1:
            return self._lending(work)
        if self.count == 1 or len(head) < 2 or alone:
            return (piece() for piece in work)
        return _helped(_pool(self.count - 1), work, width, ended)

    def _lending(self, work: Iterator[Callable[[], Any]]) -> Iterator[Any]:
        """Results of work that this thread does alone, while its model may use the others."""
        for piece in work:
            with lending(self.share):
                result = piece()
            yield result

    def _runs(self, source: Source, partitions: Sequence[int] | None, alone: bool, pace: float) -> Iterator[_BlockRun]:
        """Rows that any thread can reach: neighbours travel together, so that there is little to hand out.

        Sources read as they are asked for rows, so it is the thread that uses a block which reads it.
        """
        every = range(count_of(source)) if partitions is None else partitions
        fair = max(min(len(every), LONE_RUN) if alone else len(every) // (RUNS_EACH * self.count), 1)
        size = 1 << (fair.bit_length() - 1)  # a power of two, so that a run is a subtree of the sum
        while not alone and size > 1 and size * pace > LONGEST_RUN:
            size //= 2
        pieces = ((first, every[first : first + size]) for first in range(0, len(every), size))
        return (_BlockRun(first, len(piece), source.read(piece)) for first, piece in pieces)

    def _decoded(self, source: Any, partitions: Sequence[int] | None) -> Iterator[_BlockRun] | None:
        """Rows that have to be decoded, in runs that begin where decoding can: `unveil.sources.files.scan.Scan.runs`.

        None where a source has no such runs, or so few that threads would wait for each other, or where so many readers
        would hold too much: then one thread reads ahead of all that work.
        """
        if self.count == 1 or not getattr(source, "side_by_side", False):
            return None
        if self.count * source.reader_bytes > reading_room():
            return None
        count = count_of(source) if partitions is None else len(partitions)
        runs = source.runs(partitions, max(min(count // (RUNS_EACH * self.count), DECODED_RUN), 1))
        if len(runs) < RUNS_EACH * self.count:
            return None
        places = accumulate((len(run) for run in runs), initial=0)
        return (_BlockRun(place, len(run), source.fetch(run)) for place, run in zip(places, runs, strict=False))


def _bytes_of_block(source: Source) -> float:
    """Of the largest, about; of a sparse one, by the cells that are stored."""
    return 8.0 * max(rows_of(source, range(min(count_of(source), 1))) * width_of(source), 1)


class _BlockRun(NamedTuple):
    """Blocks that one thread works on."""

    place: int  # how many blocks come before
    n_blocks: int
    blocks: Iterable[Block]


def _reduce(step: Step, memos: Memos, ended: Event, run: _BlockRun) -> tuple[list[Any], float, int]:
    """Sums over a run, by subtrees, the time it took and the number of its blocks."""
    began = thread_time()
    sums = list(subtrees(_leaves(step, memos, ended, run.blocks), run.place, run.place + run.n_blocks))
    return sums, thread_time() - began, run.n_blocks


def _leaves(step: Step, memos: Memos, ended: Event, blocks: Iterable[Block]) -> Iterator[Statistics]:
    """Statistics of each block, whose memos are brought up to date; no more of them once the pass has ended."""
    for block in blocks:
        if ended.is_set():
            raise CancelledError
        here, memo = step(block, memos.recall(block.index))
        if memo is not None:
            memos.remember(block.index, memo)
        yield here


def _apply(function: Callable[[Block], Any], run: _BlockRun) -> list[Any]:
    return [function(block) for block in run.blocks]


def _helped(
    helpers: ThreadPoolExecutor, work: Iterator[Callable[[], Any]], width: float, ended: Event | None = None
) -> Iterator[Any]:
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
        if ended is not None:
            ended.set()  # long pieces of work look at it
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
