"""How long a pass waits for a cluster that loses workers, and what it says when that is over."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

logger = logging.getLogger("unveil")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds before a new attempt: twice as long each time


class ClusterLostError(RuntimeError):
    """A Dask cluster has lost its workers for longer than the patience of the engine."""


class Patience:
    """Counts the seconds since the first loss after which nothing has come back."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._since: float | None = None
        self._pause = FIRST_PAUSE

    @property
    def tried(self) -> bool:
        """Whether there is trouble."""
        return self._since is not None

    def lost(self, error: BaseException) -> None:
        """Wait a little before the next attempt; an error where patience is at its end."""
        now = monotonic()
        if self._since is None:
            self._since = now
            logger.info("dask: lost work (%s); it is done anew", _said(error))
        if now - self._since >= self.seconds:
            raise ClusterLostError(
                f"the Dask cluster has lost what it worked on, again and again for {now - self._since:.0f} seconds,"
                f" and has finished nothing since; the last it said was: {_said(error)}. Workers may be short of"
                " memory, or gone; engine=unveil.engines.Dask(client, patience=seconds) waits longer for them"
            ) from error
        sleep(min(self._pause, max(self._since + self.seconds - now, 0.0)))
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def over(self) -> None:
        """Something came back."""
        if self._since is not None:
            logger.info("dask: back to work after %.1f seconds", monotonic() - self._since)
        self._since, self._pause = None, FIRST_PAUSE

    def insist(self, attempt: Callable[[], Any]) -> Any:
        """What `attempt` returns, tried again for as long as the cluster is not there."""
        while True:
            try:
                return attempt()
            except (TimeoutError, OSError) as error:
                self.lost(error)


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
