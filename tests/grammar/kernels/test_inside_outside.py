"""How grammars are laid out for charts, and what kernels say of sentences that they cannot do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.grammar.charts.cases import Case, closed_at_random
from unveil.grammar import read_grammar
from unveil.grammar.charts.limits import span_number
from unveil.grammar.kernels.inside_outside import expect_many, measure
from unveil.grammar.kernels.layout import ANY, BLOCK, LANES, LONG, PLACE, SHORT, pack
from unveil.grammar.kernels.limits import spans_before
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


@pytest.mark.parametrize("n", [1, 7, 8, 9, 31])
def test_room_is_enough(n: int) -> None:
    packed = pack(*closed_at_random(0, 6, 40, 5))
    space = room(packed, n)
    stride = measure.py_func(n, space.starts)
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
