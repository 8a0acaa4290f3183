"""Into which runs of partitions a table in files is cut, so that nothing is decoded by two readers.

Storage can be entered at some rows only: where a row group, a record batch or a block of lines begins. A reader that
is asked for a partition in the middle of such a *piece* has to decode the piece from its beginning. So runs begin at
the first partition of a piece, and go on over whole pieces.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

Entries = Sequence[int]  # rows of a file at which decoding may begin, in increasing order, the first of them 0


def cut_into_runs(
    partitions: Sequence[int], size: int, most: int, entries: Sequence[tuple[int, Entries]]
) -> list[tuple[int, ...]]:
    """`partitions` of `size` rows in runs of `most` or fewer, or of a single piece where that is longer.

    `entries` has the first row of each file and, counted from there, the rows at which decoding may begin.

    >>> cut_into_runs(range(8), 10, 3, [(0, [0, 25, 50])])  # the third partition begins in the first piece
    [(0, 1, 2), (3, 4), (5, 6, 7)]
    >>> cut_into_runs(range(8), 10, 3, [(0, [0])])  # one piece, as a packed text is
    [(0, 1, 2, 3, 4, 5, 6, 7)]
    """
    runs: list[tuple[int, ...]] = []
    held: tuple[int, ...] = ()
    for segment in _segments(partitions, _Places(size, entries)):
        if held and len(held) + len(segment) > most:
            runs.append(held)
            held = ()
        held += segment
    return [*runs, held] if held else runs


def _segments(partitions: Sequence[int], places: _Places) -> Iterator[tuple[int, ...]]:
    """Stretches of partitions that one piece has the beginnings of."""
    segment: list[int] = []
    for index in partitions:
        if segment and places.parted(segment[-1], index):
            yield tuple(segment)
            segment = []
        segment.append(index)
    if segment:
        yield tuple(segment)


class _Places:
    """Where partitions begin among the pieces of files."""

    def __init__(self, size: int, entries: Sequence[tuple[int, Entries]]) -> None:
        self._size, self._entries = size, entries
        self._firsts = [first for first, _ in entries]

    def parted(self, before: int, index: int) -> bool:
        """Whether partition `index` begins in a later piece than partition `before`."""
        return self._piece(before) < self._piece(index)

    def _piece(self, index: int) -> tuple[int, int]:
        """File and piece that hold the first row of a partition."""
        row = index * self._size
        file = max(bisect_right(self._firsts, row) - 1, 0)
        first, entries = self._entries[file]
        return file, bisect_right(entries, row - first) - 1
