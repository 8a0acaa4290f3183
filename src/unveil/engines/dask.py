"""Runs of partitions on a Dask cluster, with the bits of every other engine.

A partition is too little work for a task, so neighbours travel in *runs* of 2**j. A task adds up what its run has of
whole subtrees of the fixed tree (`unveil.core.statistics.TreeSum`) and hands in each with its height: the additions
are the same ones, done elsewhere.

A source may say how its rows reach a worker by an optional method ``ship(run, length)`` that returns ``(read,
argument)``: on the worker, ``read(argument, partitions)`` yields the blocks of those partitions, all of them among
``run * length ... (run + 1) * length - 1``. If the argument is a Dask collection, it is computed on the cluster for
every pass. Rows of a source without the method are read here and sent once, so later passes send no rows.

What a run remembers stays on the worker, inside the object that holds its rows, with the number of the submission that
wrote it: a copy left behind by a moved run or a failed attempt is never taken for the newest. A killed worker loses
memos, which costs time but no bits, and rows, which are sent again.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import partial
from itertools import count, groupby
from typing import Any, NamedTuple

from unveil.core.partition import count_of, rows_of, width_of
from unveil.core.protocols import Block, Memo, Source, Step
from unveil.core.statistics import Statistics, TreeSum, subtrees
from unveil.numerics.blas import single_threaded_blas

RUN_PARTITIONS, RUN_CELLS = 32, 1 << 22  # a run has no more, 32 megabytes: large against the overhead of a task
FEWEST_RUNS = 32  # runs are shorter where there would be fewer, so that a small table still occupies a cluster
RETRY_PAUSES = (0.1, 1.0, 5.0)  # seconds before each new attempt after a worker was lost

_numbers = count(1)
Kept = tuple[int, str]  # where the memos of a run are: number of the submission that wrote them, and the worker


@dataclass(frozen=True, eq=False)
class Dask:
    """Run on a Dask cluster.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster's client. None takes the current one, at the time of use.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from unveil.engines import Dask
    >>> from unveil.sources import ArraySource
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     list(Dask(client).map(lambda block: float(block.rows.sum()), ArraySource(np.ones((18_000, 1)))))
    [16384.0, 1616.0]
    """

    client: Any = None
    _sent: dict[tuple[int, str], dict[int, _Sent]] = field(default_factory=dict, init=False, repr=False)

    def map_reduce(
        self, step: Step, source: Source, memos: dict[int, Kept] | None, partitions: Sequence[int] | None = None
    ) -> tuple[Statistics, dict[int, Kept]]:
        """Statistics of all blocks, added in tree order, and where the memos for the next pass are."""
        memos = {} if memos is None else memos
        total = TreeSum()
        for job, (worker, sums) in self._flight(_reduce, step, source).results(_jobs(source, partitions, memos)):
            memos[job.run] = job.number, worker
            for height, statistics in sums:
                total.push(statistics, height)
        return total.total(), memos

    def map(self, function: Callable[[Block], Any], source: Source) -> Iterator[Any]:
        """`function` of each block, in order."""
        flight = self._flight(_apply, function, source)
        return (value for _, values in flight.results(_jobs(source, None, {})) for value in values)

    def _flight(self, task: Callable[..., Any], payload: Any, source: Source) -> _Flight:
        client = current_client() if self.client is None else self.client
        key = id(source), client.id
        if key not in self._sent:  # rows stay on the cluster for as long as both this engine and the source live
            self._sent[key] = {}
            weakref.finalize(source, self._sent.pop, key, None).atexit = False
        return _Flight(client, task, payload, source, self._sent[key])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dask) and self.client is other.client  # work for one may be done by the other

    def __hash__(self) -> int:
        return hash((Dask, id(self.client)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Dask:
        return Dask(self.client)  # scikit-learn's clone copies deeply; a client cannot be copied

    def __reduce__(self) -> tuple[Any, ...]:
        return Dask, ()  # a client belongs to its process; elsewhere the current one is taken


def current_client() -> Any:
    """The current Dask client, or an error that says how to get one."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError('engine="dask" needs dask and distributed: install the extra, unveil[dask]') from error
    try:
        return Client.current()
    except ValueError:
        raise ValueError(
            'engine="dask" found no Dask client in this process: make one first, client = distributed.Client(), '
            "or pass engine=unveil.engines.Dask(client)"
        ) from None


