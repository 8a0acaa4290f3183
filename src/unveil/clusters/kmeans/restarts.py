"""Restarts that go on where Lloyd's passes end: rows are moved one by one, and the best clustering is shaken.

Lloyd stops at clusterings that moving a single row would improve, since it does not count how the two centres shift
with the row. `unveil.clusters.kmeans.hartigan` makes those moves, which can only lower the cost. Where groups overlap
there are still many optima within a few millionths of each other. So the best one is shaken: a few sweeps on most of
the rows, drawn at random, lead out of it, sweeps on all rows lead back in, and the lowest is kept (the noising method,
Charon and Hudry 1993).

Both are serial and need all rows at hand, so only small tables are polished: small by their shape alone, never by where
they are kept, and so every route gives the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from unveil.clusters.kmeans.descent import climb
from unveil.clusters.kmeans.hartigan import HartiganOutcome, cost, hartigan
from unveil.clusters.kmeans.model import Centres
from unveil.core.arrays import Floats
from unveil.core.checkpoint import ended_early, noted
from unveil.core.drive import drive
from unveil.core.loop import Parts, best_climbing, best_of, climbing
from unveil.core.protocols import Source
from unveil.core.result import Fit, Record, Status
from unveil.core.snapshots import one_after_the_other

HARTIGAN_WORK = 1 << 24  # cells times clusters: a sweep of moves takes some hundredths of a second
SHAKEN_SHARE = 0.8  # of the rows that a shake goes by
SHAKE_SWEEPS = 3  # of a shake
MEMO_ROOM = 1 << 30  # bytes of what climbs side by side may remember of the rows


class FramedTable(NamedTuple):
    """All rows, in the frame, and their weights."""

    rows: Floats
    weights: Floats

    @classmethod
    def of(cls, source: Source, shift: Floats) -> FramedTable:
        """The rows of a source, at hand."""
        blocks = list(source.read())
        weights = [np.ones(len(block.rows)) if block.weights is None else block.weights for block in blocks]
        return cls(np.concatenate([block.rows - shift for block in blocks]), np.concatenate(weights))

    def improved(self, centres: Floats) -> HartiganOutcome:
        """Rows moved one by one until no move helps."""
        return noted("moves", (*self, centres), lambda: hartigan(self.rows, self.weights, centres))

    def shaken(self, centres: Floats, times: int, random: np.random.Generator) -> HartiganOutcome:
        """The lowest of `times` optima near that of `centres`, and of this one."""
        return noted("shakes", (*self, centres, times, random), lambda: self._shaken(centres, times, random))

    def _shaken(self, centres: Floats, times: int, random: np.random.Generator) -> HartiganOutcome:
        best = self.improved(centres)
        spent = cost(self.rows, self.weights, best)
        for _ in range(times):
            some = self.weights * (random.random(len(self.rows)) < SHAKEN_SHARE)
            tried = self.improved(hartigan(self.rows, some, best.centres, max_sweeps=SHAKE_SWEEPS).centres)
            now = cost(self.rows, self.weights, tried)
            if now < spent:
                best, spent = tried._replace(moves=best.moves + tried.moves), now
        return best


@final
@dataclass(frozen=True)
class RestartClimb:
    """A fit; with a table, one that is polished and goes on to the end."""

    parts: Parts
    table: FramedTable | None = None

    def __call__(self, start: Centres) -> Fit:
        """From some centres as far as it goes, in `max_iter` passes."""
        outcome = climb(self.parts, start)
        return outcome if self.table is None else self._onward(outcome, 0)

    def only(self, start: Centres) -> Fit:
        """What there is to keep where there is one start."""
        outcome = self(start)
        return replace(outcome, history=replace(outcome.history, restarts=(outcome.objective,)))

    def best(self, starts: Iterable[Centres]) -> Fit:
        """The best of several, shaken as often as there were starts."""
        outcome = self._best_of(starts)
        if self.table is None:
            return outcome
        try:
            return self._onward(outcome, len(outcome.history.restarts))
        except KeyboardInterrupt:
            ended_early()
            return replace(outcome, history=replace(outcome.history, status=Status.INTERRUPTED))

    def _best_of(self, starts: Iterable[Centres]) -> Fit:
        """The best of several; where rows have to be read, as many side by side as there is room for their memos."""
        source: Any = self.parts.source
        if self.table is not None or getattr(source, "random_access", False):
            return best_of(partial(self, start) for start in starts)
        each = 8 * (self.parts.model.n_clusters + 2) * source.n_rows  # type: ignore[attr-defined]  # bounds and labels
        at_once = max(MEMO_ROOM // each, 1)
        return drive(best_climbing((climbing(self.parts, start) for start in starts), at_once=at_once))

    def _onward(self, outcome: Fit, shakes: int) -> Fit:
        """The fit after moves and the passes that follow them, if there are passes left."""
        left = self.parts.max_iter - len(outcome.history)
        if self.table is None or outcome.status is not Status.CONVERGED or left < 2:
            return outcome
        random = np.random.default_rng((self.parts.seed, shakes))
        polished = self.table.shaken(outcome.params.centres, shakes, random)
        if np.array_equal(polished.centres, outcome.params.centres):
            return outcome
        after = climb(replace(self.parts, max_iter=left), Centres(polished.centres))
        return joined(outcome, after, polished.moves) if after.objective >= outcome.objective else outcome


def joined(before: Fit, after: Fit, moves: int) -> Fit:
    """Two fits, the second of which went on where the first one was after so many moves of single rows."""
    first, second = before.history, after.history
    began = first[-1].seconds
    later: list[Record] = [record._replace(seconds=began + record.seconds) for record in second]
    events = Counter(first.events) + Counter(second.events) + Counter(polished=moves)
    restarts = list(first.restarts)
    if restarts:
        restarts[int(np.argmax(restarts))] = after.objective
    history = replace(
        second,
        records=(*first.records, *later),
        events=dict(events),
        restarts=tuple(restarts),
        passes=first.passes + second.passes,
        snapshots=one_after_the_other(first.snapshots, len(first), second.snapshots),
    )
    return replace(after, history=history)
