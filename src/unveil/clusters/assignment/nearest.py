"""A vector of rows against many centres: which is nearest?

`two_nearest` finds, for a vector x of rows,

    the smallest of  norm(c) + Σ_j x_j c_j  over all centres c,  the second smallest,  and which c the smallest is

and writes nothing to memory before the end. Rows lie column after column, a vector of rows for each; centres come in
blocks of eight, column after column, eight numbers for each, so that one vector of rows is used eight times.
`nearest_listed` follows the exact rule among some centres, `nearest_exact` among all of them, on rows as they come.

Against plain loops, for 1, 3 and 7 columns and 8 to 40 centres on a shared AMD EPYC (Zen 4; ``benchmarks/vectors.py``,
the lower of two runs), 11 to 22 times as fast; `nearest_listed`, for 3 to 11 centres, 6 to 20 times. `nearest_exact`,
for 3 to 40 columns and 5 to 11 centres, 2 to 5 times, `squares_exact` 1.3 to 4.7 times.
"""

from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from unveil.numerics.vectors import LONG, NUMBER, WORD, Code, Flat, Value, Variable, vector_code

CENTRES = 8  # at a time: their sums stay in registers
UNROLLED_COLUMNS = (1, 2, 3, 4)  # numbers of columns for which there is code without a loop over columns
INFINITE = float("inf")


