"""All tables that a number of clusters is asked of, those without groups and those with them, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from benchmarks.trust import clustered, structureless

SIZE, POWER = "size", "power"


class Key(NamedTuple):
    """Which table it is."""

    part: str
    kind: str
    n: int
    seed: int


class Table:
    """A table, drawn when it is looked at."""

    def __init__(self, key: Key) -> None:
        self.key = key

    @cached_property
    def _groups(self) -> clustered.Clusters | None:
        return clustered.drawn(self.key.kind, self.key.seed) if self.key.part == POWER else None

    @property
    def rows(self) -> Any:
        key = self.key
        return structureless.drawn(key.kind, key.seed, key.n) if self._groups is None else self._groups.rows

    @property
    def truth(self) -> int:
        """How many clusters there are."""
        return 1 if self._groups is None else self._groups.n_clusters

    @property
    def clear(self) -> bool:
        """Whether a rule that knows the densities would be right often enough for the number to be asked for."""
        return self._groups is None or self._groups.bayes >= clustered.CLEAR

    @property
    def design(self) -> clustered.Design | None:
        return clustered.DESIGNS[self.key.kind] if self.key.part == POWER else None

    @property
    def numeric(self) -> bool:
        return self.design is None or self.design.numeric

    @property
    def most(self) -> int:
        """Components that are tried."""
        return 9 if self.design is None else self.design.most


def size_tables(seeds: int = structureless.SEEDS) -> Iterator[Table]:
    """Without groups."""
    for n in structureless.SIZES:
        for kind in structureless.KINDS:
            for seed in range(seeds):
                yield Table(Key(SIZE, kind, n, seed))


def power_tables(seeds: int = clustered.SEEDS) -> Iterator[Table]:
    """With groups."""
    for kind, design in clustered.DESIGNS.items():
        for seed in range(seeds):
            yield Table(Key(POWER, kind, sum(design.sizes) + design.noise, seed))
