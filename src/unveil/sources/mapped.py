"""A source over another one, and one that is seen through a function of its blocks: weighted, or binarised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from unveil.core.partition import bounds_of, width_of
from unveil.core.protocols import Block, Source


class Over(ABC):
    """What a source over another one has of it: shape, type and names."""

    source: Source

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.source.n_columns

    @property
    def width(self) -> int:
        """Cells of a row, as partitions go by them."""
        return width_of(self.source)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells."""
        return self.source.dtype

    @property
    def names(self) -> tuple[str, ...] | None:
        """Column names, where the source has them."""
        return self.source.names

    @property
    def random_access(self) -> bool:
        """Whether any thread may read any partition."""
        return bool(getattr(self.source, "random_access", False))


@dataclass(frozen=True, eq=False)
class Mapped(Over):
    """`source` with every block changed."""

    source: Source

    @abstractmethod
    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """What to do to the blocks of rows `first` to `last` - 1: a function that can be pickled."""

    @property
    def cuts(self) -> Any:
        """Where partitions end, if the source itself says so."""
        return self.source.cuts  # type: ignore[attr-defined]

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks of the source, changed."""
        return map(self.mapping(0, self.n_rows), self.source.read(partitions))

    @property
    def runs(self) -> Callable[..., list[tuple[int, ...]]]:
        """Into which runs partitions are cut, if the source itself says so."""
        return self.source.runs  # type: ignore[attr-defined,no-any-return]

    @property
    def side_by_side(self) -> bool:
        """Whether several threads may fetch runs."""
        return bool(getattr(self.source, "side_by_side", False))

    @property
    def reader_bytes(self) -> int:
        """What one who decodes may hold at a time."""
        return int(self.source.reader_bytes)  # type: ignore[attr-defined]

    def fetch(self, partitions: Sequence[int]) -> Iterator[Block]:
        """Blocks of the source on this thread, changed."""
        return map(self.mapping(0, self.n_rows), self.source.fetch(partitions))  # type: ignore[attr-defined]

    @property
    def ship(self) -> Callable[[Sequence[int]], tuple[Callable[..., Iterator[Block]], Any]]:
        """How rows reach a worker of a cluster: as the source says, if it does, and changed there."""
        return partial(self._ship, self.source.ship)  # type: ignore[attr-defined]

    def _ship(self, ship: Callable[..., Any], run: Sequence[int]) -> tuple[Callable[..., Iterator[Block]], Any]:
        read, argument = ship(run)
        first, last = bounds_of(self, run[0])[0], bounds_of(self, run[-1])[1]
        return partial(_changed, self.mapping(first, last), read), argument


def _changed(
    change: Callable[[Block], Block], read: Callable[..., Iterator[Block]], argument: Any, partitions: Sequence[int]
) -> Iterator[Block]:
    """Blocks as `read` gives them on the worker, changed."""
    return map(change, read(argument, partitions))
