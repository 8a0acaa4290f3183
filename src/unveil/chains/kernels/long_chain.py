"""Forward-backward through one long chain, cut into chunks that run side by side, exactly.

A hidden Markov chain forgets where it came from: sweeps over a chunk from a guess and from the truth soon agree, and
from the first step at which they do, to rounding and in every component, they agree for good, since products of
matrices without negative entries never drive vectors apart (in Hilbert's metric; Birkhoff 1957). So all chunks are
swept from a guess, at the same time; then, one chunk after the other, from the true end of its neighbour until that
agrees with what is there. Should it never, the whole chunk is swept again: at most twice the work, and no assumption.

Where chunks begin depends on the length alone, and all sums are in one order: the bits do not depend on who ran what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from unveil.chains.kernels.filter import filter_states
from unveil.chains.kernels.forward_backward import (
    HARMLESS_LOSS,
    TILE_STEPS,
    SweepChain,
    SweepMatrices,
    SweepRows,
    backward,
    emit,
    first_row,
    flat,
    forward,
    last_row,
    log_scales,
    loss,
)
from unveil.chains.kernels.smooth import NO_CODES, room, smooth_in_logs, with_missing
from unveil.core.arrays import Floats
from unveil.numerics.jit import kernel

SWEEP_ROUNDING = 2e-14  # by which sweeps from guess and truth may differ in a component that they agree in, relative


class Cuts(NamedTuple):
    """Where a long chain is cut, in steps."""

    chunk: int = 1 << 14  # of those that are swept side by side
    piece: int = 512  # of a chunk, after which the sweeps from guess and truth are compared; below half a chunk
    split: int = 4 << 14  # from which cutting pays


CUTS = Cuts()


def smooth_long(
    scores: Floats,
    start: Floats,
    transition: Floats,
    weight: float,
    out: Floats,
    share: Callable[[Callable[[Any], Any], Any], list[Any]],
    codes: Any = None,
    cuts: Cuts = CUTS,
) -> tuple[float, Floats, Floats]:
    """Log-likelihood, expected starts (K,) and transitions (K, K) of one chain; posteriors times `weight` into `out`.

    As `unveil.chains.kernels.smooth.smooth` for one sequence of any length; `share(function, items)` maps a function
    over chunks, side by side or not. With `codes` (steps,), `scores` are those of levels, as for `smooth_coded`.
    """
    chain, weight = SweepChain(start, transition), float(weight)
    scores, codes = (scores, NO_CODES) if codes is None else with_missing(scores, codes)
    sweep = LongSweep(chain, room(chain, scores, codes, len(out)), len(out), cuts)
    log_likelihood = sweep.there(share)
    if log_likelihood == -np.inf:  # no share is left, or one may be missing: log space tells
        starts, transitions = np.zeros(chain.n_states), np.zeros(chain.transition.shape)
        scores = scores[codes] if len(codes) else scores
        return smooth_in_logs(chain, scores, weight, out, starts, transitions), starts, transitions
    products = sweep.back(share, weight, flat("out", out))
    square = products.reshape(chain.width, chain.width)[: chain.n_states, : chain.n_states]
    return log_likelihood, out[0].copy(), chain.transition * square


def filter_long(scores: Floats, start: Floats, transition: Floats, out: Floats, share: Any, cuts: Cuts = CUTS) -> float:
    """Write p(s_t | x_1 .. x_t) of one chain into `out`, may be `scores`; returns its log-likelihood.

    As `unveil.chains.kernels.filter.filter_states` for one sequence of any length; `share` as in `smooth_long`.
    """
    chain = SweepChain(start, transition)
    sweep = LongSweep(chain, room(chain, scores, NO_CODES, len(scores)), len(scores), cuts)
    log_likelihood = sweep.there(share, filtering=True)
    if log_likelihood == -np.inf:
        return float(filter_states(scores, [len(scores)], start, transition, out)[0])
    share(lambda chunk: sweep.normalise(chunk, out), sweep.chunks)
    return log_likelihood


class Half(NamedTuple):
    """What a chunk's way back from a guess leaves."""

    middle: Floats  # w where the way back from the truth is to meet it
    ahead: Floats  # w at the chunk's begin
    products: Floats  # from the middle to the begin


