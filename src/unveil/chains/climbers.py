"""How the search for a start climbs: over a small sample by vectors, over any other in the general way.

Both take a start (first states of the steps) to a place, and climb from there as long as more than a little is expected
to be gained; a place is what the climber likes best, and becomes parameters only for the one that is kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from unveil.chains.model.model import MarkovParams
from unveil.chains.small import SmallChain
from unveil.chains.starts import ChainSample, Finish, Kinds, first_params, needs_points, supported
from unveil.core.arrays import Floats
from unveil.core.loop import Parts
from unveil.core.once import cached_property
from unveil.core.protocols import Block
from unveil.core.result import Record, State
from unveil.core.stopping import remaining_gain
from unveil.estimation.scaffold import run_briefly
from unveil.mixtures.starts.starts import Start

NO_POINTS = np.empty((0, 0))
HOPE = 10.0  # times the expected gain: a climb that would not get there with so much is given up
FORESIGHT = 5.0  # passes for which a gain counts that falls off so slowly that nobody can tell where it ends


class ShortClimb(NamedTuple):
    """A place after a climb of the search, and how high it came."""

    place: Any
    expected: float  # where it would end
    sound: bool  # does every state stand on enough steps?
    spiked: bool
    passes: int


class Climber(ABC):
    """Climbs over a sample."""

    @abstractmethod
    def first(self, start: Start) -> Any:
        """The place that first states lead to."""

    @abstractmethod
    def climb(self, place: Any, rule: Foreseen, most: int) -> ShortClimb | None:
        """At most so many passes, until the rule is met; None where that did not work."""

    @abstractmethod
    def params(self, place: Any) -> MarkovParams:
        """As parameters."""


@dataclass(frozen=True)
class GeneralClimber(Climber):
    """Places are parameters; climbs are `unveil.core.loop.fit`."""

    sample: ChainSample
    kinds: Kinds
    finish: Finish
    parts: Parts

    def first(self, start: Start) -> MarkovParams:
        """An M step, with what is given in place."""
        return first_params(self.sample, self.sample.first(start), self.kinds, self.finish)

    def climb(self, place: MarkovParams, rule: Foreseen, most: int) -> ShortClimb | None:
        """By the loop."""
        outcome = run_briefly(replace(self.parts, stop=rule, max_iter=most), place)
        model, bounds = self.sample.model, [record.objective for record in outcome.history]
        expected, spiked = expected_end(bounds), model.family.spiked(outcome.params.emissions)
        return ShortClimb(outcome.params, expected, supported(model, outcome), spiked, len(bounds))

    def params(self, place: MarkovParams) -> MarkovParams:
        """They are."""
        return place


@dataclass(frozen=True)
class SmallClimber(Climber):
    """Places are vectors of a small chain; `given` does the first step where something is given."""

    sample: ChainSample
    table: SmallChain
    given: GeneralClimber | None

    def first(self, start: Start) -> Floats | None:
        """An M step of the table's own."""
        if self.given is not None:
            return self.table.vector(self.given.first(start))
        k, points = self.sample.model.n_components, self.sample.steps.points if needs_points(start) else NO_POINTS
        shares = [
            start.responsibilities(block, points[block.start : block.start + len(block.rows)], k)
            for block in self._blocks
        ]
        return self.table.first(shares[0] if len(shares) == 1 else np.concatenate(shares, axis=1))

    @cached_property
    def _blocks(self) -> list[Block]:
        return list(self.sample.source.read())

    def climb(self, place: Floats | None, rule: Foreseen, most: int) -> ShortClimb | None:
        """A pass is one call; what is not plain is dropped."""
        bounds: list[float] = []
        sums = np.empty(self.table.n_sums())
        while place is not None and len(bounds) < most and not rule.met(bounds):
            fresh = np.empty_like(place)
            bound, _ = self.table.sweep(place, fresh, sums)
            height = bound + self.table.log_prior(place)
            if not math.isfinite(height):
                return None
            bounds.append(height)
            place = fresh
        if place is None:
            return None
        sound = self.table.stands(sums)
        return ShortClimb(place, expected_end(bounds), sound, self.table.spiked(place), len(bounds))

    def params(self, place: Floats) -> MarkovParams:
        """Of a vector."""
        return self.table.params(place)


class Foreseen:
    """Stop where no more than `enough` is expected to be gained, or where there is no hope to come up to `target`."""

    def __init__(self, enough: float, target: float = -math.inf) -> None:
        self.enough, self.target = enough, target
        self.bounds: list[float] = []

    def met(self, bounds: Sequence[float]) -> bool:
        """Whether to stop after passes with these bounds."""
        rest = remaining_gain(bounds[-4:])
        return rest <= self.enough or (len(bounds) > 3 and bounds[-1] + HOPE * rest < self.target)

    def __call__(self, before: State, after: State) -> bool:
        """Whether to stop, from the passes that were shown one after the other."""
        self.bounds = [*(self.bounds or [before.record.objective]), after.record.objective]
        return self.met(self.bounds)

    def settled(self, records: Sequence[Record]) -> bool:
        """Whether to stop after these passes."""
        return self.met([record.objective for record in records[-4:]])


def expected_end(bounds: Sequence[float]) -> float:
    """Where a climb would end."""
    last = bounds[-1] - bounds[-2] if len(bounds) > 1 else 0.0
    found = bounds[-1] + min(remaining_gain(bounds[-4:]), FORESIGHT * max(last, 0.0)) if bounds else -math.inf
    return -math.inf if math.isnan(found) else float(found)
