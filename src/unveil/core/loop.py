"""The only EM loop.

Each turn asks the schedule for one sweep over the data, writes down the bound, shows it to the callbacks and asks the
stopping rule. Everything else (which q, when the parameters move, where the work runs) is a part handed in, so a
model written five minutes ago runs here with every one of them.

`watch` opens a context in which a function is shown every pass of every fit. It is a context variable, so that it
holds for the thread (or task) that opened it and for no other.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np

from unveil.core.partition import count_of
from unveil.core.protocols import Block, Engine, Expectation, Memo, Model, Params, Piece, Schedule, Source, Work
from unveil.core.result import Fit, History, Record, State, Status, add_events
from unveil.core.statistics import Statistics

logger = logging.getLogger("unveil")

Stop = Callable[[State, State], bool]
Callback = Callable[[State], None]

_WATCHING: ContextVar[tuple[Callback, ...]] = ContextVar("unveil_watching", default=())


@dataclass(frozen=True)
class Parts:
    """What a fit is assembled from, besides its start."""

    model: Model
    source: Source
    expectation: Expectation
    schedule: Schedule
    engine: Engine
    stop: Stop
    max_iter: int = 100
    seed: int = 0
    callbacks: tuple[Callback, ...] = ()


def stream(seed: int, number: int, partition: int) -> np.random.Generator:
    """The random stream of one partition in one pass: the same whichever thread or machine draws from it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, partition)))


@dataclass(frozen=True)
class ExpectationStep:
    """The E step of one block, as engines take it: picklable, and free of state."""

    model: Model
    plan: Any
    expectation: Expectation
    seed: int
    number: int
    piece: Piece | None = None  # of the block: all of it by default

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """Statistics of `block`, and what it wants to remember."""
        random = cache(partial(stream, self.seed, self.number, block.index))  # one for all tiles, if any asks for it
        if self.piece is None:
            return self.model.expect(self.plan, block, self.expectation, memo, random)
        statistics, _ = self.model.expect(self.plan, self.piece.cut(block), self.expectation, None, random)
        return statistics, memo  # what is remembered is of whole blocks


class _Passes:
    """Runs E steps for a schedule, carrying the memos and counting the passes over all rows."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.memos: Any = None
        self.number = 0  # of the call: every one has random streams of its own
        self.partitions = 0.0  # seen so far; pieces are halves, quarters ..., which add up exactly
        self.count = count_of(parts.source)
        self.source: Any = (
            parts.source if getattr(parts.source, "random_access", False) else LastPartition(parts.source)
        )

    @property
    def passes(self) -> int:
        """Whole passes so far."""
        return int(self.partitions // self.count)

    def __call__(
        self, params: Params, partitions: Sequence[int] | None = None, piece: Piece | None = None
    ) -> Statistics:
        parts = self.parts
        plan, expectation = parts.model.prepare(params), parts.expectation.at(self.passes)
        step = ExpectationStep(parts.model, plan, expectation, parts.seed, self.number, piece)
        statistics, self.memos = parts.engine.map_reduce(step, self.source, self.memos, partitions)
        self.number += 1
        seen = self.count if partitions is None else len(partitions)
        self.partitions += seen if piece is None else seen / piece.of
        return statistics


class LastPartition:
    """A source that keeps the partition it read last, for schedules that take it piece by piece."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._last: Block | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_source":
            raise AttributeError(name)
        return getattr(self._source, name)

    def read(self, partitions: Sequence[int] | None = None) -> Iterable[Block]:
        """Blocks of the source; a single one is read once however often it is asked for in a row."""
        if partitions is None or len(partitions) != 1:
            return self._source.read(partitions)
        if self._last is None or self._last.index != partitions[0]:
            (self._last,) = self._source.read(partitions)
        return iter([self._last])