def run_length(source: Source) -> int:
    """Partitions in a run: a power of two that follows from the shape of the table alone."""
    count = count_of(source)
    cells = -(-rows_of(source, range(count)) // max(count, 1)) * max(width_of(source), 1)  # of a partition
    most = min(RUN_PARTITIONS, RUN_CELLS // max(cells, 1), count // FEWEST_RUNS)
    return 1 << (max(most, 1).bit_length() - 1)


class _Job(NamedTuple):
    """Some partitions of one run."""

    run: int
    partitions: tuple[int, ...]
    position: int  # number of the first of them among all the leaves of the tree
    kept: Kept | None
    number: int = 0  # of the submission


def _jobs(source: Source, partitions: Sequence[int] | None, memos: dict[int, Kept]) -> list[_Job]:
    """The partitions asked for, by runs."""
    length = run_length(source)
    wanted = range(count_of(source)) if partitions is None else sorted(set(partitions))
    jobs: list[_Job] = []
    position = 0
    for run, members in groupby(wanted, key=lambda index: index // length):
        jobs.append(_Job(run, tuple(members), position, memos.get(run)))
        position += len(jobs[-1].partitions)
    return jobs


@dataclass(eq=False)
class _Run:
    """A run on its worker: how to read its blocks, and what they remember."""

    read: Callable[..., Iterator[Block]]
    nbytes: int = 0
    memos: tuple[int, dict[int, Memo]] = (0, {})

    def take(self, kept: Kept | None) -> dict[int, Memo]:
        """The memos, if they are those `kept` speaks of. They leave: models may write to them before an error."""
        (number, memos), self.memos = self.memos, (0, {})
        return memos if kept is not None and kept[0] == number else {}

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes  # by this the scheduler weighs whether to move a run


def _reduce(step: Step, run: _Run, job: _Job, *late: Any) -> tuple[str, list[tuple[int, Statistics]]]:
    """On a worker: its address, and the statistics of a job by subtrees, with their heights."""
    from distributed import get_worker

    memos = run.take(job.kept)
    leaves = _leaves(step, run.read(*late, job.partitions), memos)
    with single_threaded_blas():
        sums = list(subtrees(leaves, job.position, job.position + len(job.partitions)))
    run.memos = job.number, memos
    return get_worker().address, sums


def _leaves(step: Step, blocks: Iterator[Block], memos: dict[int, Memo]) -> Iterator[Statistics]:
    """Statistics of each block; the memos are brought up to date on the way."""
    for block in blocks:
        statistics, memo = step(block, memos.get(block.index))
        if memo is not None:
            memos[block.index] = memo
        yield statistics


def _apply(function: Callable[[Block], Any], run: _Run, job: _Job, *late: Any) -> list[Any]:
    """On a worker: `function` of each block of a job."""
    with single_threaded_blas():
        return [function(block) for block in run.read(*late, job.partitions)]


def _held(blocks: list[Block], partitions: Sequence[int]) -> Iterator[Block]:
    """Those of `blocks` that are asked for."""
    return (block for block in blocks if block.index in partitions)


class _Sent(NamedTuple):
    """A run as the client knows it: the future of its `_Run`, and a collection to compute for every pass, if any."""

    future: Any
    late: Any = None


@dataclass(eq=False)
class _Flight:
    """One pass: the same task on every job, with a bounded number of them under way."""

    client: Any
    task: Callable[..., Any]
    payload: Any
    source: Source
    sent: dict[int, _Sent]
    remote: Any = None  # the payload on the cluster: sent once, not with every task

    def results(self, jobs: list[_Job]) -> Iterator[tuple[_Job, Any]]:
        """Jobs and what came of them, in order. Whatever ends this early cancels what is still under way."""
        futures: list[Any] = [None] * len(jobs)
        width = max(16, 2 * sum(self.client.nthreads().values()))
        try:
            for first in range(0, len(jobs), width):
                ahead, batch = slice(first, first + 2 * width), slice(first, first + width)
                results = _again(partial(self._gather, jobs, futures, ahead, batch), CancelledError)
                futures[batch] = [None] * len(results)
                yield from zip(jobs[batch], results, strict=True)
        finally:
            under_way = [future for future in futures if future is not None]
            if under_way:
                self.client.cancel(under_way)

    def _gather(self, jobs: list[_Job], futures: list[Any], ahead: slice, batch: slice) -> list[Any]:
        """Results of `batch`, once all that is not under way yet, or no longer, has been submitted."""
        for index in range(*ahead.indices(len(jobs))):
            if _lost(futures[index]):
                jobs[index] = jobs[index]._replace(number=next(_numbers))
                futures[index] = self._submit(jobs[index])
        return list(self.client.gather(futures[batch]))

    def _submit(self, job: _Job) -> Any:
        if _lost(self.remote):
            self.remote = self._send(self.payload)
        if job.run not in self.sent or _lost(self.sent[job.run].future):
            self.sent[job.run] = self._ship(job.run)
        future, late = self.sent[job.run]
        place: dict[str, Any] = {"priority": -job.run}  # a run is finished before the rows of the next are computed
        if job.kept is not None:
            place |= {"workers": [job.kept[1]], "allow_other_workers": True}
        rows = [] if late is None else [self.client.compute(late, **place)]
        return self.client.submit(self.task, self.remote, future, job, *rows, pure=False, **place)

    def _ship(self, run: int) -> _Sent:
        """Bring a run to the cluster."""
        from dask import is_dask_collection

        source, length = self.source, run_length(self.source)
        if not hasattr(source, "ship"):
            last = min((run + 1) * length, count_of(source))
            blocks = list(source.read(range(run * length, last)))
            return _Sent(self._send(_Run(partial(_held, blocks), sum(block.rows.nbytes for block in blocks))))
        read, argument = source.ship(run, length)
        if is_dask_collection(argument):
            return _Sent(self._send(_Run(read)), argument)
        return _Sent(self._send(_Run(partial(read, argument))))

    def _send(self, value: Any) -> Any:
        """The future of `value` on some worker; another one where that has just gone."""
        return _again(lambda: self.client.scatter([value], hash=False)[0], OSError)


def _lost(future: Any) -> bool:
    """Is there nothing to wait for: never submitted, or gone with its worker?"""
    return future is None or future.status in ("cancelled", "lost")


def _again(attempt: Callable[[], Any], error: type[Exception]) -> Any:
    """What `attempt` returns, tried again after each of the pauses if it fails with `error`."""
    for pause in RETRY_PAUSES:
        try:
            return attempt()
        except error:
            time.sleep(pause)
    return attempt()
