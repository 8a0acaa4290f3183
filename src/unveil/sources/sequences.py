"""Rows that are the steps of sequences: a source seen through the lengths of what its rows belong to.

A sequence is never parted. Partitions are runs of whole sequences, cut as soon as they have enough rows, so where they
end follows from the lengths alone, and the sums of a fit are the same bits wherever the rows are kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.partition import bounds_of, count_of, partition_rows, width_of
from unveil.core.protocols import Block, Source
from unveil.sources.mapped import Over
from unveil.sources.weighted import checked_weights

FEWEST_ROWS, ENOUGH_ROWS = 4096, 16384  # of a partition: some tenths of a millisecond, or threads wait in turn
MANY_PARTITIONS = 16  # are aimed at, between these: enough for all threads to share


@final
class Sequences(Over):
    """`source`, whose rows are the steps of sequences of some `lengths`, in order.

    Parameters
    ----------
    source : source
        The rows of all sequences, one after the other.
    lengths : array-like of int of shape (n_sequences,), or None
        Rows of each sequence, summing to those of the source; 0 is a sequence without steps. None: all are one.
    sequence_weights : array-like of shape (n_sequences,), optional
        How often each sequence counts.
    marks : sequence of length n_sequences, optional
        What else is known of each sequence; blocks carry it along.
    enough : int, optional
        Rows that a partition has at least, the last aside; by default 4096 to 16384, by the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources import ArraySource, Sequences
    >>> source = Sequences(ArraySource(np.arange(6.0).reshape(6, 1)), [2, 3, 1], enough=3)
    >>> [(block.start, block.lengths.tolist()) for block in source.read()]
    [(0, [2, 3]), (5, [1])]
    """

    cuts: NDArray[np.intp]  # rows that partitions begin with, and the number of all rows

    def __init__(
        self,
        source: Source,
        lengths: ArrayLike | None,
        sequence_weights: ArrayLike | None = None,
        marks: Sequence[Any] | None = None,
        enough: int | None = None,
    ) -> None:
        self.source = source
        alone = lengths is None
        self.lengths = np.array([source.n_rows]) if lengths is None else checked_lengths(lengths, source.n_rows)
        self.sequence_weights = (
            None
            if sequence_weights is None
            else checked_weights(sequence_weights, self.n_sequences, "sequence_weight", "a sequence")
        )
        if marks is not None and len(marks) != self.n_sequences:
            raise ValueError(f"marks must have one entry for each of {self.n_sequences} sequences, got {len(marks)}")
        self.marks = marks
        if alone:
            self._firsts, self.cuts = [0, 1], np.array([0, source.n_rows])
            return
        fair = min(max(source.n_rows // MANY_PARTITIONS, FEWEST_ROWS), ENOUGH_ROWS)
        self._firsts = _runs(self.lengths, min(enough or fair, partition_rows(width_of(source))))
        starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.cuts = starts[self._firsts]

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.lengths)

    @property
    def in_one_piece(self) -> bool:
        """Whether there is a single partition, of an array at hand."""
        return len(self.cuts) == 2 and hasattr(self.source, "slice")

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks of whole sequences, in increasing order of partition; all of them by default."""
        chosen = range(len(self.cuts) - 1) if partitions is None else sorted({int(index) for index in partitions})
        if chosen and not 0 <= chosen[0] <= chosen[-1] < len(self.cuts) - 1:
            taken = f"numbers from 0 to {len(self.cuts) - 2}"
            raise IndexError(f"partitions must be {taken}, got {chosen[0]} to {chosen[-1]}")
        take = getattr(self.source, "slice", None)
        if take is None:
            take = _Pieces(self.source, [(int(self.cuts[index]), int(self.cuts[index + 1])) for index in chosen]).take
        for index in chosen:
            first, last = self._firsts[index], self._firsts[index + 1]
            rows, weights = take(int(self.cuts[index]), int(self.cuts[index + 1]))
            shares = None if self.sequence_weights is None else self.sequence_weights[first:last]
            marks = None if self.marks is None else tuple(self.marks[first:last])
            yield Block(index, int(self.cuts[index]), rows, weights, self.lengths[first:last], shares, marks)


class _Pieces:
    """Rows of a source by runs that are asked for in order, each partition of the source read once."""

    def __init__(self, source: Source, runs: Sequence[tuple[int, int]]) -> None:
        self._empty = np.empty((0, source.n_columns), dtype=source.dtype)
        ends = [bounds_of(source, index)[1] for index in range(count_of(source))]
        needed: set[int] = set()
        for start, stop in runs:
            if stop > start:
                needed.update(range(bisect_right(ends, start), bisect_right(ends, stop - 1) + 1))
        self._blocks = iter(source.read(sorted(needed)))
        self._held: list[Block] = []

    def take(self, start: int, stop: int) -> tuple[Any, NDArray[np.float64] | None]:
        """Rows `start` to `stop` - 1 and their weights, which come after all that was taken before."""
        self._held = [block for block in self._held if block.start + len(block.rows) > start]
        while stop > start and (not self._held or self._held[-1].start + len(self._held[-1].rows) < stop):
            self._held.append(next(self._blocks))
        cuts = [(block, slice(max(start - block.start, 0), stop - block.start)) for block in self._held]
        cuts = [(block, part) for block, part in cuts if part.start < len(block.rows) and part.stop > 0]
        if stop <= start or not cuts:
            return self._empty, None
        rows = _joined([block.rows[part] for block, part in cuts])
        weights = [block.weights[part] for block, part in cuts if block.weights is not None]
        return rows, _joined(weights) if weights else None


def _joined(pieces: list[Any]) -> Any:
    """Arrays one after the other; a single one as it is."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _runs(lengths: NDArray[np.intp], enough: int) -> list[int]:
    """Numbers of the first sequences of the partitions, and the number of all of them at the end."""
    firsts, rows = [0], 0
    for number, length in enumerate(lengths.tolist(), start=1):
        rows += length
        if rows >= enough and number < len(lengths):
            firsts.append(number)
            rows = 0
    return [*firsts, len(lengths)]


def checked_lengths(lengths: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """`lengths` as integers from 0 on that sum to the rows there are."""
    given = np.asarray(lengths)
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"lengths must be a list of integers, one for each sequence, got {_shown(lengths)}")
    whole = given.astype(np.intp) if np.issubdtype(given.dtype, np.number) and np.all(np.isfinite(given)) else None
    if whole is None or np.any(whole != given) or np.any(whole < 0):
        raise ValueError(f"lengths must be integers from 0 on, got {_shown(lengths)}")
    if whole.sum() != n_rows:
        raise ValueError(f"lengths must sum to the number of rows, {n_rows}, got a sum of {whole.sum()}")
    return whole


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
