"""The rows of a source as a cluster has them: cut into runs, each with a place, sent or computed once.

Runs are cut where the source says by an optional method ``runs(most=)``, such as at the row groups of files, or else
are of equal length. How the rows of a run reach a worker is said by an optional method ``ship(run)``, which returns
``(read, argument)``: on the worker, ``read(argument, partitions)`` yields the blocks of partitions that are all in the
run. An argument that is one object for all runs (a scan with its headers) is sent once. One that is a piece of a Dask
collection is computed on the cluster: once, and kept there, where all of it fits into the workers' memory, else for
every pass. Rows of a source without the method are read here and sent once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from math import ceil
from time import monotonic
from typing import Any
from weakref import ref

from unveil.core.partition import count_of, rows_of, width_of
from unveil.core.protocols import Source
from unveil.engines.cluster.runs import Shell, held

RUNS_EACH, FEWEST_RUNS = 4, 8  # runs per thread of a cluster, and of any: enough to even out their load
RUN_CELLS = 1 << 23  # of a run that is held in memory: 64 megabytes, large against the overhead of a task
STREAMED_CELLS = 1 << 27  # of a run that is read block by block: what is done anew where a worker is lost
SHARE_KEPT = 0.4  # of the memory that workers have left, that a collection may take up once it is cut
MEMBERS_SECONDS = 2.0  # for which the list of workers is believed
SCATTER_SECONDS = 5.0  # to wait for a worker that takes data


def cut_runs(source: Any, threads: int) -> list[Sequence[int]]:
    """The partitions of a source by runs of neighbours, each of which is a task. No bit depends on it."""
    count, cut = count_of(source), getattr(source, "runs", None)
    cells = -(-rows_of(source, range(count)) // max(count, 1)) * max(width_of(source), 1)  # of a partition
    most = (RUN_CELLS if cut is None else STREAMED_CELLS) // max(cells, 1)
    fair = max(min(most, count // max(RUNS_EACH * threads, FEWEST_RUNS)), 1)
    if cut is not None:
        return [range(run[0], run[-1] + 1) for run in cut(most=fair)]
    length = 1 << (fair.bit_length() - 1)  # a power of two: a run is a subtree of the sum, which has one total
    return [range(first, min(first + length, count)) for first in range(0, count, length)]


def is_lost(future: Any) -> bool:
    """Is there nothing to wait for: never submitted, or gone with its worker?"""
    return future is None or future.status in ("cancelled", "lost")


class Members:
    """The workers of a cluster and their threads, asked for now and then."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._asked, self._threads = -MEMBERS_SECONDS, dict[str, int]()

    def threads(self, now: bool = False) -> dict[str, int]:
        """Threads by address of a worker."""
        if now or not self._threads or monotonic() - self._asked > MEMBERS_SECONDS:
            self._threads, self._asked = dict(self.client.nthreads()), monotonic()
        return self._threads

    def some(self) -> None:
        """An error where there is no worker."""
        if not self.threads(now=True):
            raise TimeoutError("there is no worker")

    def memory_left(self) -> float:
        """Bytes that workers have left, all in all; infinite where they have no limit."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker.get("memory_limit") or 0 for worker in workers]
        if not limits or not all(limits):
            return float("inf") if limits else 0.0
        used = (worker.get("metrics", {}).get("memory", 0) for worker in workers)
        return float(sum(max(limit - here, 0) for limit, here in zip(limits, used, strict=True)))


class ClusterRows:
    """A source on a cluster, in runs of partitions."""

    def __init__(self, client: Any, members: Members, source: Source) -> None:
        self.client, self.members = client, members
        self.runs = cut_runs(source, sum(members.threads().values()))
        self._firsts = [run[0] for run in self.runs]
        self.where: dict[int, str] = {}  # the worker that had a run last
        self._shells: dict[int, Any] = {}
        self._late: dict[int, Any] = {}  # pieces of a collection, or futures of them where they are kept
        self._shared: list[tuple[ref[Any], Any]] = []  # arguments of all runs, not kept alive here, and their futures
        self._own = not hasattr(source, "ship")
        self.recomputed = not self._own and self._cut(source)  # are rows computed anew for every pass?

    def _cut(self, source: Any) -> bool:
        """Have the pieces of a collection computed and kept, if it is one and fits; whether it is but does not."""
        from dask import is_dask_collection

        pieces = {}
        for number, run in enumerate(self.runs):
            _, argument = source.ship(run)
            if not is_dask_collection(argument):
                return False
            pieces[number] = argument
        self._late = pieces
        size = source.n_rows * source.n_columns * source.dtype.itemsize
        if size > SHARE_KEPT * self.members.memory_left():
            return True
        self._late = dict(zip(pieces, self.client.compute(list(pieces.values())), strict=True))
        return False

    def by_run(self, partitions: Sequence[int] | None) -> Iterator[tuple[int, Sequence[int]]]:
        """Runs by number, with those of their partitions that are asked for, all by default."""
        if partitions is None:
            yield from enumerate(self.runs)
            return
        for run, few in groupby(sorted(set(partitions)), key=lambda index: bisect_right(self._firsts, index) - 1):
            yield run, tuple(few)

    def places(self, runs: Sequence[int]) -> dict[str | None, list[int]]:
        """Runs by the worker that they are to go to: where they were, as long as none has more than its share.

        Those without a place fill up the workers in order, so that neighbours go together; rows that the cluster
        computes are placed by its scheduler.
        """
        threads = self.members.threads()
        room = {worker: ceil(len(self.runs) * each / sum(threads.values())) for worker, each in threads.items()}
        placed: dict[str | None, list[int]] = {}
        left = []
        wanted = set(runs)
        for run, worker in self.where.items():
            if room.get(worker, 0) > 0:
                room[worker] -= 1
                if run in wanted:
                    placed.setdefault(worker, []).append(run)
            elif run in wanted:
                left.append(run)
        left = sorted(left + [run for run in runs if run not in self.where])
        for run in left:
            free = None if self._late and run not in self.where else next((one for one in room if room[one] > 0), None)
            if free is not None:
                room[free] -= 1
            placed.setdefault(free, []).append(run)
        return placed

    def note(self, places: dict[str, list[int]]) -> None:
        """Where runs have been."""
        for worker, runs in places.items():
            self.where.update(dict.fromkeys(runs, worker))

    def shells(self, source: Any, runs: Iterable[int], worker: str | None) -> list[Any]:
        """Futures of the shells of some runs, which are sent to a worker where they are not on the cluster."""
        runs = list(runs)
        missing = [run for run in runs if is_lost(self._shells.get(run))]
        if self._own:
            for run in missing:  # one by one: their rows may be many
                (self._shells[run],) = self.send([self._own_shell(source, run)], worker)
        elif missing:
            sent = self.send([Shell(source.ship(self.runs[run])[0]) for run in missing], worker)
            self._shells.update(zip(missing, sent, strict=True))
        return [self._shells[run] for run in runs]

    def arguments(self, source: Any, runs: Sequence[int], worker: str | None) -> list[Any]:
        """What the shells of some runs are handed to read from: futures, or nothing."""
        if self._own:
            return [None] * len(runs)
        if self.recomputed:
            place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
            return list(self.client.compute([self._late[run] for run in runs], **place))
        if self._late:
            return [self._kept(run, source) for run in runs]
        return [self._same_for_all(source.ship(self.runs[run])[1]) for run in runs]

    def _kept(self, run: int, source: Any) -> Any:
        """The future of a piece of a collection."""
        if is_lost(self._late[run]):
            self._late[run] = self.client.compute(source.ship(self.runs[run])[1])
        return self._late[run]

    def _same_for_all(self, argument: Any) -> Any:
        """The future of an argument that is sent once."""
        for known, future in self._shared:
            if known() is argument and not is_lost(future):
                return future
        (future,) = self.send([argument], None)
        self._shared = [(ref(argument), future), *(pair for pair in self._shared if pair[0]() is not argument)]
        return future

    def _own_shell(self, source: Source, run: int) -> Shell:
        """A run that is read here."""
        blocks = list(source.read(self.runs[run]))
        return Shell(partial(held, blocks), sum(block.rows.nbytes for block in blocks))

    def send(self, values: list[Any], worker: str | None) -> list[Any]:
        """The futures of values that are sent to a worker, or to any."""
        scatter = partial(self.client.scatter, values, hash=False, timeout=SCATTER_SECONDS)
        if worker is not None:
            with suppress(KeyError):  # it has just gone
                return list(scatter(workers=[worker]))
            self.members.threads(now=True)
        return list(scatter())
