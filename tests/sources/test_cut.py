"""Pieces of any size become partitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unveil.sources.cut import Chunk, Wanted, cut


@given(st.lists(st.integers(0, 23), max_size=12), st.integers(1, 9), st.none() | st.sets(st.integers(0, 40)))
def test_any_pieces_any_partitions(lengths: list[int], size: int, asked: set[int] | None) -> None:
    total = sum(lengths)
    table = np.arange(2.0 * total).reshape(total, 2)
    starts = np.cumsum([0, *lengths])
    wanted = Wanted(None if asked is None else sorted(asked), size)
    pieces = [Chunk(int(a), table[a:b], table[a:b, 0].copy()) for a, b in pairwise(starts)]
    needed = [piece for piece in pieces if wanted.any_row(piece.start, piece.start + len(piece.rows))]
    for stream in (pieces, needed):
        blocks = list(cut(stream, wanted))
        indices = [index for index in range(-(-total // size)) if asked is None or index in asked]
        assert [block.index for block in blocks] == indices
        for block in blocks:
            rows = table[block.index * size : (block.index + 1) * size]
            assert block.start == block.index * size
            assert np.array_equal(block.rows, rows)
            assert np.array_equal(block.weights, rows[:, 0])
            assert block.rows.flags.c_contiguous


@given(st.sets(st.integers(0, 20)), st.integers(1, 5), st.integers(0, 99), st.integers(0, 99))
def test_wanted_agrees_with_counting(asked: set[int], size: int, start: int, stop: int) -> None:
    wanted = Wanted(sorted(asked), size)
    assert wanted.any_row(start, stop) == any(row // size in asked for row in range(start, stop))
    assert wanted.ends_before(start) == (not any(row // size in asked for row in range(start, 21 * size)))
