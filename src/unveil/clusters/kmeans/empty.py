"""What becomes of a cluster to which no row belongs: four policies, by name.

A centre that lost all its rows has no mean to move to. It may stay where it is, in case rows come back (`Keep`); it may
be left out of the result (`Drop`); it may be an error (`Refuse`); or it may go to the row that is furthest from its own
centre (`Relocate`), as in scikit-learn. That never raises the cost: the other centres stay where the M step put them,
so no row has further to go than it had, and the chosen row has no way to go at all. So relocating must come to an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Engine, Expectation, Model, Params, Schedule, Work
from unveil.core.result import Fit
from unveil.core.statistics import Statistics

ROUNDING = 1e-10  # the mean of many copies of a row is off by less than this share of it, and that is no distance
BY_CLUSTER = ("counts", "sums", "shares")  # statistics with an entry for each cluster


class Empty:
    """What policies have in common: unless they say otherwise, a centre without rows stays where it is."""

    def mend(self, means: Floats, counts: Floats, before: Floats) -> Floats:
        """Centres, given the means (anything where the count is zero) and the centres before."""
        return np.where((counts > 0)[:, None], means, before)

    def around(self, schedule: Schedule, engine: Engine) -> Schedule:
        """The schedule with what the policy does between its sweeps; looking at rows again is for the `engine`."""
        return schedule

    def kept(self, counts: Floats) -> NDArray[np.bool_]:
        """Which clusters come out, given the weight of their rows."""
        return np.ones(len(counts), dtype=np.bool_)


@final
@dataclass(frozen=True)
class Keep(Empty):
    """It stays where it is; rows may come back to it."""


@final
@dataclass(frozen=True)
class Drop(Empty):
    """It stays while the fit runs, and is left out of the result if no row came back."""

    def kept(self, counts: Floats) -> NDArray[np.bool_]:
        """Those with rows; all where none has any, since something must come out."""
        return counts > 0 if np.any(counts > 0) else super().kept(counts)


@final
@dataclass(frozen=True)
class Refuse(Empty):
    """It is an error."""

    def mend(self, means: Floats, counts: Floats, before: Floats) -> Floats:
        """The means, or a ValueError."""
        if np.all(counts > 0):
            return means
        raise ValueError(
            f"cluster {int(np.argmin(counts > 0))} has no rows left, and empty_clusters='error'; 'relocate' moves it, "
            "'keep' leaves it where it is, 'drop' leaves it out, and fewer n_clusters may be what the data supports"
        )


@final
@dataclass(frozen=True)
class Relocate(Empty):
    """It goes to the row furthest from its own centre; each of several to another row."""

    def around(self, schedule: Schedule, engine: Engine) -> Schedule:
        """The schedule, with centres relocated after its sweeps."""
        return Relocating(schedule, engine)


POLICIES: dict[str, Empty] = {"keep": Keep(), "relocate": Relocate(), "drop": Drop(), "error": Refuse()}


# -- relocation --------------------------------------------------------------------------------------------------------


class Far(NamedTuple):
    """Rows far from their centres, the furthest first, the first of equals before the others."""

    squares: Floats  # (m,), squared distances
    numbers: NDArray[np.intp]  # (m,), of the rows in the table
    rows: Floats  # (m, d), in the frame

    def first(self, count: int) -> Far:
        """The furthest `count`."""
        order = np.lexsort((self.numbers, -self.squares))[:count]
        return Far(self.squares[order], self.numbers[order], self.rows[order])


@final
@dataclass(frozen=True)
class FarRows:
    """The rows of a block that are furthest from their own centre, as engines take it."""

    model: Any
    plan: Any
    count: int

    def __call__(self, block: Block) -> Far:
        """At most `count` of them, all with weight, none at its centre."""
        _, squares = self.model.label(self.plan, block)
        rows = self.model.framed(block, np.arange(len(squares)))
        away = squares > ROUNDING**2 * np.einsum("ij,ij->i", rows, rows)
        here = np.flatnonzero(away if block.weights is None else away & (block.weights > 0))
        here = here[np.lexsort((here, -squares[here]))[: self.count]]
        return Far(squares[here], block.start + here, rows[here])


def furthest(model: Any, params: Params, engine: Engine, source: Any, count: int) -> Floats:
    """The `count` rows furthest from their own centres, in the frame; fewer where the others are at theirs."""
    found = None
    for here in engine.map(FarRows(model, model.prepare(params), count), source):
        joined = here if found is None else Far(*map(np.concatenate, zip(found, here, strict=True)))
        found = joined.first(count)
    return np.empty((0, 0)) if found is None else found.rows


class Relocated(NamedTuple):
    """How many centres were moved in the last sweep, and the state of the schedule within."""

    moved: int
    within: Any


@final
@dataclass(frozen=True)
class Relocating(Schedule):
    """Another schedule, after whose sweeps centres without rows are relocated."""

    schedule: Schedule
    engine: Engine

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As promised by the schedule within."""
        return self.schedule.monotone

    @property
    def name(self) -> str:
        """That of the schedule within."""
        return self.schedule.name

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """As the schedule within."""
        return self.schedule.refuse(model, expectation)

    def sweep(self, work: Work, params: Params, state: Relocated | None) -> tuple[Params, Statistics, Relocated]:
        """A sweep, then what has to be moved; after that no older statistics are of use to the schedule within."""
        within = None if state is None or state.moved else state.within
        params, statistics, within = self.schedule.sweep(work, params, within)
        dead = work.model.dead(statistics)
        if len(dead) == 0:
            return params, statistics, Relocated(0, within)
        rows = furthest(work.model, params, self.engine, work.source, len(dead))
        if len(rows):
            params = replace(params, centres=_placed(params.centres, dead[: len(rows)], rows))
        return params, statistics, Relocated(len(rows), within)

    def measured_at(self, entering: Params, state: Relocated) -> Params:
        """As the schedule within says."""
        return self.schedule.measured_at(entering, state.within)

    def events(self, state: Relocated) -> Mapping[str, int]:
        """Centres relocated, and what the schedule within had to mend."""
        return {"relocated": state.moved, **self.schedule.events(state.within)}


def _placed(centres: Floats, which: NDArray[np.intp], rows: Floats) -> Floats:
    """A copy of `centres` with some of them put on `rows`."""
    centres = centres.copy()
    centres[which] = rows
    return centres


# -- what comes out ----------------------------------------------------------------------------------------------------


def remaining(outcome: Fit, kept: NDArray[np.bool_]) -> Fit:
    """The fit with the clusters that are `kept`, and no others."""
    if kept.all():
        return outcome
    cut = {name: value[kept] for name, value in outcome.statistics.items() if name in BY_CLUSTER}
    params = replace(outcome.params, centres=outcome.params.centres[kept])
    return replace(outcome, params=params, statistics=Statistics(**{**outcome.statistics, **cut}))
