"""One pass: the same task on every job, what comes of them in order, and all that was lost on the way done anew.

Sums are added up on the workers, `FAN` neighbours at a time, until no more than that many are left to come here.
"""

from __future__ import annotations

from asyncio import CancelledError as AsyncCancelledError
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any

from unveil.core.protocols import Source
from unveil.engines.cluster.patience import Patience
from unveil.engines.cluster.rows import ClusterRows, is_lost
from unveil.engines.cluster.runs import Job, joined

FAN = 16  # sums that are added up by one task, and that come here
LISTEN_SECONDS = 5.0  # after which a cluster that says nothing is asked whether it is there
SILENT_TURNS = 12  # of these without a result, after which it is asked whether it still works on this pass


@dataclass(eq=False)
class _Batch:
    """Jobs that are submitted at once, and what is waited for."""

    jobs: list[Job]
    leaves: list[Any] = field(default_factory=list)  # a future for each job
    tops: list[Any] = field(default_factory=list)  # the futures that are gathered
    done: int = 0  # leaves that were seen to be done
    turns: int = 0  # without any more of them
    settled: Event = field(default_factory=Event)  # when all that is waited for is done, or one has failed

    @property
    def finished(self) -> int:
        """Leaves that are done."""
        return sum(not is_lost(leaf) and leaf.status == "finished" for leaf in self.leaves)