def _merge(one: tuple[Value, Value, Value], other: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
    """(smallest, second smallest, where) of two such; `one` where they are equal."""
    swap = other[0] < one[0]
    low, high = swap.choose(other[0], one[0]), swap.choose(one[0], other[0])
    return low, one[1].smaller(other[1]).smaller(high), swap.choose(other[2], one[2])


@vector_code()
def two_nearest(
    code: Code, rows: Flat, begin: Value, columns: Value, centres: Flat, norms: Flat,
    first: Flat, second: Flat, where: Flat, out: Value,
) -> None:  # fmt: skip
    """Write the two smallest sums of a vector of rows, and where the smaller is, from place `out` on.

    Takes flat arrays: rows (columns * lanes from place `begin` on), centres (k * columns) and norms (k), k a multiple
    of `CENTRES`.
    """
    lanes, infinite = rows.lanes, rows.full(INFINITE, rows.lanes)
    found = [Variable(value) for value in (infinite, infinite, where.full(0, lanes))]
    sums = [Variable(infinite) for _ in range(CENTRES)]
    with code.loop(0, norms.length, CENTRES) as centre:
        for k, total in enumerate(sums):
            total.set(norms[centre + k].splat(lanes))
        with code.loop(0, columns) as column:
            x, block = rows.load(begin + column * lanes, lanes), centres.after(centre * columns + column * CENTRES)
            for k, total in enumerate(sums):
                total.set(x * block[k] + total.value)
        numbers = [(centre.word() + k).splat(lanes) for k in range(CENTRES)]
        field = [(total.value, infinite, number) for total, number in zip(sums, numbers, strict=True)]
        while len(field) > 1:  # a knock-out; earlier centres win over equals
            field = [_merge(one, other) for one, other in zip(field[::2], field[1::2], strict=True)]
        low, high, place = found
        for best, value in zip(found, _merge((low.value, high.value, place.value), field[0]), strict=True):
            best.set(value)
    for best, array in zip(found, (first, second, where), strict=True):
        array.store(out, best.value)


@vector_code()
def nearest_listed(
    code: Code, rows: Flat, begin: Value, columns: Value, centres: Flat, listed: Flat,
    first: Value, last: Value, where: Flat, out: Value,
) -> None:  # fmt: skip
    """Write which of the centres ``listed[first:last]`` is nearest to each row of a vector, from place `out` on.

    By the exact rule: squares of differences added column after column, each operation rounded; of equals the one
    that is listed first. Centres are a flat array (k * columns) in the coordinates of the rows. For strict kernels
    only: others hand their leave to fuse operations down to what they call.
    """
    lanes, own = rows.lanes, rows.after(begin)
    total, smallest = Variable(rows.full(0.0, lanes)), Variable(rows.full(INFINITE, lanes))
    nearest = Variable(where.full(0, lanes))

    def add(x: Value, coordinate: Value) -> None:
        gap = x - coordinate
        total.set(total.value + gap * gap)

    def race(known: int | None) -> None:
        kept = [own.load(column * lanes, lanes) for column in range(known or 0)]  # they stay in registers
        with code.loop(first, last) as place:
            centre = listed[place]
            at = centres.after(centre.long() * columns)
            total.set(rows.full(0.0, lanes))
            for column, x in enumerate(kept):
                add(x, at[column])
            if known is None:
                with code.loop(0, columns) as some:
                    add(own.load(some * lanes, lanes), at[some])
            closer, number = total.value < smallest.value, centre.splat(lanes)
            smallest.set(closer.choose(total.value, smallest.value))
            nearest.set(closer.choose(number, nearest.value))

    code.switch(columns, UNROLLED_COLUMNS, race, lambda: race(None))
    where.store(out, nearest.value)


def turn(code: Code, cells: Flat, first: Value, rows: Value, columns: Value, shift: Flat | None, room: Flat) -> None:
    """Write the rows from `first` on, less `shift`, as a vector: column after column, a row to a lane, in float64.

    Cells are those of a table of so many `rows`, flat; lanes beyond its end repeat the row `first`.
    """
    builder, left = code.builder, rows - first
    offsets = [(left > lane).choose(columns * lane, 0) for lane in range(room.lanes)]
    begin = cells.after(first * columns)
    with code.loop(0, columns) as column:
        vector = ir.Constant(ir.VectorType(NUMBER, room.lanes), ir.Undefined)
        for lane, offset in enumerate(offsets):
            cell = begin[offset + column].double()
            vector = builder.insert_element(vector, cell.value, ir.Constant(WORD, lane))
        turned = Value(builder, vector)
        room.store(column * room.lanes, turned if shift is None else turned - shift[column])


@vector_code(types.int64)
def nearest_exact(
    code: Code, cells: Flat, first: Value, rows: Value, shift: Flat, centres: Flat, begin: Value, count: Value,
    room: Flat, labels: Flat, place: Value, past: Flat, squares: Flat, sums: Flat,
) -> Value:  # fmt: skip
    """Label the vector from row `first` on by the nearest of `count` centres, by the exact rule, of equals the first.

    `cells` are those of a table of so many `rows`, flat, and so are centres, from place `begin` on; `room` is for a
    vector of rows. Labels are written from a `place` on, for a whole vector, and those before to `past`; squared
    distances to `squares`, and added to `sums`: zero beyond the last row. Returns which rows changed their label, the
    first in the lowest bit. For strict kernels only.
    """
    lanes, columns = room.lanes, shift.length
    turn(code, cells, first, rows, columns, shift, room)
    totals, smallest = [Variable(room.full(0.0, lanes)) for _ in range(2)], Variable(room.full(INFINITE, lanes))
    nearest = Variable(labels.full(0, lanes))
    with code.loop(0, count, 2) as one:  # two at a time: an addition need not wait for the one before
        pair = one, (one + 1 < count).choose(one + 1, one)  # the last of an odd number is nearer than itself in nothing
        places = [centres.after(begin + centre * columns) for centre in pair]
        for total in totals:
            total.set(room.full(0.0, lanes))
        with code.loop(0, columns) as column:
            x = room.load(column * lanes, lanes)
            for total, at in zip(totals, places, strict=True):
                gap = x - at[column]
                total.set(total.value + gap * gap)
        for total, centre in zip(totals, pair, strict=True):
            closer, number = total.value < smallest.value, centre.word().splat(lanes)
            smallest.set(closer.choose(total.value, smallest.value))
            nearest.set(closer.choose(number, nearest.value))
    lane = Value(code.builder, ir.Constant(ir.VectorType(LONG, lanes), list(range(lanes))))
    there, before = lane < rows - first, labels.load(place, lanes)
    gaps = there.choose(smallest.value, 0.0)
    past.store(0, before)
    labels.store(place, nearest.value)
    squares.store(0, gaps)
    sums.store(0, sums.load(0, lanes) + gaps)
    same = there.bits() & before.equals(nearest.value).bits()
    return there.bits() - same


@vector_code()
def squares_exact(
    code: Code, cells: Flat, first: Value, rows: Value, shift: Flat, centres: Flat, count: Value,
    room: Flat, squares: Flat,
) -> None:  # fmt: skip
    """Write the squared distances of the vector from row `first` on to all centres, a vector for each, exactly."""
    lanes, columns = room.lanes, shift.length
    turn(code, cells, first, rows, columns, shift, room)
    total = Variable(room.full(0.0, lanes))
    with code.loop(0, count) as centre:
        at = centres.after(centre * columns)
        total.set(room.full(0.0, lanes))
        with code.loop(0, columns) as column:
            gap = room.load(column * lanes, lanes) - at[column]
            total.set(total.value + gap * gap)
        squares.store(centre * lanes, total.value)
