"""Room for the charts of a sentence: one array, and where in it everything is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Integers
from unveil.grammar.kernels.layout import BLOCK, LANES, SLOTS, PackedGrammar

LARGEST_INSIDE, LARGEST_OUTSIDE = 2.0**450, 2.0**900  # so that products of two, and counts, stay finite
FINE, IMPOSSIBLE, LOST = 0, 1, 2  # what became of a sentence


class Space(NamedTuple):
    """Places in `work`, for sentences up to some length; n symbols."""

    inside: int  # rows of all symbols, length after length, place after place; and a row of zeros
    bases: int
    outside: int
    lefts: int  # parts of eight spans, laid out block after block
    rights: int
    left_outs: int
    right_outs: int
    base: int  # (n + 1, 8): one vector per symbol
    top: int
    lower: int
    held: int  # what limits set aside
    products: int  # (16, 8): M of a tile
    slopes: int
    counts: int  # (rules, 8) of both programs and (chains, 8)
    leaves: int  # (words, n): posterior of parent -> word
    work: Floats
    starts: Integers  # where in a row each length begins
    scale: Integers  # (words + 1,): powers of two that the words up to there were multiplied with


def room(packed: PackedGrammar, longest: int) -> Space:
    """Room for sentences of up to `longest` words."""
    n, programs = packed.n_symbols, (packed.two, packed.longer)
    row = sum((longest - length + 15) // 8 * 8 for length in range(1, longest + 1)) + 8
    chart, vectors, words = (n + 1) * row, (n + 1) * LANES, max(longest, 1)
    lefts = max(program.n_lefts for program in programs) * BLOCK * LANES * words
    rights = max(program.n_rights for program in programs) * BLOCK * LANES * words
    counts = (packed.two.n_rules + packed.longer.n_rules + packed.chains.n_entries) * LANES
    tile = SLOTS * LANES
    sizes = (chart, chart, chart, lefts, rights, lefts, rights, *(vectors,) * 4, tile, tile, counts, words * n)
    places = np.append(0, np.cumsum([-(-size // LANES) * LANES for size in sizes]))
    work = np.zeros(places[-1] + LANES)
    work = work[-(work.ctypes.data // 8) % LANES :][: places[-1]]  # vectors begin where cache lines do
    integers = (np.zeros(longest + 2, dtype=np.int64), np.zeros(longest + 1, dtype=np.int64))
    parts: tuple[Any, ...] = (*places[:-1].tolist(), work, *integers)
    return Space(*parts)
