"""What the user settled: sizes, seed, where the work runs, how long it may take; and who is told how far it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

from unveil.core.loop import watch

logger = logging.getLogger("unveil")


class ReportProgress(NamedTuple):
    """What callbacks are shown."""

    words: str
    done: int
    total: int


Progress = ReportProgress  # what users call it
Callback = Callable[[ReportProgress], None]


class OutOfTime(KeyboardInterrupt):
    """The time that a part of the work had is over: fits end as on Ctrl-C, with the best so far."""


@dataclass
class Clock:
    """How long the whole may take, and what was cut short because of it."""

    limit: float | None = None  # seconds
    began: float = field(default_factory=monotonic)
    cut: list[str] = field(default_factory=list)

    def left(self) -> float:
        """Seconds that are left; without a limit there is no end to them."""
        return float("inf") if self.limit is None else self.limit - (monotonic() - self.began)

    def allows(self, share: float, words: str) -> bool:
        """Whether at least this share of the limit is left; `words` say what is cut short otherwise."""
        if self.limit is None or self.left() > share * self.limit:
            return True
        self.cut.append(words)
        return False

    @contextmanager
    def within(self, share: float, ready: Callable[[], bool] = lambda: True) -> Iterator[None]:
        """Fits inside end when this share of the time that is left is over, and there is something to keep."""
        if self.limit is None:
            yield
            return
        until = monotonic() + share * max(self.left(), 0.0)

        def look(state: Any) -> None:
            if monotonic() > until and ready():
                raise OutOfTime

        logger.addFilter(_not_interrupted)
        try:
            with watch(look):
                yield
        finally:
            logger.removeFilter(_not_interrupted)


def _not_interrupted(record: logging.LogRecord) -> bool:
    """Whether a line is for the log: nobody pressed Ctrl-C, and what was cut is said on the page."""
    return "interrupted" not in record.getMessage()


@dataclass(frozen=True)
class Settings:
    """What the user settled."""

    max_components: int = 9
    seed: int = 0
    engine: Any = "auto"
    callbacks: tuple[Callback, ...] = ()
    covariance_types: tuple[str, ...] | None = None  # what to compare; a few that differ most where it is None
    sample_rows: int = 20_000  # on which models are compared: dozens of fits take seconds
    clock: Clock = field(default_factory=Clock)

    def tell(self, words: str, done: int = 0, total: int = 1) -> None:
        """Show the callbacks how far it is."""
        for callback in self.callbacks:
            callback(ReportProgress(words, done, total))
