"""The only EM loop.

Each turn asks the schedule for one sweep over the data, writes down the bound, shows it to the callbacks and asks the
stopping rule. Everything else (which q, when the parameters move, where the work runs) is a part handed in, so a
model written five minutes ago runs here with every one of them. The loop is a generator that asks for its passes
(`climbing`), so that many climbs over the same rows can be driven side by side (`unveil.core.drive`); `fit` drives one.

`watch` opens a context in which a function is shown every pass of every fit. It is a context variable, so that it
holds for the thread (or task) that opened it and for no other.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import count, islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from unveil.core.checkpoint import LoopProgress, ended_early, progress
from unveil.core.drive import Driver, drive, together
from unveil.core.partition import count_of
from unveil.core.protocols import Ask, Asking, Engine, Expectation, Model, Params, Piece, Schedule, Source, Work
from unveil.core.result import Fit, History, Record, State, Status, add_events
from unveil.core.snapshots import Album, album, at_most, most_snapshots
from unveil.core.statistics import Statistics
from unveil.core.steps import ExpectationStep as ExpectationStep
from unveil.core.steps import stream as stream

logger = logging.getLogger("unveil")

Stop = Callable[[State, State], bool]
Callback = Callable[[State], None]

_owners = count(1)
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


class _Passes:
    """E steps for a schedule, counted: the passes over all rows, and the calls, each with random streams of its own."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.owner = next(_owners)
        self.number = 0  # of the call
        self.partitions = 0.0  # seen so far; pieces are halves, quarters ..., which add up exactly
        self.count = count_of(parts.source)
        self._own: Driver | None = None

    @property
    def passes(self) -> int:
        """Whole passes so far."""
        return int(self.partitions // self.count)

    def resume(self, work: Work, here: ClimbState) -> Asking[None]:
        """Go on with counting; blocks remember the last sweep again, which is made anew where they have to."""
        if here.entering is not None:
            params, state, (self.number, self.partitions) = here.entering
            yield from self.parts.schedule.sweeping(work, params, state)
        self.number, self.partitions = here.asked

    def forgets_all(self) -> bool:
        """Whether the next pass makes nothing of lists that blocks keep (they are drawn up anew, or there are none)."""
        following = self.parts.expectation.at(self.passes)
        return following.active is None or following.refresh == 1

    def ask(
        self, params: Params, partitions: Sequence[int] | None = None, piece: Piece | None = None
    ) -> Asking[Statistics]:
        """An E step, asked for along with what others ask for."""
        parts = self.parts
        plan, expectation = parts.model.prepare(params), parts.expectation.at(self.passes)
        step = ExpectationStep(parts.model, plan, expectation, parts.seed, self.number, piece)
        (statistics,) = yield (Ask(parts.engine, parts.source, step, partitions, self.owner),)
        if isinstance(statistics, BaseException):
            raise statistics
        self.number += 1
        seen = self.count if partitions is None else len(partitions)
        self.partitions += seen if piece is None else seen / piece.of
        return statistics  # type: ignore[no-any-return]

    def expect(self, params: Params, partitions: Sequence[int] | None = None, piece: Piece | None = None) -> Statistics:
        """An E step at once, for schedules that call it."""
        self._own = Driver() if self._own is None else self._own
        return self._own.run(self.ask(params, partitions, piece))


def fit(parts: Parts, start: Params) -> Fit:
    """Climb the free energy from `start` until the stopping rule is met.

    Ctrl-C ends the climb early and keeps what was reached.
    """
    outcome = drive(climbing(parts, start))
    if outcome.status is Status.INTERRUPTED:
        told_of_interrupt(len(outcome.history))
    return outcome


class ClimbState(NamedTuple):
    """Where a climb stands between two sweeps: all that the next one goes by."""

    params: Params
    statistics: Statistics
    schedule_state: Any
    entered: Params  # at which the statistics were gathered
    records: tuple[Record, ...]
    events: Mapping[str, int]
    asked: tuple[int, float]  # how many passes, and of how many partitions
    entering: tuple[Params, Any, tuple[int, float]] | None = None  # what the last sweep began with
    album: Album | None = None


def climbing(parts: Parts, start: Params) -> Asking[Fit]:
    """The climb of `fit`, as it is driven along with others."""
    check_allowed(parts)
    passes = _Passes(parts)
    work = Work(parts.model, parts.source, passes.expect, passes.ask)
    kept = album()
    progress = progress_of("climb", parts, start)
    if progress.outcome is not None:
        return progress.outcome
    here = ClimbState(start, Statistics(), None, start, (), {}, (0, 0.0), None, kept)
    here = here if progress.state is None else progress.state
    params, statistics, schedule_state, entered = here[:4]
    records, events = list(here.records), Counter(here.events)
    kept = None if here.album is None else here.album.copy()
    began = perf_counter() - (records[-1].seconds if records else 0.0)
    status = Status.MAX_ITER
    before = State(len(records), params, statistics, records[-1], records, passes.owner) if records else None
    try:
        yield from passes.resume(work, here)
        for iteration in range(len(records) + 1, parts.max_iter + 1):
            entering, state_before, asked = params, schedule_state, (passes.number, passes.partitions)
            params, statistics, schedule_state = yield from parts.schedule.sweeping(work, params, schedule_state)
            entered = parts.schedule.measured_at(entering, schedule_state)
            if kept is not None:
                kept.add(iteration - 1, entered)
            prior = parts.model.log_prior(entered)
            records.append(record_of(statistics, prior, perf_counter() - began))
            add_events(events, parts.model.events(statistics, params))
            add_events(events, parts.schedule.events(schedule_state))
            state = State(iteration, params, statistics, records[-1], records, passes.owner)
            for callback in parts.callbacks:
                callback(state)
            settled = parts.expectation.settled(passes.passes) and parts.schedule.settled(schedule_state)
            if before is not None and settled and parts.stop(before, state):
                status = Status.CONVERGED
                break
            before = state
            if progress.wanted and passes.forgets_all():
                last = (entering, state_before, asked) if parts.model.recalls else None
                told = tuple(records), dict(events), (passes.number, passes.partitions), last
                seen = None if kept is None else kept.copy()
                progress.reached(ClimbState(params, statistics, schedule_state, entered, *told, seen))
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    monotone = parts.schedule.monotone and parts.expectation.monotone
    params = parts.schedule.ending(params, schedule_state)
    shown = () if kept is None else kept.ended(len(records), params)
    history = History(tuple(records), dict(events), status, monotone, (), passes.passes, shown)
    return concluded(progress, Fit(params, statistics, history, entered))


def progress_of(kind: str, parts: Parts, *inputs: Any) -> LoopProgress:
    """How far a climb came, if this run goes on where another one was."""
    return progress(kind, *decisive(parts), *inputs)


def decisive(parts: Parts) -> tuple[Any, ...]:
    """What of the parts of a climb decides about its bits: all but where it runs and who looks on."""
    kinds = parts.model, parts.source, parts.expectation, parts.schedule, parts.stop
    return (*kinds, parts.max_iter, parts.seed, most_snapshots())


def concluded(progress: LoopProgress, outcome: Fit) -> Fit:
    """An outcome, noted unless Ctrl-C was what ended the climb."""
    if is_interrupted(outcome):
        ended_early()
    else:
        progress.ended(outcome)
    return outcome


def told_of_interrupt(passes: int) -> Status:
    """Say that Ctrl-C came, and how the climb is to be remembered."""
    ended_early()
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
            if outcomes[-1].history.snapshots:
                outcomes = _without_lost_snapshots(outcomes, sound)
            if is_interrupted(outcomes[-1]):
                ended_early()
                break
    except KeyboardInterrupt:
        if not outcomes:
            raise
        ended_early()
        interrupted = True
    return _best(outcomes, sound, interrupted)


def best_climbing(
    climbs: Iterable[Asking[Fit]], sound: Callable[[Fit], bool] = lambda fit: True, at_once: int | None = None
) -> Asking[Fit]:
    """As `best_of`, with all restarts side by side, or so many at once: a block is read once a pass for all of them.

    Ctrl-C ends them all; each is kept as far as it came.
    """
    outcomes: list[Fit] = []
    waiting = iter(climbs)
    while some := list(islice(waiting, at_once)):
        outcomes += yield from together(some, is_interrupted)
        if any(map(is_interrupted, outcomes)):
            told_of_interrupt(max(len(outcome.history) for outcome in outcomes))
            break
    return _best(outcomes, sound)


def is_interrupted(outcome: Fit) -> bool:
    """Whether Ctrl-C ended a climb."""
    return outcome.status is Status.INTERRUPTED


def _best(outcomes: Sequence[Fit], sound: Callable[[Fit], bool], interrupted: bool = False) -> Fit:
    """The highest of those that are sound, the first of equals, with a word on all of them."""
    best = outcomes[_best_place(outcomes, sound)]
    status = Status.INTERRUPTED if interrupted or any(map(is_interrupted, outcomes)) else best.status
    restarts = tuple(outcome.objective for outcome in outcomes)
    whole = replace(best, history=replace(best.history, status=status, restarts=restarts))
    first = [outcome.history[0].objective for outcome in outcomes if outcome.history]
    repeated = len(first) - len(set(first))  # the same height at the first pass is the same start
    return whole.noting("repeated", repeated) if repeated else whole


def _best_place(outcomes: Sequence[Fit], sound: Callable[[Fit], bool]) -> int:
    """The place of the highest of those that are sound, the first of equals."""
    heights = [(sound(outcome), np.nan_to_num(outcome.objective, nan=-np.inf)) for outcome in outcomes]
    return max(range(len(outcomes)), key=heights.__getitem__)


def _without_lost_snapshots(outcomes: Sequence[Fit], sound: Callable[[Fit], bool]) -> list[Fit]:
    """Only the best of several keeps its snapshots, so that a hundred restarts take no more room than one."""
    best = _best_place(outcomes, sound)
    return [outcome if place == best else outcome.bare for place, outcome in enumerate(outcomes)]


@contextmanager
def watch(callback: Callback) -> Iterator[None]:
    """Show `callback` every pass of the fits in this context: progress, plots of a climb, a fit that is ended early.

    Restarts, and the fits of `unveil.select`, are shown too; short runs that only look for a start are not. Most are
    run side by side, a pass of each in turn: ``climb`` is a number that no other climb has. It is 0 where climbs are
    run one after the other, as mixtures of small tables are; each then begins with ``iteration`` 1. Contexts nest: the
    outer function is called first. What the function raises ends the fit; KeyboardInterrupt ends it as Ctrl-C does,
    and what was reached is kept. A fit in another thread is shown to that thread's watchers.

    Parameters
    ----------
    callback : callable
        Takes a state: ``iteration``, counted from 1 in each run; ``climb``, which tells runs apart; ``params`` after
        the pass, in the model's own frame; ``statistics``, of which "weight" is the weight of all rows; ``record`` with
        ``log_likelihood``, ``free_energy``, ``objective`` and ``seconds`` since the run began.

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


@contextmanager
def unwatched() -> Iterator[None]:
    """Fits in this context are shown to nobody and keep no snapshots: nobody asked for them."""
    token = _WATCHING.set(())
    try:
        with at_most(0):
            yield
    finally:
        _WATCHING.reset(token)


def watchers() -> tuple[Callback, ...]:
    """The functions that watch the fits of this thread, the outermost first."""
    return _WATCHING.get()
