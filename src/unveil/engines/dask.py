"""Passes on a Dask cluster, with the bits of every other engine.

A partition is too little work for a task, so neighbours travel in *runs*. A task adds up what its run has of whole
subtrees of the fixed tree (`unveil.core.statistics`), tasks of their own add up these, and the last few come here: the
additions are the same ones, done elsewhere. What crosses the network in a pass is the parameters, once to each worker,
and statistics.

What a run remembers stays on the worker. A killed worker loses memos, which costs time but no bits, and rows, which are
computed or sent again. The parts are in `cluster/`: `rows` (runs, and how they get to a worker), `runs` (what is done
there), `flight` (one pass, and what is done about losses).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from numbers import Real
from typing import Any, ClassVar

from unveil.core.drive import LastPartition
from unveil.core.protocols import Block, Source, Step
from unveil.core.statistics import Statistics, TreeSum
from unveil.engines.cluster.client import client_of
from unveil.engines.cluster.flight import Flight
from unveil.engines.cluster.patience import Patience
from unveil.engines.cluster.rows import ClusterRows, Members
from unveil.engines.cluster.runs import Job, map_job, reduce_job

_numbers = count(1)
_placed: dict[tuple[int, str], ClusterRows] = {}  # rows stay on a cluster for as long as their source lives here


@dataclass(frozen=True, eq=False, repr=False)
class Dask:
    """Run on a Dask cluster.

    Parameters
    ----------
    client : distributed.Client, str or None, default=None
        The cluster's client, or the address of its scheduler. None takes the current client, at the time of use.
    patience : float, default=600.0
        Seconds for which a fit waits for a cluster that has lost workers to finish anything again. Then it ends with
        a `ClusterLostError`. As long as something is finished now and then, or workers are there and busy, it goes on.

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

    remote: ClassVar[bool] = True  # rows are elsewhere: those that somebody wants to see are picked there

    client: Any = None
    patience: float = 600.0

    def __post_init__(self) -> None:
        if not isinstance(self.patience, Real) or isinstance(self.patience, bool) or not self.patience >= 0:
            raise ValueError(f"patience must be a number of seconds from 0 on, got {self.patience!r}")

    def map_reduce(
        self, step: Step, source: Source, memos: dict[int, int] | None, partitions: Sequence[int] | None = None
    ) -> tuple[Statistics, dict[int, int]]:
        """Statistics of all blocks, added in tree order, and which pass wrote the memos of each run."""
        memos = {} if memos is None else memos
        source, rows = self._rows(source)
        total, number = TreeSum(), next(_numbers)
        jobs = _jobs(rows, partitions, memos, number)
        for part in Flight(rows, source, reduce_job, step, self.patience).sums(jobs):
            rows.note(part.places)
            memos.update(dict.fromkeys((run for runs in part.places.values() for run in runs), number))
            for height, statistics in part.sums:
                total.push(statistics, height)
        return total.total(), memos

    def map(
        self, function: Callable[[Block], Any], source: Source, partitions: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """`function` of each block, or of those of some partitions, in order."""
        source, rows = self._rows(source)
        jobs = _jobs(rows, partitions, {}, 0)
        flight = Flight(rows, source, map_job, function, self.patience)
        return (value for values in flight.each(jobs) for value in values)

    def _rows(self, source: Source) -> tuple[Source, ClusterRows]:
        """A source, and its rows on the cluster."""
        source = source._source if isinstance(source, LastPartition) else source
        client = client_of(self.client)
        key = id(source), client.id
        if key not in _placed:
            members = Members(client)
            Patience(self.patience).insist(members.some)  # how rows are cut depends on how many there are
            _placed[key] = ClusterRows(client, members, source)
            weakref.finalize(source, _placed.pop, key, None).atexit = False
        return source, _placed[key]

    def __repr__(self) -> str:
        waits = "" if self.patience == type(self).patience else f", patience={self.patience:g}"
        return f"Dask(client={self.client!r}{waits})"

    def __eq__(self, other: object) -> bool:  # work for one may be done by the other
        return isinstance(other, Dask) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash((Dask, self._identity))

    @property
    def _identity(self) -> tuple[Any, float]:
        return self.client if isinstance(self.client, str) else id(self.client), self.patience

    def __deepcopy__(self, memo: dict[int, Any]) -> Dask:
        return Dask(self.client, self.patience)  # scikit-learn's clone copies deeply; a client cannot be copied

    def __reduce__(self) -> tuple[Any, ...]:
        # a client belongs to its process; elsewhere the current one is taken. An address holds everywhere.
        return Dask, (self.client if isinstance(self.client, str) else None, self.patience)


def _jobs(rows: ClusterRows, partitions: Sequence[int] | None, memos: dict[int, int], number: int) -> list[Job]:
    """The partitions asked for, by runs."""
    jobs: list[Job] = []
    position = 0
    for run, members in rows.by_run(partitions):
        jobs.append(Job(run, members, position, memos.get(run, 0), number))
        position += len(members)
    return jobs
