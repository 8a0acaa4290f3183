"""A source that counts how often it is read, for tests of who shares a pass with whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from unveil.core.partition import count_of
from unveil.core.protocols import Block


class Counted:
    """A source, and how many of its partitions were handed out; its rows have to be read, wherever they are."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.blocks = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_source", "random_access", "mapping", "ship"):
            raise AttributeError(name)
        return getattr(self._source, name)

    @property
    def reads(self) -> float:
        """How often all of it was read; parts count as such."""
        return self.blocks / count_of(self._source)

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks of the source, counted."""
        yield from self._told(self._source.read(partitions))

    def fetch(self, partitions: Sequence[int]) -> Iterator[Block]:
        """Blocks of the source on this thread, counted."""
        yield from self._told(self._source.fetch(partitions))

    def _told(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            self.blocks += 1
            yield block
