"""What is asked of the charts of a whole sentence: whether to rely on them, and what they add to the counts of all.

Spelled out: charts and grammars are tuples of many arrays and numbers, which a kernel would copy to hand them on.
"""

from __future__ import annotations

from typing import Any

from numba import types

from unveil.grammar.kernels.layout import LANES
from unveil.grammar.kernels.vector_loops import added, measure, smallest
from unveil.grammar.kernels.workspace import FINE, IMPOSSIBLE, LARGEST_INSIDE, LOST
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

SURE = 1e-300  # above this a number has all its digits


@vector_code(types.boolean)
def is_whole(code: Code, packed: Any, space: Any, size: Value) -> Value:
    """Whether no product can have been lost for being small: not even those of the smallest numbers."""
    inside, bases = (smallest.spell(code, space.work, begin, size) for begin in (space.inside, space.bases))
    least, weight = inside.smaller(bases), smallest.spell(code, packed.values, code.number(0), packed.values.length)
    return least * least * weight.smaller(1.0) > SURE


@vector_code(types.intp)
def judge(code: Code, packed: Any, space: Any, n: Value, root: Value) -> Value:
    """Whether an inside chart can be relied on, and whether its sentence is possible: the status."""
    size = packed.n_symbols * measure.spell(code, n, space.starts)
    fits = added.spell(code, space.work, space.inside, size) < LARGEST_INSIDE  # products of two have to fit as well
    status = Variable((fits & (root > SURE)).choose(code.number(FINE), LOST))
    with code.when(fits & root.equals(0.0)), code.when(is_whole.spell(code, packed, space, size)):
        status.set(code.number(IMPOSSIBLE))
    return status.value


@vector_code()
def merge(
    code: Code, packed: Any, space: Any, words: Flat, n: Value, weight: Value, binary: Flat, chains: Flat, lexical: Flat
) -> None:
    """Add the counts of a sentence of n words to those of all."""
    numbers, work, counts = packed.numbers, space.work, space.counts
    for program in packed.two, packed.longer:
        with code.loop(0, program.n_rules) as rule:
            total = added.spell(code, work, counts + rule * LANES, code.number(LANES))
            _add(binary, numbers[program.rules + rule], weight * packed.values[program.weights + rule] * total)
        counts = counts + program.n_rules * LANES
    with code.loop(0, packed.chains.n_entries) as entry:
        parent, child = numbers[packed.chains.parents + entry], numbers[packed.chains.children + entry]
        total = added.spell(code, work, counts + entry * LANES, code.number(LANES))
        _add(chains, parent * packed.n_symbols + child, weight * total)
    with code.loop(0, n) as place:
        word = words[place]
        row = (word < 0).choose(word + lexical.length, word)  # an unknown word is in the last row
        with code.loop(0, packed.n_symbols) as symbol:
            leaf = work[space.leaves + place * packed.n_symbols + symbol]
            _add(lexical, row * packed.n_symbols + symbol, weight * leaf)


def _add(table: Flat, place: Value, value: Value) -> None:
    table.store(place, table[place] + value)