@dataclass(frozen=True)
class LongSweep:
    """A chain of `length` steps and its room."""

    chain: SweepChain
    rows: SweepRows
    length: int
    cuts: Cuts

    @property
    def chunks(self) -> list[tuple[int, int]]:
        """The row before the first of each chunk, and its last; the last chunk is no shorter than half a size."""
        size = self.cuts.chunk
        return list(pairwise([*range(0, max(self.length - size // 2, 1), size), self.length]))

    def row(self, table: Floats, number: int) -> Floats:
        """A line of a flat table."""
        return table[number * self.rows.width : (number + 1) * self.rows.width]

    def emissions(self, number: int) -> Floats:
        """The emissions of a row; of its level, where there are codes."""
        codes = self.rows.codes
        return self.row(self.rows.emissions, int(codes[number - 1]) if len(codes) else number)

    def there(self, share: Any, filtering: bool = False) -> float:
        """All of `shares`; the log-likelihood, minus infinity if it takes log space."""
        guesses = share(self.guess, self.chunks)
        possible = guesses[0][0] > -np.inf
        for (begin, end), (peaks, _) in zip(self.chunks[1:], guesses[1:], strict=True):
            possible = possible and self.correct(begin, end, peaks > -np.inf)
        if not possible or not self.harmless(any(lost for _, lost in guesses), filtering):
            return -np.inf
        last = self.row(self.rows.shares, self.length).sum()
        scaled = log_scales(self.rows.inverses[1:-1])
        return float(np.sum([peaks for peaks, _ in guesses])) - scaled + float(np.log(last))

    def guess(self, chunk: tuple[int, int]) -> tuple[float, bool]:
        """Sweep a chunk from what its first step says; the sum of its peaks, and whether shares were lost."""
        begin, end = chunk
        coded, lost = len(self.rows.codes) > 0, False
        peak = float(self.rows.peaks[self.rows.codes[begin]]) if coded else _emit(self.rows, begin, begin + 1)
        if begin == 0:
            peak, lost = _first_row(self.rows, int(self.rows.codes[0]) if coded else 0, self.chain.log_start)
        else:
            emissions = self.emissions(begin + 1)
            self.row(self.rows.shares, begin + 1)[:] = emissions
            self.rows.inverses[begin + 1] = 1.0 / max(emissions.sum(), 1.0)
        if peak == -np.inf:
            return peak, True
        peaks, _, lost_later = _forward(self.rows, 0, begin + 1, end, self.chain.matrices.forward)
        return peak + peaks, lost or lost_later

    def correct(self, begin: int, end: int, guessed: bool) -> bool:
        """Sweep a chunk from its true begin until that agrees with the guess; False if no share is left."""
        while begin < end:
            here = min(begin + self.cuts.piece, end)
            row, inverses = self.row(self.rows.shares, here), self.rows.inverses
            before, scale = row.copy(), inverses[here]
            if _forward(self.rows, 0, begin, here, self.chain.matrices.forward)[0] == -np.inf:
                return False
            ratio = before.sum() / row.sum()
            if guessed and _agree(before, ratio * row):  # what follows goes with the scale of the guess
                row[:], inverses[here] = before, scale
                inverses[here - 1] *= ratio
                return True
            begin = here
        return True

    def harmless(self, lost: bool, filtering: bool) -> bool:
        """Whether nothing that was lost matters, in the end or, if `filtering`, at any step."""
        matrices = self.chain.matrices
        if matrices.sure or not (lost or matrices.tiny):
            return True
        return bool(_loss(self.rows, 0, self.length, matrices, filtering) <= HARMLESS_LOSS)

    def normalise(self, chunk: tuple[int, int], out: Floats) -> None:
        """Shares of a chunk's states that sum to 1, into `out`."""
        begin, end = chunk
        shares = self.rows.shares.reshape(-1, self.rows.width)[begin + 1 : end + 1, : self.rows.k]
        np.divide(shares, shares.sum(axis=1, keepdims=True), out=out[begin:end])

    def back(self, share: Any, weight: float, out: Floats) -> Floats:
        """Posteriors into `out`; sums of products for the transitions."""
        halves = share(lambda chunk: self.back_from_guess(chunk, weight, out), self.chunks)
        ahead, total = halves[-1].ahead, halves[-1].products
        for chunk, half in zip(self.chunks[-2::-1], halves[-2::-1], strict=True):
            near, far, ahead = self.back_from_truth(chunk, half, weight, ahead, out)
            total = total + near + far
        return total

    def back_from_truth(
        self, chunk: tuple[int, int], half: Half, weight: float, ahead: Floats, out: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """A chunk's way back from the w that the next one left, until it meets that from a guess.

        Returns its products, those of the rest of the chunk, and w at the chunk's begin.
        """
        begin, end = chunk
        middle = max(end - self.cuts.piece, begin, 1)
        near = self.pull(middle, end, weight, ahead, out)
        if _agree(ahead, half.middle):
            return near, half.products, half.ahead
        return near, self.pull(max(begin, 1), middle, weight, ahead, out), ahead

    def back_from_guess(self, chunk: tuple[int, int], weight: float, out: Floats) -> Half:
        """A chunk's way back, as though the chain ended with it; for the last, which does, all of its products.

        It leaves the posteriors of its last row to the next chunk, to which they are those before the first.
        """
        begin, end = chunk
        ahead, first = np.empty(self.rows.width), max(begin, 1)
        if end == self.length:
            _last_row(self.rows, 0, end, weight, ahead, out)
            return Half(ahead, ahead, self.pull(first, end, weight, ahead, out))
        future = weight / self.row(self.rows.shares, end).sum()
        ahead[:] = self.emissions(end) * (self.rows.inverses[end - 1] * future)
        self.pull(middle := max(end - self.cuts.piece, first), end, weight, ahead, out)
        at_middle = ahead.copy()
        return Half(at_middle, ahead, self.pull(first, middle, weight, ahead, out))

    def pull(self, begin: int, end: int, weight: float, ahead: Floats, out: Floats) -> Floats:
        """Back over some rows; `ahead` moves from `end` to `begin`. The sum of their products."""
        products = np.zeros(self.rows.width**2)
        _backward(self.rows, 0, begin, end, weight, self.chain.matrices.backward, ahead, out, products)
        return products


@kernel
def _emit(rows: SweepRows, line: int, row: int) -> float:
    return emit(rows, line, row)


@kernel
def _first_row(rows: SweepRows, line: int, log_start: Floats) -> tuple[float, bool]:
    return first_row(rows, line, log_start)


@kernel
def _forward(rows: SweepRows, first: int, begin: int, end: int, matrix: Floats) -> tuple[float, int, bool]:
    return forward(rows, first, begin, end, matrix)


@kernel
def _loss(rows: SweepRows, first: int, n_rows: int, matrices: SweepMatrices, filtering: bool) -> float:
    return loss(rows, first, n_rows, matrices, filtering, np.empty(3 * rows.width))


@kernel
def _last_row(rows: SweepRows, first: int, row: int, weight: float, ahead: Floats, out: Floats) -> float:
    return last_row(rows, first, row, weight, ahead, out)


@kernel
def _backward(
    rows: SweepRows, first: int, begin: int, end: int, weight: float, matrix: Floats, ahead: Floats, out: Floats,
    counts: Floats,
) -> None:  # fmt: skip
    room = np.empty((TILE_STEPS + 1) * rows.width)
    backward(rows, first, begin, end, weight, matrix, ahead, room, out, counts)


def _agree(a: Floats, b: Floats) -> bool:
    """Whether two vectors are the same but for rounding, in each component."""
    return bool(np.all(np.abs(a - b) <= SWEEP_ROUNDING * np.minimum(a, b)))
