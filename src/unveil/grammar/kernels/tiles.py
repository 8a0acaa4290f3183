"""What the tiles of a program do for eight spans: their bases from their parts, and the way back.

These are the loops over blocks and tiles around those of `vector_loops`, spelled out with them: as kernels of their own
they would be compiled one by one and again with all that call them, which takes seconds.
"""

from __future__ import annotations

from typing import Any

from unveil.grammar.kernels.layout import BLOCK, LANES, LONG, SHORT, SLOTS
from unveil.grammar.kernels.vector_loops import (
    ROW,
    apply,
    best_apply,
    best_products,
    fold,
    give_left,
    give_right,
    products,
    spread,
    take_left,
    take_right,
)
from unveil.numerics.vectors import Code, Flat, Value, vector_code


def splits(code: Code, left: Value | None, right: Value | None, length: Value) -> tuple[Value, Value]:
    """The shortest and the longest left part of a span, for symbols that make spans of these kinds; None is any."""
    low, high = code.number(1), length - 1
    if left is not None:
        low, high = left.equals(LONG).choose(code.number(2), low), left.equals(SHORT).choose(code.number(1), high)
    if right is not None:
        low = right.equals(SHORT).choose(low.larger(length - 1), low)
        high = right.equals(LONG).choose(high.smaller(length - 2), high)
    return low, high


def _blocks(
    code: Code, program: Any, numbers: Flat, length: Value, first: Value, stride: Value, space: Any, chart: Value,
    at: tuple[Value, Value], moves: tuple[Any, Any],
) -> None:  # fmt: skip
    """Move the parts of eight spans, block after block and split after split; left and right lie `at` two places."""
    room, (left_move, right_move) = (length - 1) * ROW, moves
    with code.loop(0, program.n_lefts) as block:
        low, high = splits(code, numbers[program.left_kinds + block], None, length)
        packed, symbols = at[0] + block * room + (low - 1) * ROW, program.lefts + block * BLOCK
        left_move.spell(
            code, space.work, numbers, space.starts, chart, symbols, packed, stride, length, first, low, high
        )
    with code.loop(0, program.n_rights) as block:
        low, high = splits(code, None, numbers[program.right_kinds + block], length)
        packed, symbols = at[1] + block * room + (low - 1) * ROW, program.rights + block * BLOCK
        right_move.spell(
            code, space.work, numbers, space.starts, chart, symbols, packed, stride, length, first, low, high
        )


def _lay_out(
    code: Code, program: Any, numbers: Flat, length: Value, first: Value, stride: Value, space: Any
) -> None:  # fmt: skip
    places, moves = (space.lefts, space.rights), (take_left, take_right)
    _blocks(code, program, numbers, length, first, stride, space, space.inside, places, moves)


def _meeting(code: Code, program: Any, numbers: Flat, tile: Value, length: Value) -> tuple[Value, Value, Value]:
    """Where the left and right parts of a tile begin, and how many splits there are."""
    left, right = numbers[program.tiles + tile * 2], numbers[program.tiles + tile * 2 + 1]
    low, high = splits(code, numbers[program.left_kinds + left], numbers[program.right_kinds + right], length)
    room, skipped = (length - 1) * ROW, (low - 1) * ROW
    return left * room + skipped, right * room + skipped, (high - low + 1).larger(code.number(0))


def _bases(multiply: Any, gather: Any) -> Any:
    """The bases of eight spans of two words or more."""

    def run(
        code: Code, rules: Any, numbers: Flat, values: Flat, length: Value, first: Value, stride: Value, space: Any
    ) -> None:  # fmt: skip
        _lay_out(code, rules, numbers, length, first, stride, space)
        with code.loop(0, rules.n_tiles) as tile:
            left, right, count = _meeting(code, rules, numbers, tile, length)
            begin, end = numbers[rules.begins + tile], numbers[rules.begins + tile + 1]
            multiply.spell(code, space.work, space.lefts + left, space.rights + right, space.products, count)
            gather.spell(
                code, space.work, numbers, values, space.products, rules.pairs, rules.weights, space.base, begin, end
            )

    return vector_code()(run)


set_bases, set_best_bases = _bases(products, apply), _bases(best_products, best_apply)


@vector_code()
def pass_down(
    code: Code, program: Any, numbers: Flat, values: Flat, length: Value, first: Value, stride: Value, space: Any,
    counts: Value,
) -> None:  # fmt: skip
    """What eight spans give to their parts, and what their rules count."""
    work, room = space.work, (length - 1) * ROW
    _lay_out(code, program, numbers, length, first, stride, space)
    _clear(code, work, space.left_outs, program.n_lefts * room)
    _clear(code, work, space.right_outs, program.n_rights * room)
    with code.loop(0, program.n_tiles) as tile:
        left, right, count = _meeting(code, program, numbers, tile, length)
        with code.when(count > 0):
            begin, end = numbers[program.begins + tile], numbers[program.begins + tile + 1]
            products.spell(code, work, space.lefts + left, space.rights + right, space.products, count)
            _clear(code, work, space.slopes, code.number(SLOTS * LANES))
            fold.spell(
                code, work, numbers, values, space.products, program.pairs, program.weights, space.lower, space.slopes,
                counts, begin, end,
            )  # fmt: skip
            spread.spell(
                code, work, space.slopes, space.lefts + left, space.rights + right, space.left_outs + left,
                space.right_outs + right, count,
            )  # fmt: skip
    places, moves = (space.left_outs, space.right_outs), (give_left, give_right)
    _blocks(code, program, numbers, length, first, stride, space, space.outside, places, moves)


def _clear(code: Code, work: Flat, begin: Value, count: Value) -> None:
    """Set `count` entries, a multiple of eight, to 0."""
    with code.loop(begin, begin + count, LANES) as place:
        work.store(place, work.full(0.0, LANES))


@vector_code()
def set_leaves(code: Code, n_symbols: Value, n: Value, first: Value, space: Any) -> None:
    """Posterior of the symbols that make each of eight words."""
    work = space.work
    with code.loop(0, (n - first).smaller(code.number(LANES))) as lane, code.loop(0, n_symbols) as symbol:
        place = symbol * LANES + lane
        value = work[space.lower + place] * work[space.base + place]
        work.store(space.leaves + (first + lane) * n_symbols + symbol, value)
