"""A vector of rows against many centres: which is nearest?

`two_nearest` finds, for a vector x of rows,

    the smallest of  norm(c) + Σ_j x_j c_j  over all centres c,  the second smallest,  and which c the smallest is

and writes nothing to memory before the end. Rows lie column after column, a vector of rows for each; centres come in
blocks of eight, column after column, eight numbers for each, so that one vector of rows is used eight times.
`nearest_listed` follows the exact rule among some centres.

Against plain loops, for 1, 3 and 7 columns and 8 to 40 centres on a shared AMD EPYC (Zen 4; ``benchmarks/vectors.py``,
the lower of two runs), 11 to 22 times as fast; `nearest_listed`, for 3 to 11 centres, 6 to 20 times.
"""

from __future__ import annotations

from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

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
