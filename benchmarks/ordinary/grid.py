"""The cells that are run: shapes, kinds of data and seeds, less what is too large or was not asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from benchmarks.ordinary.kinds import Kind, Voices

SHIFT = 1000  # added to the seeds that are held out
ODD_KINDS_UP_TO = 40_000  # rows; larger tables are of the first kind of a subject only, to bound the time


class Shape(NamedTuple):
    """Of a table, and the number of groups in it."""

    rows: int
    columns: int
    k: int

    def __str__(self) -> str:
        return f"{self.rows:,} x {self.columns}, K={self.k}"


@dataclass(frozen=True)
class Cell:
    """One table."""

    kind: Kind | Voices
    shape: Shape
    seed: int
    sequences: int = 0  # of a chain; none where rows have no order

    @property
    def data(self) -> str:
        """The table in words, all but its seed."""
        chains = {0: "", 1: ", one sequence"}.get(self.sequences, f", {self.sequences} sequences")
        return f"{self.kind.name}, {self.shape}{chains}"

    def __str__(self) -> str:
        return f"{self.data}, seed {self.seed}"


class Limits(NamedTuple):
    """What a subject takes."""

    kinds: tuple[Kind | Voices, ...]
    held_out: tuple[Kind | Voices, ...] = ()
    most_rows: int = 1_000_000
    sequences: tuple[int, ...] = (0,)


SHAPES = (
    Shape(150, 4, 3),
    Shape(400, 4, 3),
    Shape(1_000, 2, 3),
    Shape(4_000, 8, 5),
    Shape(10_000, 8, 5),
    Shape(40_000, 8, 5),
    Shape(100_000, 8, 8),
    Shape(100_000, 32, 10),
    Shape(1_000_000, 4, 5),
)
HELD_OUT_SHAPES = (Shape(270, 6, 4), Shape(2_500, 5, 6), Shape(12_000, 12, 7), Shape(60_000, 10, 6))


@dataclass(frozen=True)
class Grid:
    """What is asked for."""

    seeds: int = 3
    most_rows: int = 1_000_000
    kinds: tuple[str, ...] | None = None  # all, unless some are named
    held_out: bool = False
    first_kinds: int | None = None  # of each subject only, where kinds are not named

    def quick(self) -> Grid:
        """The smallest of it."""
        return replace(self, seeds=1, most_rows=min(self.most_rows, 400), first_kinds=1)

    def cells(self, limits: Limits) -> Iterator[Cell]:
        """Of a subject, seeds innermost."""
        limit = min(self.most_rows, limits.most_rows)
        shapes = HELD_OUT_SHAPES if self.held_out else SHAPES
        for shape in (shape for shape in shapes if shape.rows <= limit):
            for kind in self._kinds(limits, shape):
                for sequences in limits.sequences:
                    for seed in range(self.seeds):
                        yield Cell(kind, shape, seed + SHIFT * self.held_out, sequences)

    def _kinds(self, limits: Limits, shape: Shape) -> tuple[Kind | Voices, ...]:
        kinds = limits.kinds + limits.held_out * self.held_out
        kinds = kinds if shape.rows <= ODD_KINDS_UP_TO else kinds[:1]
        if self.kinds is None:
            return kinds[: self.first_kinds]
        return tuple(kind for kind in kinds if kind.name in self.kinds)
