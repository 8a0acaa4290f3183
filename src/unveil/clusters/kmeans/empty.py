"""What becomes of a cluster to which no row belongs: four policies, by name.

A centre that lost all its rows has no mean to move to. It may stay where it is, in case rows come back ("keep"); it may
be left out of the result ("drop"); it may be an error ("error"); or it may go to the row that is furthest from its own
centre ("relocate"), as in scikit-learn. That never raises the cost: the other centres stay where the M step put them,
so no row has further to go than it had, and the chosen row has no way to go at all. So relocating must come to an end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from unveil.clusters.kmeans.model import Centres, EmptyClusters, KMeansModel
from unveil.core.arrays import Floats, Indices, Mask
from unveil.core.protocols import Block, Engine, Params, Schedule, Work
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.schedules.reseeding import Reseeding

MEAN_ROUNDING = 1e-10  # the mean of many copies of a row is off by less than this share of it, and that is no distance
BY_CLUSTER = ("counts", "sums", "shares")  # statistics with an entry for each cluster

POLICIES = {
    "keep": EmptyClusters(),
    "relocate": EmptyClusters(relocated=True),
    "drop": EmptyClusters(dropped=True),
    "error": EmptyClusters(refused=True),
}


def around(policy: EmptyClusters, schedule: Schedule, engine: Engine) -> Schedule:
    """The schedule with what the policy does between its sweeps; looking at rows again is for the `engine`."""
    return Reseeding(schedule, Relocate(engine)) if policy.relocated else schedule


def kept(policy: EmptyClusters, counts: Floats) -> Mask:
    """Which clusters come out, given the weight of their rows; all where none has any: something must come out."""
    filled = counts > 0
    return filled if policy.dropped and filled.any() else np.ones(len(counts), dtype=np.bool_)


def remaining(outcome: Fit, kept: Mask) -> Fit:
    """The fit with the clusters that are `kept`, and no others."""
    if kept.all():
        return outcome
    cut = {name: value[kept] for name, value in outcome.statistics.items() if name in BY_CLUSTER}
    params = _cut(outcome.params, kept)
    seen = tuple(one._replace(params=_cut(one.params, kept)) for one in outcome.history.snapshots)
    history = replace(outcome.history, snapshots=seen)
    return replace(outcome, params=params, statistics=Statistics(**{**outcome.statistics, **cut}), history=history)


def _cut(params: Centres, kept: Mask) -> Centres:
    """Some of the centres."""
    return replace(params, centres=params.centres[kept])


# -- relocation --------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Relocate:
    """A centre without rows goes to the row furthest from its own centre; each of several to another row."""

    engine: Engine
    event: ClassVar[str] = "relocated"
    most: ClassVar[float] = inf
    at_once: ClassVar[bool] = False

    def revive(self, work: Work, params: Centres, statistics: Statistics, dead: Indices) -> tuple[Centres, int]:
        """Centres, those that are dead on other rows, as far as there are any away from their centres."""
        rows = furthest(work.model, params, self.engine, work.source, len(dead))
        if len(rows) == 0:
            return params, 0
        centres = params.centres.copy()
        centres[dead[: len(rows)]] = rows
        return replace(params, centres=centres), len(rows)


class Far(NamedTuple):
    """Rows far from their centres, the furthest first, the first of equals before the others."""

    squares: Floats  # (m,), squared distances
    numbers: Indices  # (m,), of the rows in the table
    rows: Floats  # (m, d), in the frame

    def first(self, count: int) -> Far:
        """The furthest `count`."""
        order = np.lexsort((self.numbers, -self.squares))[:count]
        return Far(self.squares[order], self.numbers[order], self.rows[order])


def far_rows(model: KMeansModel, plan: Any, count: int, block: Block) -> Far:
    """At most `count` rows of a block, the furthest from their own centre, all with weight, none at its centre."""
    _, squares = model.label(plan, block)
    rows = model.framed(block, np.arange(len(squares)))
    away = squares > MEAN_ROUNDING**2 * np.einsum("ij,ij->i", rows, rows)
    here = np.flatnonzero(away if block.weights is None else away & (block.weights > 0))
    return Far(squares[here], block.start + here, rows[here]).first(count)


def furthest(model: Any, params: Params, engine: Engine, source: Any, count: int) -> Floats:
    """The `count` rows furthest from their own centres, in the frame; fewer where the others are at theirs."""
    found = None
    for here in engine.map(partial(far_rows, model, model.prepare(params), count), source):
        joined = here if found is None else Far(*map(np.concatenate, zip(found, here, strict=True)))
        found = joined.first(count)
    return np.empty((0, 0)) if found is None else found.rows