class Flight:
    """A task for all jobs of a pass, with what it does to each block sent once.

    Parameters
    ----------
    rows : ClusterRows
    source : source
        Whose rows they are.
    task : callable
        Of the payload, a shell, a job, and what the shell reads from.
    payload : object
        What is done to each block.
    patience : float
        Seconds to wait for what is lost to come back.
    """

    def __init__(
        self, rows: ClusterRows, source: Source, task: Callable[..., Any], payload: Any, patience: float
    ) -> None:
        self.rows, self.source, self.client = rows, source, rows.client
        self.task, self.payload = task, payload
        self.patience = Patience(patience)
        self._remote: Any = None
        self._deserted = False  # were there no workers when last asked?

    def sums(self, jobs: list[Job]) -> Iterator[Any]:
        """What jobs return, joined with their neighbours to few parts, in order."""
        width = self._width() if self.rows.recomputed else len(jobs)
        return self._results(jobs, width, fold=True)

    def each(self, jobs: list[Job]) -> Iterator[Any]:
        """What each job returns, in order, with a bounded number of them under way."""
        return self._results(jobs, self._width(), fold=False)

    def _width(self) -> int:
        return max(16, 2 * sum(self.rows.members.threads().values()))

    def _results(self, jobs: list[Job], width: int, fold: bool) -> Iterator[Any]:
        """Results by batches, of which the next is under way when one is waited for."""
        waiting = deque(_Batch(list(each)) for each in _by(max(width, 1), jobs))
        under_way: deque[_Batch] = deque()
        try:
            while waiting or under_way:
                while waiting and len(under_way) < 2:
                    under_way.append(waiting.popleft())
                    self._submit(under_way[-1], fold)
                yield from self._gather(under_way[0], fold)
                under_way.popleft()
        finally:
            futures = {one.key: one for batch in under_way for one in (*batch.tops, *batch.leaves) if one is not None}
            if futures:
                self.client.cancel(list(futures.values()))

    def _submit(self, batch: _Batch, fold: bool) -> None:
        """All of a batch that is not under way yet, or no longer."""
        batch.leaves = batch.leaves or [None] * len(batch.jobs)
        self.patience.insist(lambda: self._submit_lost(batch))
        batch.tops = self._folded(batch.leaves) if fold else list(batch.leaves)
        batch.done, batch.turns, batch.settled = batch.finished, 0, _settled(batch.tops)

    def _submit_lost(self, batch: _Batch) -> None:
        places = {job.run: place for place, job in enumerate(batch.jobs) if is_lost(batch.leaves[place])}
        if is_lost(self._remote) and places:
            (self._remote,) = self.rows.send([self.payload], None)
        for worker, runs in self.rows.places(list(places)).items():
            shells = self.rows.shells(self.source, runs, worker)
            late = self.rows.arguments(self.source, runs, worker)
            where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
            jobs = [batch.jobs[places[run]] for run in runs]
            first = -min(runs)  # a run is finished before the rows of the next are computed
            remote = [self._remote] * len(jobs)
            futures = self.client.map(self.task, remote, shells, jobs, late, pure=False, priority=first, **where)
            for run, future in zip(runs, futures, strict=True):
                batch.leaves[places[run]] = future

    def _folded(self, futures: list[Any]) -> list[Any]:
        """Futures of sums over neighbours, few enough to come here."""
        while len(futures) > FAN:
            futures = [self.client.submit(joined, *few, pure=False, priority=1) for few in _by(FAN, futures)]
        return futures

    def _gather(self, batch: _Batch, fold: bool) -> list[Any]:
        """What a batch comes to; what is lost on the way is submitted again."""
        while True:
            try:
                found = self._heard(batch)
            except (Exception, AsyncCancelledError) as error:
                self._judge(batch, error)
            else:
                self.patience.over()
                return found
            if any(is_lost(future) for future in (*batch.leaves, *batch.tops)):
                self._submit(batch, fold)

    def _heard(self, batch: _Batch) -> list[Any]:
        """The results, or an error: one of a task, a loss, or silence."""
        if not batch.settled.wait(LISTEN_SECONDS):
            raise TimeoutError("the cluster is silent")
        longest = max(self.patience.seconds, LISTEN_SECONDS)  # results may be large, so this is no matter of seconds
        gather = partial(self.client.gather, batch.tops, asynchronous=True)
        return list(self.client.sync(lambda: gather(), callback_timeout=longest))

    def _judge(self, batch: _Batch, error: BaseException) -> None:
        """Raise what a task has raised; wait where something was lost; do nothing where it only takes long."""
        killed = self._errors(batch)
        if batch.finished > batch.done:
            self.patience.over()
            batch.done, batch.turns = batch.finished, 0
        if killed is not None:
            self.patience.lost(killed)
        elif isinstance(error, CancelledError | AsyncCancelledError):
            self.patience.lost(error)
        elif isinstance(error, TimeoutError | OSError):
            self._ask(batch, error)
        else:
            raise error

    def _errors(self, batch: _Batch) -> BaseException | None:
        """Raise the first error of a task's own; that of one whose workers died, which is then forgotten."""
        from distributed import KilledWorker

        killed: BaseException | None = None
        for futures in (batch.leaves, batch.tops):
            for place, future in enumerate(futures):
                if future is None or future.status != "error":
                    continue
                found = future.exception()
                if not isinstance(found, KilledWorker):
                    future.result()
                killed, futures[place] = found, None
        return killed

    def _ask(self, batch: _Batch, error: BaseException) -> None:
        """After a silence: are there workers, and do they work on this?"""
        batch.turns += 1
        try:
            deserted = not self.rows.members.threads(now=True)
        except (TimeoutError, OSError) as unheard:
            deserted, error = True, unheard
        if deserted:
            self.patience.lost(error if isinstance(error, OSError) else TimeoutError("there is no worker"))
        elif self._deserted:
            self.patience.over()
        self._deserted = deserted
        if not deserted and batch.turns >= SILENT_TURNS:
            self._drop_forgotten(batch)

    def _drop_forgotten(self, batch: _Batch) -> None:
        """Forget what no worker has: a scheduler under many losses may be left waiting for what will never come."""
        batch.turns = 0
        busy = {key for keys in self.client.processing().values() for key in keys}
        if busy:
            return
        self.patience.lost(TimeoutError("the scheduler has work that no worker is given"))
        left = [leaf for leaf in batch.leaves if leaf is not None and leaf.status == "pending"]
        self.client.cancel(left)
        batch.leaves = [None if leaf is None or leaf.status != "finished" else leaf for leaf in batch.leaves]
        batch.tops = [None]


def _settled(futures: Sequence[Any]) -> Event:
    """What is set as soon as all futures are done, or one is lost or has failed."""
    settled, left = Event(), {future.key for future in futures}

    def note(future: Any) -> None:
        left.discard(future.key)
        if not left or future.status != "finished":
            settled.set()

    for future in futures:
        future.add_done_callback(note)
    return settled


def _by(size: int, items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Neighbours, so many at a time."""
    return (items[first : first + size] for first in range(0, len(items), size))
