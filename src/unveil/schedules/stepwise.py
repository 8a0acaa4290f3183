"""Stepwise EM: the parameters move after every mini-batch (Cappe & Moulines 2009; Liang & Klein 2009).

Running statistics are a decaying average of what the mini-batches say of the whole table: after update t,

    S <- (1 - rate_t) S + rate_t (N / n_batch) S_batch,      rate_t = (t + 2) ** -decay,   1/2 < decay <= 1

which converges to a stationary point though single steps may lower the free energy. It reaches the vicinity of the
answer in fewer passes than batch EM, and it is what ``partial_fit`` runs on a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from unveil.core.partition import count_of, partition_rows, rows_of, runs_of, width_of
from unveil.core.protocols import Asking, Params, Piece, Schedule, Work
from unveil.core.statistics import Statistics, tree_sum


class Running(NamedTuple):
    """What lives on from mini-batch to mini-batch."""

    updates: int
    statistics: Statistics


@dataclass(frozen=True)
class Stepwise(Schedule):
    """One M step per mini-batch.

    Parameters
    ----------
    decay : float, default=0.6
        Exponent of the step size, above 1/2 and at most 1: smaller forgets faster.
    batch_rows : int, default=2048
        Rows in a mini-batch: whole partitions, or a half, a quarter ... of one. Smaller ones move sooner and are
        noisier; they also have less for threads to share.

    Examples
    --------
    >>> from unveil.schedules import Stepwise
    >>> round(Stepwise(decay=0.7).rate(0), 3)
    0.616
    """

    decay: float = 0.6
    batch_rows: int = 2048

    monotone = False

    def __post_init__(self) -> None:
        if not 0.5 < self.decay <= 1:
            raise ValueError(f"decay must be above 0.5 and at most 1, got {self.decay!r}")
        if self.batch_rows < 1:
            raise ValueError(f"batch_rows must be a positive integer, got {self.batch_rows!r}")

    def rate(self, updates: int) -> float:
        """Step size of update number `updates`."""
        return float((updates + 2) ** -self.decay)

    def sweeping(self, work: Work, params: Params, state: Running | None) -> Asking[tuple[Params, Statistics, Running]]:
        """One pass: every mini-batch in turn. The statistics returned are the sum over the mini-batches."""
        seen: list[Statistics] = []
        params = work.model.recentre(params) if state is None else params
        for batch, piece in self._batches(work):
            rows = self._rows(work, batch, piece)
            if rows == 0:
                continue
            fresh = yield from work.ask(params, batch, piece)
            seen.append(fresh)
            if not float(fresh["weight"]) > 0:
                continue
            state = self.blend(state, fresh, float(work.source.n_rows) / rows)
            params = work.model.maximise(state.statistics, params)
        if state is None:
            raise ValueError("the data has no rows")
        return params, tree_sum(seen), state

    def blend(self, state: Running | None, fresh: Statistics, scale: float) -> Running:
        """Fold the statistics of a mini-batch, scaled up to the whole, into the running ones."""
        if state is None:
            return Running(1, fresh.scaled(scale))
        rate = self.rate(state.updates - 1)
        return Running(state.updates + 1, state.statistics.blended(fresh, rate, scale))

    def _batches(self, work: Work) -> Iterator[tuple[range, Piece | None]]:
        """Runs of partitions, or pieces of each in turn; what a source cuts by itself has no pieces."""
        source = work.source
        size = 1 if hasattr(source, "cuts") else min(partition_rows(width_of(source)), source.n_rows)
        pieces = 1 << max((size // int(self.batch_rows)).bit_length() - 1, 0)
        if pieces > 1:
            every = range(count_of(source))
            return ((range(one, one + 1), Piece(number, pieces)) for one in every for number in range(pieces))
        return ((run, None) for run in runs_of(source, self.batch_rows))

    @staticmethod
    def _rows(work: Work, batch: range, piece: Piece | None) -> int:
        rows = rows_of(work.source, batch)
        if piece is None:
            return rows
        first, last = piece.bounds(rows)
        return last - first
