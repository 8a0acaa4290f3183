"""`partial_fit`: one mini-batch of a stream at a time, by stepwise EM on the loop's own parts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from unveil.core.arrays import Floats, Indices
from unveil.core.loop import ExpectationStep, Parts, record_of
from unveil.core.result import Fit, History, State, Status
from unveil.core.statistics import Statistics
from unveil.schedules.stepwise import Running, Stepwise


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


def resumable(outcome: Fit, shift: Floats, order: Indices) -> Stream:
    """A stream that goes on from a fit, which counts for as many batches as its rows would have made."""
    stream = Stream(shift, outcome.params, order, None, outcome.history, latest=outcome.statistics)
    if not outcome.history:
        return stream
    weight = float(outcome.statistics["weight"])
    batches = 1 + int(weight) // Stepwise().batch_rows
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
    history = replace(stream.history, records=records, status=Status.STREAMING, monotone=False)
    return replace(stream, params=params, running=running, history=history, seen=seen, latest=fresh)
