"""The one way from rows to a fitted estimator: parts, starts, climbs, the best of them, attributes, certificate.

An estimator that is fitted by EM says what its model is, where it starts and how its parameters are shown (`Face`);
what happens to them is here, the same for mixtures and chains. A fit asks for its passes (`fitting`), so that several
fits to the same rows can be driven side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from unveil.core.arrays import Floats, Indices
from unveil.core.checkpoint import noted
from unveil.core.drive import answer_to, drive, together
from unveil.core.loop import (
    ExpectationStep,
    Parts,
    Stop,
    best_climbing,
    best_of,
    check_allowed,
    climbing,
    decisive,
    fit,
    is_interrupted,
    record_of,
)
from unveil.core.protocols import Ask, Asking, Expectation, Model, Params, Schedule, Source
from unveil.core.result import Fit, History, State, Status
from unveil.core.statistics import Statistics
from unveil.core.stopping import GainLeft, Trailing, rule_for
from unveil.estimation.base import LaterFigures, engine_for, seed_of
from unveil.estimation.emissions.base import Emission
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES, resolve
from unveil.estimation.units import units_told
from unveil.expectations import Exact
from unveil.schedules.adaptive import Adaptive
from unveil.schedules.stepwise import Running, Stepwise

EM_CONSTRAINTS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
    "verbose_interval": [Interval(Integral, 1, None, closed="left")],
    "engine": ENGINE_TAKEN,
    "schedule": [StrOptions({"auto", *SCHEDULES}), HasMethods("sweep")],
    "expectation": [StrOptions(set(EXPECTATIONS)), HasMethods("responsibilities")],
}
"""What arguments may be that all faces have which are fitted here."""

SMALL_GAIN = 1e-3  # nats per row and pass: the gradient has norm 0.05 at most, where 1 is far from a stationary point


@dataclass(frozen=True)
class Stream:
    """What lives on from batch to batch: the frame, the parameters, and the running statistics per unit of weight."""

    shift: Floats
    params: Any
    order: Indices  # of the components, as they are shown: fixed, so that labels keep their meaning
    running: Running | None = None
    history: History = field(default_factory=lambda: History(status=Status.STREAMING, monotone=False))
    seen: float = 0.0  # weight of all rows so far: what a prior is set against
    latest: Statistics = field(default_factory=lambda: Statistics(weight=0.0))
    given: dict[str, Floats] = field(default_factory=dict)  # what stays as the user gave it, by name

    @property
    def outcome(self) -> Fit:
        """As if a fit had just ended."""
        return Fit(self.params, self.latest, self.history)


Start = Params | Asking[Params]  # first parameters, or a pass to be asked for that leads to them


@dataclass(frozen=True)
class Task:
    """A fit that is about to be made."""

    parts: Parts
    starts: Iterator[Start]  # first parameters, one set per climb; nothing is run before they are asked for
    sound: Callable[[Fit], bool]  # does every component stand on enough rows?
    tried: Callable[[], int] = int  # asked at the end: short runs that the starts were the best of
    kept: bool = False  # do components keep the order of the start?
    given: dict[str, Floats] = field(default_factory=dict)  # what is to be shown as the user gave it, by name
    run: Callable[[Parts, Params], Fit] = fit  # one climb


class Face(Protocol):
    """What an estimator tells the scaffold."""

    random_state: Any
    random_seed_: int
    n_components: int
    _stream: Stream

    def _emission(self) -> Emission:
        """What components emit."""

    def _model(self, shift: Floats) -> Model:
        """The model in a frame."""

    def _frame(self, source: Source) -> Floats:
        """The shift of the frame."""

    def _task(self, source: Source) -> Task:
        """What a fit to these rows is."""

    def _first(self, model: Any, source: Source) -> Stream:
        """Where a stream starts."""

    def _parts(self, model: Any, source: Source) -> Parts:
        """What a fit is assembled from."""

    def _shares(self, outcome: Fit) -> Floats:
        """What each component stands for, by which they are put in order."""

    def _figures(self, parts: Parts, outcome: Fit, order: Indices) -> tuple[Mapping[str, float], LaterFigures | None]:
        """What the certificate says of the parameters at the end: now, and when somebody looks."""

    def _set_attributes(self, stream: Stream) -> Any:
        """Set the fitted attributes; returns how many rows each component stands for."""

    def _report(
        self,
        outcome: Fit,
        counts: Any,
        figures: Mapping[str, float] | None = None,
        later: LaterFigures | None = None,
        depth: int = 4,
    ) -> None:
        """Set history and certificate, and warn."""


def parts_of(estimator: Any, model: Model, source: Source, expectation: Any = None) -> Parts:
    """The parts that the words of an estimator name; `expectation` in place of its own word, if given."""
    asked = estimator.expectation if expectation is None else expectation
    chosen: Expectation = resolve("expectation", asked, EXPECTATIONS, "responsibilities")
    schedule, stop = pace_of(estimator, model, chosen)
    callbacks = estimator._callbacks_for(source, getattr(estimator, "verbose_interval", 1))
    engine = engine_for(estimator.engine, source)
    return Parts(model, source, chosen, schedule, engine, stop, estimator.max_iter, estimator.random_seed_, callbacks)


def pace_of(estimator: Any, model: Model, expectation: Expectation) -> tuple[Schedule, Stop]:
    """How an estimator climbs and when it stops: "auto" leaps where the end is far, if there are leaps at all."""
    schedule = schedule_of(estimator.schedule)
    stop = rule_for(estimator.tol, schedule, expectation)
    if estimator.schedule == "auto" and isinstance(stop, GainLeft):
        leaps = Adaptive(stop)
        schedule = schedule if leaps.refuse(model, expectation) else leaps
    return schedule, stop


def schedule_of(word: Any) -> Schedule:
    """The schedule that a word names, or itself; "auto" begins as batch EM."""
    found: Schedule = resolve("schedule", "batch" if word == "auto" else word, SCHEDULES, "sweep")
    return found


def fit_rows(face: Face, source: Source) -> None:
    """All starts, each to its end; the best of them, with its components in canonical order, adopted."""
    with units_told(source):
        found = drive(fitting(face, source))
    adopt(face, *found)


def fitting(face: Face, source: Source) -> Asking[tuple[Stream, Mapping[str, float], LaterFigures | None]]:
    """What `fit_rows` adopts, as it is driven along with other fits."""
    face.random_seed_ = seed_of(face.random_state)
    task = face._task(source)
    outcome = yield from ending(task.parts, (yield from climbing_all(task)))
    order = np.arange(face.n_components) if task.kept else np.argsort(-face._shares(outcome), kind="stable")
    model: Any = task.parts.model
    stream = replace(resumable(outcome, model.shift, order), given=task.given)
    return stream, *face._figures(task.parts, outcome, order)


def feed_rows(face: Face, source: Source, fresh: bool) -> None:
    """One more batch of a stream; the first chooses the start."""
    if fresh:
        face.random_seed_ = seed_of(face.random_state)
        model: Any = face._model(face._frame(source))
        face._stream = face._first(model, source)
    with units_told(source):
        stream = feed(face._stream, face._parts(face._model(face._stream.shift), source))
    adopt(face, stream)


def learn(face: Face, source: Source) -> None:
    """Set what the family needs to know of the data before a fit."""
    set_or_forget(face, face._emission().learn(source))


def set_or_forget(estimator: Any, attributes: Mapping[str, Any]) -> None:
    """Set attributes; those that are None go."""
    for name, value in attributes.items():
        if value is None:
            estimator.__dict__.pop(name, None)
        else:
            setattr(estimator, name, value)


def climb(task: Task) -> Fit:
    """All starts, each to its end, and the best of them."""
    return drive(climbing_all(task))


def climbing_all(task: Task) -> Asking[Fit]:
    """The same, driven along with others: side by side, or one after the other where each is one compiled piece."""
    check_allowed(task.parts)  # before any start is run
    if task.run is fit:
        outcome = yield from best_climbing([_climbing_from(start, task.parts) for start in task.starts], task.sound)
    else:
        outcome = best_of(_in_turn(task), task.sound)
    tried = task.tried()
    return outcome.noting("tried", tried) if tried else outcome


def _in_turn(task: Task) -> Iterator[Callable[[], Fit]]:
    """The climbs, each to be run when those before it have ended: one that will end below the best is given up."""
    highest = -np.inf

    def run(start: Start) -> Fit:
        nonlocal highest
        parts = task.parts if highest == -np.inf else replace(task.parts, stop=Trailing(task.parts.stop, highest))
        params = first_of(start)
        outcome = noted("restart", (*decisive(parts), params), partial(task.run, parts, params))
        if outcome.history and task.sound(outcome):
            highest = max(highest, float(np.nan_to_num(outcome.objective, nan=-np.inf)))
        return outcome

    return (partial(run, start) for start in task.starts)


def _climbing_from(start: Start, parts: Parts) -> Asking[Fit]:
    """A climb, and the pass before it where there is one."""
    params = (yield from start) if isinstance(start, Generator) else start
    return (yield from climbing(parts, params))


def first_of(start: Start) -> Params:
    """The parameters that a start leads to."""
    return drive(start) if isinstance(start, Generator) else start


def adopt(
    face: Any, stream: Stream, figures: Mapping[str, float] | None = None, later: LaterFigures | None = None
) -> None:
    """Set the fitted attributes, certify the fit and say where it is not fine."""
    face._stream = stream
    counts = face._set_attributes(stream)
    history = stream.outcome.history
    bounds = [record.objective / record.weight for record in history]
    set_or_forget(face, {"lower_bounds_": bounds, "lower_bound_": bounds[-1] if bounds else -np.inf, "clusters_": None})
    face._report(stream.outcome, counts, figures, later, depth=5)


# -- one batch after the other, by stepwise EM -------------------------------------------------------------------------


def resumable(outcome: Fit, shift: Floats, order: Indices) -> Stream:
    """A stream that goes on from a fit, which counts for as many batches as its rows would have made."""
    stream = Stream(shift, outcome.params, order, None, outcome.history, latest=outcome.statistics)
    if not outcome.history:
        return stream
    weight = float(outcome.statistics["weight"])
    batches = 1 + int(weight) // Stepwise.batch_rows
    return replace(stream, running=Running(batches, outcome.statistics.scaled(1.0 / weight)), seen=weight)


def feed(stream: Stream, parts: Parts) -> Stream:
    """The stream after one more batch: its E step, folded into the running statistics, and an M step."""
    began = perf_counter()
    model, number = parts.model, 0 if stream.running is None else stream.running.updates
    params = model.recentre(stream.params) if stream.running is None else stream.params
    step = ExpectationStep(model, model.prepare(params), parts.expectation, parts.seed, number)
    fresh, _ = parts.engine.map_reduce(step, parts.source, None)
    schedule = parts.schedule if isinstance(parts.schedule, Stepwise) else Stepwise()
    running = schedule.blend(stream.running, fresh, 1.0 / float(fresh["weight"]))
    seen = stream.seen + float(fresh["weight"])
    params = model.maximise(running.statistics.scaled(seen), params)
    seconds = perf_counter() - began + (stream.history[-1].seconds if stream.history else 0.0)
    record = record_of(fresh, model.log_prior(stream.params), seconds)
    for callback in parts.callbacks:
        callback(State(number + 1, params, fresh, record))
    records = (*stream.history.records, record)
    history = replace(stream.history, records=records, status=Status.STREAMING, monotone=False, snapshots=())
    return replace(stream, params=params, running=running, history=history, seen=seen, latest=fresh)


# -- the end of a fit --------------------------------------------------------------------------------------------------


def end_of(parts: Parts, outcome: Fit) -> tuple[Params, Statistics]:
    """Parameters, and the statistics of all rows under the posterior at them.

    Those of the last pass, where that was it; else a pass is run, unless it has been (see `ending`).
    """
    if _ends_with_itself(parts):
        return outcome.entered, outcome.statistics
    known = drive(ending(parts, outcome)).at_end
    return outcome.params, outcome.statistics if known is None else known


def ending(parts: Parts, outcome: Fit) -> Asking[Fit]:
    """A climb that has ended, with the statistics that `end_of` needs."""
    if outcome.at_end is not None or not outcome.history or _ends_with_itself(parts):
        return outcome
    step = ExpectationStep(parts.model, parts.model.prepare(outcome.params), Exact(), parts.seed, 0)
    return replace(outcome, at_end=(yield from answer_to(Ask(parts.engine, parts.source, step))))


def _ends_with_itself(parts: Parts) -> bool:
    """Whether the statistics of the last pass are those under the posterior at the parameters that entered it."""
    return parts.schedule.whole_pass and parts.expectation.posterior


def general_figures(model: Any, params: Params, statistics: Statistics, components: Any) -> dict[str, float]:
    """Figures of any model of a family, by the names that `unveil.certificate.examine` takes.

    `statistics` are those of a pass at `params` themselves (see `stationarity`).
    """
    return {**slope(model, params, statistics), **sizes(model, statistics, components)}


def slope(model: Any, params: Params, statistics: Statistics) -> dict[str, float]:
    """How far from a stationary point, where that can be told."""
    norm = stationarity(model, params, statistics)
    return {} if np.isnan(norm) else {"stationarity": norm}


def sizes(model: Any, statistics: Statistics, components: Any) -> dict[str, float]:
    """How many rows there are for each parameter, and whether components are healthy."""
    rows_each = float(statistics["weight"]) / max(model.n_parameters(len(model.shift)), 1)
    figures = {"observations_per_parameter": rows_each, "cells_per_parameter": rows_each * len(model.shift)}
    figures["components"] = float(model.n_components)
    figures["dense"] = float(model.family.least_rows(len(model.shift)) > 1)
    with suppress(np.linalg.LinAlgError):  # parameters that ran away: that is for the history to tell
        figures.update(model.family.health(components))
    return figures


def has_settled(parts: Parts, outcome: Fit) -> bool:
    """Whether the last gain says that the gradient is small, so that nothing need be computed to know it.

    A pass of EM gains half of the squared norm of the gradient per row, or more, in the coordinates of `stationarity`:
    it is a step along the gradient, as long as the information of the complete data says.
    """
    records = outcome.history.records
    if len(records) < 2 or not (parts.schedule.whole_pass and parts.expectation.posterior):
        return False
    return bool(0.0 <= records[-1].objective - records[-2].objective < SMALL_GAIN * records[-1].weight)


def stationarity(model: Model, params: Any, statistics: Statistics) -> float:
    """Norm of the gradient of the mean log-likelihood (plus prior) at `params`; nan where there are no coordinates.

    By Fisher's identity it is that of E_q[log p(x, s)] where q is the posterior at the same parameters, so statistics
    are all it takes: no further pass over the rows.

    `statistics` must come from an E step at these very `params`. Those from which an M step has just made `params`
    say nothing: their gradient vanishes there by construction, however far away the optimum is.
    """
    try:
        chart = model.coordinates(params)
    except (TypeError, np.linalg.LinAlgError):  # the family has none, or not here: at the edge of what is possible
        return float("nan")
    with np.errstate(all="ignore"):  # there the gradient may not be a number either
        gradient = chart.gradient(statistics, chart.origin)
    return float(np.linalg.norm(gradient)) / float(statistics["weight"])


# -- short runs --------------------------------------------------------------------------------------------------------


def run_briefly(parts: Parts, params: Params) -> Fit:
    """A climb of a few passes; a poor start is dropped later, not complained of."""
    return all_briefly(parts, [params])[0]


def all_briefly(parts: Parts, starts: Iterable[Params]) -> list[Fit]:
    """Climbs of a few passes from each of some starts, side by side."""
    with np.errstate(all="ignore"):
        outcomes = drive(together([climbing(parts, params) for params in starts], is_interrupted))
    if any(map(is_interrupted, outcomes)):
        raise KeyboardInterrupt  # a start that was not finished is nothing to keep
    return outcomes


def ranked(runs: Iterable[Fit], spiked: Callable[[Fit], bool], sound: Callable[[Fit], bool]) -> list[Fit]:
    """Runs by whether they stand on their own, then by how high they climbed, the best first.

    Rows that agree in a column draw a component to them, and the likelihood rises without end (Day, 1969), so the
    highest run is often such a spike. Where most starts end in one, it is the data that are so, and it counts for
    nothing.
    """
    runs = list(runs)
    spikes = [spiked(run) for run in runs]
    by_nature = 2 * sum(spikes) > len(spikes)
    heights = [float(np.nan_to_num(run.objective, nan=-np.inf)) for run in runs]
    stands = [sound(run) and (by_nature or not spike) for run, spike in zip(runs, spikes, strict=True)]
    places = sorted(range(len(runs)), key=lambda place: (stands[place], heights[place]), reverse=True)
    return [runs[place] for place in places]
