"""When a climb has come to its end.

A rule is a function of two states, that of the last pass and that of the one before. A small step is no sign of the
end by itself: where gains shrink slowly, many small ones are still to come. `GainLeft` therefore asks what they add up
to, as Aitken's delta squared process does: gains that shrink by a constant ratio r add up to the last one times
r / (1 - r).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

from unveil.core.protocols import Expectation, Schedule
from unveil.core.result import Record, State

LOST_IN_ROUNDING = 1e-13  # of a sum over all rows: a gain below this share is none
GAIN_PER_ROW = 1e-5  # nats that may be left behind: 0.01 for each thousand rows,
LEAST_ROWS = 1000.0  # and no less than for so many: differences that no test between models would ever see
NOTHING = 1e-3  # share of that below which a single gain is the end: at a ratio of 0.999 no more would follow
SMALL_CHANGE = 1e-6  # nats per row, of ascents whose gains do not fall off as those of EM do
FEWEST_TO_TRAIL = 12  # passes before a climb is given up: the first ones lead from the start to where EM is slow
HOPE = 5.0  # times what seems to be left that has to be missing
NOISY_CHANGE = 1e-3  # where the objective moves up and down by itself


@dataclass(frozen=True)
class BoundChange:
    """Stop when the objective per unit of weight changes by less than `tol`."""

    tol: float

    def __call__(self, before: State, after: State) -> bool:
        """Whether to stop."""
        return self.settled((before.record, after.record))

    def settled(self, records: Sequence[Record]) -> bool:
        """Whether to stop after these passes."""
        if len(records) < 2:
            return False
        if is_impossible(records):
            return True
        change = records[-1].objective - records[-2].objective
        return bool(abs(change) < self.tol * records[-1].weight)


@dataclass(frozen=True)
class GainLeft:
    """Stop when all that the objective has still to gain is expected to be less than `per_row` times the weight."""

    per_row: float = GAIN_PER_ROW

    def __call__(self, before: State, after: State) -> bool:
        """Whether to stop."""
        return self.settled(after.records)

    def settled(self, records: Sequence[Record]) -> bool:
        """Whether to stop after these passes."""
        if not records:
            return False
        heights, enough = [record.objective for record in records[-4:]], self.enough(records[-1].weight)
        if len(heights) > 1 and 0.0 <= heights[-1] - heights[-2] < NOTHING * enough:
            return True
        return remaining_gain(heights) < enough or is_impossible(records)

    def enough(self, weight: float) -> float:
        """What may be left behind, in nats."""
        return self.per_row * max(weight, LEAST_ROWS)


@dataclass(frozen=True)
class Trailing:
    """`rule`, or where a climb will end so far below another one that it counts for nothing how far exactly.

    What is left by the way that gains fall off may be more, so several times that has to be missing.
    """

    rule: Any
    height: float  # that another climb has reached

    def __call__(self, before: State, after: State) -> bool:
        """Whether to stop."""
        return bool(self.rule(before, after)) or self._trails(after.records)

    def settled(self, records: Sequence[Record]) -> bool:
        """Whether to stop after these passes."""
        return bool(self.rule.settled(records)) or self._trails(records)

    def _trails(self, records: Sequence[Record]) -> bool:
        heights = [record.objective for record in records[-4:]]
        return len(records) >= FEWEST_TO_TRAIL and heights[-1] + HOPE * remaining_gain(heights) < self.height


def rule_for(tol: Any, schedule: Schedule, expectation: Expectation) -> BoundChange | GainLeft:
    """The rule that an estimator's `tol` stands for.

    The gains of EM fall off in a way that tells what is left; those of other ascents, or while q is changed from pass
    to pass, do not, and where anything is drawn they are noise.
    """
    if tol != "auto":
        return BoundChange(tol)
    if schedule.whole_pass and expectation.monotone and expectation.steady:
        return GainLeft()
    return BoundChange(SMALL_CHANGE if schedule.monotone and expectation.steady else NOISY_CHANGE)


def is_impossible(records: Sequence[Record]) -> bool:
    """Whether rows had no probability at all in two passes: nothing can come of going on."""
    return len(records) > 1 and records[-1].objective == records[-2].objective == -inf


def remaining_gain(bounds: Sequence[float]) -> float:
    """What a climb has still to gain, from how its last gains fall off; infinite where that cannot be told.

    The larger of the last two ratios is taken; where gains do not shrink, the climb is on its way up or leaving a
    plateau, and no end is in sight.

    >>> remaining_gain([0.0, 8.0, 12.0, 14.0])
    2.0
    """
    last, ratio = decay(bounds)
    return last * ratio / (1.0 - ratio) if ratio < 1.0 else inf


def passes_ahead(bounds: Sequence[float], enough: float) -> float:
    """How many passes it takes until no more than `enough` remains to be gained; 0 where that cannot be told.

    >>> passes_ahead([0.0, 8.0, 12.0, 14.0], enough=0.125)
    4.0
    """
    last, ratio = decay(bounds)
    if not 0.0 < ratio < 1.0:
        return 0.0
    return max(log(enough / (last * ratio / (1.0 - ratio))) / log(ratio), 0.0)


def decay(bounds: Sequence[float]) -> tuple[float, float]:
    """The last gain, and the ratio by which gains shrink; 1 where they do not, 0 where there is no gain any more."""
    if len(bounds) < 4:
        return 0.0, 1.0
    first, second, last = (bounds[-3] - bounds[-4], bounds[-2] - bounds[-3], bounds[-1] - bounds[-2])
    if last <= LOST_IN_ROUNDING * abs(bounds[-1]):
        return 0.0, 0.0
    if not (second > 0.0 and first > 0.0):
        return last, 1.0
    return last, max(last / second, second / first)
