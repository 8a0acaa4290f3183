"""Contenders take turns at one thing, round after round; each is credited with its best time.

What is short is done several times in one turn, and long things get fewer rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cases import Entry
from benchmarks.contenders.interface import Order
from benchmarks.lane import Lane, UnavailableError

SETTLE = 0.05  # seconds: the threads of these libraries soon stop spinning
MOST_CALLS = 1000  # in one turn


class Pace(NamedTuple):
    """How much is repeated."""

    rounds: int = 5
    least: int = 2  # rounds: in the first, kernels may compile
    seconds: float = 1.0  # of one contender at one thing, after which it has had its rounds
    burst: float = 0.02  # seconds that a turn should take
    patience: float = 30.0  # seconds of a single call, which then is the only one


@dataclass
class Turns:
    """How a contender did at one thing."""

    seconds: float = np.inf  # of one call, at best
    answer: dict[str, Any] = field(default_factory=dict)  # the last
    rounds: int = 0
    spent: float = 0.0
    trouble: str = ""  # why there is no more

    def calls(self, pace: Pace) -> int:
        """In the next turn."""
        return int(np.clip(pace.burst / self.seconds, 1, MOST_CALLS))

    def over(self, pace: Pace) -> bool:
        """Whether it has had its rounds."""
        long = self.spent > pace.seconds and self.rounds >= pace.least
        return bool(self.trouble or self.rounds >= pace.rounds or long or pace.patience < self.seconds < np.inf)


class Contender:
    """A library at one estimator, in a process that goes from table to table and is started anew if it dies."""

    def __init__(self, entry: Entry, empty: Path) -> None:
        self.label, self._entry = entry.label, entry
        self.absent = ""  # why it cannot take part at all
        self._empty = empty  # folder of the arrays at a lane's start: there are none
        self._failed = ""  # why it has no process now
        self._lane: Lane | None = None
        self.start()

    def start(self) -> None:
        """Begin to load the library."""
        self._lane = Lane(self._entry.module, "whole", self._entry.options, self._empty)

    def ready(self) -> None:
        """Wait until it is loaded, or known to be absent."""
        assert self._lane is not None
        try:
            self._lane.ready()
        except UnavailableError as trouble:
            self.absent = str(trouble)
            self.close()

    def load(self, folder: Path) -> None:
        """Take another table; if that fails, so does what follows."""
        if self._lane is None:
            self.start()
            self.ready()
        with suppress(UnavailableError):
            self.do(Order("load", folder))

    def do(self, order: Order) -> tuple[float, dict[str, Any]]:
        """Seconds of one call, and the answer."""
        if self._lane is None:
            raise UnavailableError(self.absent or self._failed)
        try:
            seconds, answer = self._lane.run(order, SETTLE)
        except UnavailableError as trouble:
            self._failed = str(trouble)
            self.close()
            raise
        return seconds / order.calls, answer

    def close(self) -> None:
        """End the process."""
        if self._lane is not None:
            self._lane.close()
        self._lane = None


def take_turns(contenders: Sequence[Contender], order: Order, pace: Pace) -> dict[str, Turns]:
    """How each did."""
    found = {contender.label: Turns() for contender in contenders}
    for _ in range(pace.rounds):
        for contender in contenders:
            mine = found[contender.label]
            if not mine.over(pace):
                _turn(contender, order._replace(calls=mine.calls(pace)), mine)
    return found


def _turn(contender: Contender, order: Order, mine: Turns) -> None:
    try:
        seconds, mine.answer = contender.do(order)
    except UnavailableError as trouble:
        mine.trouble, mine.seconds = str(trouble), np.inf
        return
    mine.seconds = min(mine.seconds, seconds)
    mine.spent += seconds * order.calls
    mine.rounds += 1
