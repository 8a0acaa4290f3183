"""How grammars are laid out for charts, and what kernels say of sentences that they cannot do."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from tests.grammar.charts.cases import Case, closed_at_random
from unveil.grammar import read_grammar
from unveil.grammar.charts.limits import span_number
from unveil.grammar.kernels.inside_outside import expect_many
from unveil.grammar.kernels.layout import ANY, BLOCK, LANES, LONG, PLACE, SHORT, pack
from unveil.grammar.kernels.limits import spans_before
from unveil.grammar.kernels.vector_loops import fill, measure, smallest
from unveil.grammar.kernels.whole import is_whole
from unveil.grammar.kernels.workspace import FINE, IMPOSSIBLE, LOST, room


def _rules(packed, program):
    """Rules of a program, read back: (parent, left, right) by number."""
    numbers, found = packed.numbers, {}
    for tile in range(program.n_tiles):
        left, right = numbers[program.tiles + 2 * tile], numbers[program.tiles + 2 * tile + 1]
        for rule in range(numbers[program.begins + tile], numbers[program.begins + tile + 1]):
            pair = int(numbers[program.pairs + rule])
            slot, parent = (pair & ((1 << PLACE) - 1)) // LANES, (pair >> PLACE) // LANES
            one = numbers[program.lefts + left * BLOCK + slot // BLOCK]
            other = numbers[program.rights + right * BLOCK + slot % BLOCK]
            found[int(numbers[program.rules + rule])] = (parent, int(one), int(other))
    return found


@pytest.mark.parametrize("speech", [0, 11])
def test_every_rule_has_its_place(speech: int) -> None:
    closed = closed_at_random(0, 19, 300, 10, speech)
    packed = pack(*closed)
    rules = dict(enumerate(zip(closed.parents, closed.lefts, closed.rights, strict=True)))
    words, spans = closed.lexical.any(axis=0), np.isin(np.arange(19), closed.parents)
    two, longer = _rules(packed, packed.two), _rules(packed, packed.longer)
    assert two == {k: row for k, row in rules.items() if words[row[1]] and words[row[2]]}
    assert longer == {k: row for k, row in rules.items() if spans[row[1]] or spans[row[2]]}
    kinds = packed.numbers[packed.longer.left_kinds :][: packed.longer.n_lefts]
    assert set(kinds) == ({SHORT, ANY, LONG} if speech else {ANY})


def test_impossible_rules_are_left_out() -> None:
    closed = closed_at_random(0, 6, 40, 5)
    weights = np.where(np.arange(40) % 2, closed.weights, 0.0)
    packed = pack(*closed._replace(weights=weights))
    assert sorted(_rules(packed, packed.longer)) == list(range(1, 40, 2))


def test_spans_have_numbers() -> None:
    assert [spans_before.py_func(5, length) for length in range(1, 6)] == [0, 5, 9, 12, 14]
    places = [span_number(5, first, first + length) for length in range(1, 6) for first in range(6 - length)]
    assert places == list(range(15))


@numba.njit
def _measured(n, starts):
    return measure(n, starts)


@numba.njit
def _smallest(values, begin, count):
    return smallest(values, begin, count)


@numba.njit
def _filled(values, begin, count, value):
    fill(values, begin, count, value)


@numba.njit
def _is_whole(packed, space, size):
    return is_whole(packed, space, size)


@pytest.mark.parametrize("n", [1, 2, 8, 9, 31, 63, 100])
def test_rows_have_room_for_each_length(n: int) -> None:
    starts, sizes = np.zeros(n + 2, dtype=np.int64), [(n - length + 15) // 8 * 8 for length in range(1, n + 1)]
    stride = _measured(n, starts)
    assert starts[1 : n + 1].tolist() == np.cumsum([0, *sizes[:-1]]).tolist()
    assert stride == sum(sizes) + 8 * (sum(sizes) % 512 == 0)


def test_a_stretch_is_filled_and_searched() -> None:
    values = np.random.default_rng(0).standard_normal(40)
    assert _smallest(values, 8, 24) == min(value for value in values[8:32] if value > 0)
    assert _smallest(-np.abs(values), 0, 40) == np.inf
    expected = np.r_[values[:8], np.full(16, 2.5), values[24:]]
    _filled(values, 8, 16, 2.5)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(
    ("least", "weight", "whole"), [(1e-140, 1.0, True), (1e-140, 1e-30, False), (1e-155, 1.0, False)]
)
def test_whole_charts_have_no_product_that_is_lost(least: float, weight: float, whole: bool) -> None:
    packed = pack(*closed_at_random(0, 6, 40, 5))
    packed.values[:] = np.where(packed.values > 0, weight, 0.0)
    space = room(packed, 3)
    size = packed.n_symbols * _measured(3, space.starts)
    space.work[space.inside] = least
    assert _is_whole(packed, space, size) == whole
    space.work[space.inside], space.work[space.bases + size - 1] = 1.0, least
    assert _is_whole(packed, space, size) == whole


@pytest.mark.parametrize("n", [1, 7, 8, 9, 31])
def test_room_is_enough(n: int) -> None:
    packed = pack(*closed_at_random(0, 6, 40, 5))
    space = room(packed, n)
    stride = _measured(n, space.starts)
    assert 7 * stride <= space.bases - space.inside
    assert space.work.ctypes.data % 64 == 0
    for length in range(1, n + 1):  # a vector of right parts may begin anywhere but near the end of its row
        end = space.starts[length + 1] if length < n else stride
        assert space.starts[length] + (n - length) + LANES <= end


def _status(case: Case, *sentences: str) -> list[int]:
    codes, lengths = case.codes(*sentences)
    packed, n = pack(*case.closed), len(case.closed.null)
    status, logs = np.zeros(len(lengths), dtype=np.int64), np.zeros(len(lengths))
    counts = (np.zeros(len(case.closed.weights)), np.zeros((n, n)), np.zeros_like(packed.lexical))
    words, sizes = np.array(codes, dtype=np.int64), np.array(lengths, dtype=np.int64)
    expect_many(
        packed, None, room(packed, max(lengths)), words, sizes, np.ones(len(sizes)), True, status, logs, *counts
    )
    assert np.all(np.isfinite(counts[0]))
    assert np.all((logs == -np.inf) == (status != FINE))
    return status.tolist()


def test_status() -> None:
    case = Case(read_grammar("S -> A B [1.0]\nA -> 'a' A [0.5] | 'a' [0.5]\nB -> 'b' [1.0]"))
    assert _status(case, "aab", "ba", "", "b") == [FINE, IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE]
    assert _status(case, "a" * 299 + "b", "a" * 300) == [FINE, IMPOSSIBLE]
    # one tree through a value that cannot be held at any one scale: its sentence is possible all the same
    tiny = Case(read_grammar("S -> A A [1e-250] | 'b' [1.0]\nA -> B B [1e-250] | 'a' [1.0]\nB -> 'a' [1.0]"))
    assert _status(tiny, "aa", "b", "aaaa") == [FINE, FINE, LOST]
