"""The exact E step of one long chain in little memory: tables of a few chunks at a time, made again on the way back.

Forward-backward needs scores, emissions and shares of all steps: some four tables of steps x states. Here the way there
leaves only what it ended each chunk with (a checkpoint: one line of a table), and the way back makes the tables of a
chunk again from the checkpoint before it, adds up what its posteriors say, and lets go of them. That scores every step
twice and goes there twice (Zhang and Mak's and others' *check-pointing*; Tarnas and Hughey, "Reduced space hidden
Markov model training", Bioinformatics 1998); steps that are codes of few levels go back twice, too, since their counts
are added up from the first step to the last.

All is done in the pieces and in the order of `unveil.chains.kernels.long_chain`, so the bits are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unveil.chains.kernels.forward_backward import LEDGER_STEPS, LN2, add_scales
from unveil.chains.kernels.long_chain import Half, LongSweep
from unveil.chains.kernels.smooth import NO_CODES, add_by_code, room, with_missing
from unveil.chains.model.expectations import BlockChains
from unveil.core.arrays import Floats
from unveil.core.idle_threads import share
from unveil.core.memory import budget
from unveil.core.protocols import Block
from unveil.core.statistics import Statistics, tree_sum

if TYPE_CHECKING:
    from unveil.chains.model.emissions import CodedRows, RowChunk, Scored
    from unveil.chains.model.model import HiddenMarkov, MarkovPlan

TABLES = 1 << 29  # bytes of the tables of a chain from which it is done in pieces, limit of memory or not
TABLES_EACH = 4  # tables of steps x states that all at once takes
SIDE_BY_SIDE = 4  # chunks whose tables are there at a time
PAD = LEDGER_STEPS  # rows before a chunk's own: maxima are added up by numbers of rows


def is_too_long(n_rows: int, n_states: int) -> bool:
    """Whether the tables of a chain are more than should be held."""
    return 8 * TABLES_EACH * n_rows * n_states > min(TABLES, budget() / 2)


def expect_in_pieces(
    model: HiddenMarkov, plan: MarkovPlan, block: Block, chains: BlockChains, chunks: tuple[RowChunk, ...]
) -> Statistics | None:
    """Statistics of a block that is one long chain; None where all of it has to be at hand after all."""
    cuts, coded = chains.cuts, len(chunks) == 1 and chunks[0].codes is not None
    if cuts.chunk % PAD or not (coded or cuts.chunk == model.sizes.chunk_rows) or (coded and block.weights is not None):
        return None
    levels = model.emissions.levels(plan.family, chunks[0]) if coded else None
    chain = _ChainInPieces(model, plan, block, chunks, levels, float(chains.each[0]))
    found = chain.there()
    if found is None:
        return None
    starts, products = chain.back()
    square = products.reshape(plan.sweep.width, plan.sweep.width)[: len(starts), : len(starts)]
    bound = chains.total(np.array([found]))
    return Statistics(
        weight=chains.weight(block),
        log_likelihood=bound,
        free_energy=bound,
        starts=starts,
        transitions=plan.sweep.transition * square,
        moments=chain.moments(),
    )


class _ChunkEnd(NamedTuple):
    """What the last row of a chunk, and the one before it, hold."""

    shares: Floats
    emissions: Floats
    inverses: Floats  # of both


class _ChainPiece(NamedTuple):
    """A chunk with its tables."""

    number: int
    sweep: LongSweep  # whose rows are numbered from `origin`
    origin: int
    chunk: tuple[int, int]  # in numbers of the sweep
    scored: list[tuple[RowChunk, Scored]]
    out: Floats  # posteriors, lines from `origin`


@dataclass
class _ChainInPieces:
    """A chain, and what is held of it."""

    model: HiddenMarkov
    plan: MarkovPlan
    block: Block
    chunks: tuple[RowChunk, ...]  # of emissions
    levels: CodedRows | None
    weight: float
    ends: list[_ChunkEnd] = field(default_factory=list)
    aheads: dict[int, Floats] = field(default_factory=dict)  # w at the end of each chunk
    sums: dict[int, Floats] = field(default_factory=dict)  # moments by the place of their rows

    @property
    def cuts(self) -> list[tuple[int, int]]:
        """The row before the first of each chunk, and its last."""
        return LongSweep(self.plan.sweep, None, len(self.block.rows), self.model.sizes.cuts).chunks  # type: ignore[arg-type]

    def there(self) -> float | None:
        """The log-likelihood, and checkpoints; None where a share that may matter was lost."""
        peaks: list[float] = []
        powers, rest, last = 0, 0.0, 0.0
        for group in self._groups():
            made = share(self._guessed, group)
            for piece, (peak, lost) in made:
                sweep, (begin, end) = piece.sweep, piece.chunk
                if not self._corrected(piece, peak > -np.inf) or (lost and not sweep.chain.sure):
                    return None
                stop = end if piece.number < len(self.cuts) - 1 else end - 1
                powers, rest = add_scales(sweep.rows.inverses[begin + 1 : stop + 1], powers, rest)
                peaks.append(peak)
                last = float(sweep.row(sweep.rows.shares, end).sum())
                self.ends.append(_checkpoint(sweep, end))
        if self.plan.sweep.matrices.tiny and not self.plan.sweep.sure:
            return None
        return float(np.sum(peaks)) - float(powers * LN2 + rest) + float(np.log(last))

    def back(self) -> tuple[Floats, Floats]:
        """Posteriors of the first step and sums of products; moments are added up on the way."""
        total: Any = None
        ahead: Any = None
        starts = np.empty(0)
        carried: Any = None  # posterior of the step that a chunk leaves to the next one
        for group in reversed(list(self._groups())):
            ready = []
            for piece, half in reversed(share(self._returned, group)):
                if ahead is None:
                    total, ahead = half.products, half.ahead
                else:
                    self.aheads[piece.number] = ahead.copy()
                    near, far, ahead = piece.sweep.back_from_truth(piece.chunk, half, self.weight, ahead, piece.out)
                    total = total + near + far
                    piece.out[piece.chunk[1] - 1] = carried
                if piece.number == 0:
                    starts = piece.out[0].copy()
                else:
                    carried = piece.out[piece.chunk[0] - 1].copy()
                ready.append(piece)
            if self.levels is None:
                self.sums.update(entry for found in share(_moments, ready) for entry in found)
        return starts, total

    def moments(self) -> Floats:
        """Sums of statistics of all steps."""
        if self.levels is None:
            found: Floats = tree_sum([self.sums[place] for place in sorted(self.sums)])
            return found
        sums = np.zeros(self.levels.table.shape)
        for piece, first, stop in self._again():
            line = piece.origin
            add_by_code(self.levels.codes[first:stop], piece.out[first - line : stop - line], sums)
        return self.levels.levels.gather(sums)

    def _again(self) -> Iterator[tuple[_ChainPiece, int, int]]:
        """Chunks with their posteriors, from the first on, and the lines that they have them of."""
        for group in self._groups():
            for piece, half in share(self._returned, group):
                if piece.number in self.aheads:
                    ahead = self.aheads[piece.number].copy()
                    piece.sweep.back_from_truth(piece.chunk, half, self.weight, ahead, piece.out)
                begin, end = self.cuts[piece.number]
                yield piece, max(begin, 1) - 1, end - (piece.number in self.aheads)

    def _groups(self) -> Iterator[range]:
        """Numbers of chunks, a few at a time."""
        count = len(self.cuts)
        return (range(first, min(first + SIDE_BY_SIDE, count)) for first in range(0, count, SIDE_BY_SIDE))

    def _guessed(self, number: int) -> tuple[_ChainPiece, tuple[float, bool]]:
        """A chunk with its tables, swept from a guess."""
        begin, end = self.cuts[number]
        origin = begin - PAD if begin else 0
        lines, k = end - origin, self.model.n_components
        out, scored = np.zeros((lines, k)), []
        if self.levels is not None:
            table, codes = with_missing(self.levels.table, self.levels.codes[origin:end])
            rows = room(self.plan.sweep, table, codes, lines)
        else:
            for chunk in self.chunks:
                if begin <= chunk.place.start < end:
                    here = out[chunk.place.start - origin : chunk.place.stop - origin]
                    scored.append((chunk, self.model.emissions.score_chunk(self.plan.family, self.block, chunk, here)))
            rows = room(self.plan.sweep, out, NO_CODES, lines)
        last = number == len(self.cuts) - 1
        sweep = LongSweep(self.plan.sweep, rows, lines if last else lines + 1, self.model.sizes.cuts)
        piece = _ChainPiece(number, sweep, origin, (begin - origin, end - origin), scored, out)
        return piece, sweep.guess(piece.chunk)

    def _corrected(self, piece: _ChainPiece, guessed: bool) -> bool:
        """Sweep on from the checkpoint before, until that agrees with the guess; False where no share is left."""
        if piece.number == 0:
            return guessed
        before, (begin, end) = self.ends[piece.number - 1], piece.chunk
        rows = piece.sweep.rows
        piece.sweep.row(rows.shares, begin)[:] = before.shares
        rows.inverses[begin - 1 : begin + 1] = before.inverses
        if self.levels is None:
            piece.sweep.row(rows.emissions, begin)[:] = before.emissions
        return piece.sweep.correct(begin, end, guessed)

    def _returned(self, number: int) -> tuple[_ChainPiece, Half]:
        """A chunk whose tables are made again, on its way back from a guess."""
        piece, (peak, _) = self._guessed(number)
        self._corrected(piece, peak > -np.inf)
        return piece, piece.sweep.back_from_guess(piece.chunk, self.weight, piece.out)


def _checkpoint(sweep: LongSweep, end: int) -> _ChunkEnd:
    shares, emissions = sweep.row(sweep.rows.shares, end).copy(), sweep.emissions(end).copy()
    return _ChunkEnd(shares, emissions, sweep.rows.inverses[end - 1 : end + 1].copy())


def _moments(piece: _ChainPiece) -> list[tuple[int, Floats]]:
    """Sums of the statistics of each chunk of emissions, by the place of its first row."""
    return [
        (
            chunk.place.start,
            scored.gather(piece.out[chunk.place.start - piece.origin : chunk.place.stop - piece.origin]),
        )
        for chunk, scored in piece.scored
    ]