def fit(parts: Parts, start: Params) -> Fit:
    """Climb the free energy from `start` until the stopping rule is met.

    Ctrl-C ends the climb early and keeps what was reached.
    """
    check_allowed(parts)
    passes = _Passes(parts)
    work = Work(parts.model, parts.source, passes)
    began = perf_counter()
    params, statistics, schedule_state = start, Statistics(), None
    entered = start
    records: list[Record] = []
    events: Counter[str] = Counter()
    status = Status.MAX_ITER
    before: State | None = None
    try:
        for iteration in range(1, parts.max_iter + 1):
            entering = params
            params, statistics, schedule_state = parts.schedule.sweep(work, params, schedule_state)
            entered = parts.schedule.measured_at(entering, schedule_state)
            prior = parts.model.log_prior(entered)
            records.append(record_of(statistics, prior, perf_counter() - began))
            add_events(events, parts.model.events(statistics, params))
            add_events(events, parts.schedule.events(schedule_state))
            state = State(iteration, params, statistics, records[-1], records)
            for callback in parts.callbacks:
                callback(state)
            settled = parts.expectation.settled(passes.passes) and parts.schedule.settled(schedule_state)
            if before is not None and settled and parts.stop(before, state):
                status = Status.CONVERGED
                break
            before = state
    except KeyboardInterrupt:
        status = told_of_interrupt(len(records))
    monotone = parts.schedule.monotone and parts.expectation.monotone
    params = parts.schedule.ending(params, schedule_state)
    return Fit(params, statistics, History(tuple(records), dict(events), status, monotone, (), passes.passes), entered)


def told_of_interrupt(passes: int) -> Status:
    """Say that Ctrl-C came, and how the climb is to be remembered."""
    logger.warning("interrupted after %d passes; keeping the best so far", passes)
    return Status.INTERRUPTED


def check_allowed(parts: Parts) -> None:
    """Raise a ValueError that says why these parts do not go together, where they do not."""
    reason = parts.schedule.refuse(parts.model, parts.expectation)
    if reason is not None:
        schedule, expectation = parts.schedule.name, type(parts.expectation).__name__
        raise ValueError(f"schedule {schedule} with expectation {expectation} is not possible: {reason}")


def record_of(statistics: Statistics, prior: float, seconds: float) -> Record:
    """What the statistics of a pass say of its bound."""
    log_likelihood, free_energy, weight = (float(statistics[n]) for n in ("log_likelihood", "free_energy", "weight"))
    return Record(log_likelihood, free_energy, free_energy + prior, weight, seconds)


def best_of(runs: Iterable[Callable[[], Fit]], sound: Callable[[Fit], bool] = lambda fit: True) -> Fit:
    """Run the restarts in turn and keep the one that climbed highest, the first of equals.

    One that is not `sound` (it put a component on a single row, say, and climbed without end) is kept only if none is.
    Ctrl-C ends the series; it goes on to the caller only if there is nothing to keep yet.
    """
    outcomes: list[Fit] = []
    interrupted = False
    try:
        for run in runs:
            outcomes.append(run())
            if outcomes[-1].status is Status.INTERRUPTED:
                break
    except KeyboardInterrupt:
        if not outcomes:
            raise
        interrupted = True
    best = max(outcomes, key=lambda outcome: (sound(outcome), np.nan_to_num(outcome.objective, nan=-np.inf)))
    interrupted = interrupted or outcomes[-1].status is Status.INTERRUPTED
    status = Status.INTERRUPTED if interrupted else best.status
    restarts = tuple(outcome.objective for outcome in outcomes)
    return replace(best, history=replace(best.history, status=status, restarts=restarts))


@contextmanager
def watch(callback: Callback) -> Iterator[None]:
    """Show `callback` every pass of the fits in this context: progress, plots of a climb, a fit that is ended early.

    Restarts, and the fits of `unveil.select`, are shown one after the other; short runs that only look for a start are
    not. Contexts nest: the outer function is called first. What the function raises ends the fit; KeyboardInterrupt
    ends it as Ctrl-C does, and what was reached is kept. A fit in another thread is shown to that thread's watchers.

    Parameters
    ----------
    callback : callable
        Takes a state: ``iteration``, counted from 1 in each run; ``params`` after the pass, in the model's own frame;
        ``statistics``, of which "weight" is the weight of all rows; ``record`` with ``log_likelihood``,
        ``free_energy``, ``objective`` and ``seconds`` since the run began.

    Examples
    --------
    >>> import unveil
    >>> bounds = []
    >>> with unveil.watch(lambda state: bounds.append(state.record.free_energy)):
    ...     model = unveil.GaussianMixture(1, random_state=0).fit([[0.0], [1.0], [5.0], [6.0]])
    >>> len(bounds) == model.n_iter_, bounds == sorted(bounds)
    (True, True)
    """
    if not callable(callback):
        raise TypeError(f"callback must be a function of a state, got {callback!r}")
    token = _WATCHING.set((*_WATCHING.get(), callback))
    try:
        yield
    finally:
        _WATCHING.reset(token)


def watchers() -> tuple[Callback, ...]:
    """The functions that watch the fits of this thread, the outermost first."""
    return _WATCHING.get()
