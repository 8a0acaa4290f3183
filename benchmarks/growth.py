"""How the time of one pass of K-means grows with the rows: ten times as many should take ten times as long.

All sizes are leading parts of one table and start from the same centres. The time of a pass is the slope between a
short and a long fit, so what is done once per fit does not count; the passes are the same ones at every size, since
pruning makes later ones cheaper.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lane import Lane
from benchmarks.table import duration
from benchmarks.tasks.kmeans import overlapping_blobs

HEAD = ("rows", "time per pass", "passes timed", "times the rows", "times the time", "asked", "reached")
SLACK = 1.1  # over the growth of the rows: 11 times for ten times as many


@dataclass(frozen=True)
class Ladder:
    """K-means on tables of rising size."""

    sizes: tuple[int, ...]
    n_columns: int
    n_clusters: int
    short: int = 2
    long: int = 22
    rounds: int = 7

    def rows(self, say: Callable[[str], None]) -> list[list[str]]:
        """The table, from fits made now."""
        return growth_rows(self.sizes, self.measure(say), f"{self.short + 1} to {self.long}")

    def measure(self, say: Callable[[str], None]) -> list[float]:
        """Seconds per pass at each size: the sizes take turns, and the best time of each fit counts."""
        best = np.full((len(self.sizes), 2), np.inf)
        with ExitStack() as stack:
            lanes = self._lanes(stack)
            for number in range(self.rounds):
                say(f"growth: round {number + 1} of {self.rounds}")
                best = np.minimum(
                    best, [[self._timed(lane, steps) for steps in (self.short, self.long)] for lane in lanes]
                )
        return [float(seconds) for seconds in (best[:, 1] - best[:, 0]) / (self.long - self.short)]

    def _lanes(self, stack: ExitStack) -> list[Lane]:
        """A process per size, warmed up."""
        table = overlapping_blobs(np.random.default_rng(0), max(self.sizes), self.n_columns, self.n_clusters)
        lanes = []
        for size in self.sizes:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="unveil-growth-")))
            np.save(folder / "rows.npy", table[:size])
            np.save(folder / "centres.npy", table[: self.n_clusters])
            lanes.append(stack.enter_context(closing(Lane("unveil", "kmeans", {}, folder))))
            lanes[-1].ready()
            lanes[-1].run(self.short)
        return lanes

    def _timed(self, lane: Lane, steps: int) -> float:
        """Seconds of a fit, which has to make all its steps."""
        seconds, found = lane.run(steps)
        if int(found["passes"]) != steps:
            raise RuntimeError(f"K-means converged after {found['passes']} passes; growth needs {steps}")
        return seconds


def growth_rows(sizes: Sequence[int], seconds: Sequence[float], passes: str) -> list[list[str]]:
    """A row per size; from the second on, each is compared with the one before."""
    table = [[f"{sizes[0]:,}", duration(seconds[0]), passes, "", "", "", ""]]
    for at in range(1, len(sizes)):
        more, longer = sizes[at] / sizes[at - 1], seconds[at] / seconds[at - 1]
        reached = "yes" if 0 < longer <= SLACK * more else "no"
        cells = [f"{more:g}", f"{longer:.2f}", f"at most {SLACK * more:g}", reached]
        table.append([f"{sizes[at]:,}", duration(seconds[at]), passes, *cells])
    return table


FULL = Ladder((20_000, 200_000, 2_000_000), 8, 50)
QUICK = Ladder((2_000, 20_000), 8, 50, rounds=2)
