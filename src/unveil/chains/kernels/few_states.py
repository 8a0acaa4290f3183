"""Scores and sums of complete rows under few states with a quadratic form each, spelled out.

    score_s(x) = a_s + sum over i of x_i (b_si + sum over j >= i of C_sij x_j)

which is natural parameters times (1, x, all products), and the sums of those under posteriors. To write the products
down, and to call a matrix product that reads them, takes longer than the multiplications where states are few: here
rows run along the vectors, sums stay in registers, and only the columns of some rows are laid out.
"""

from __future__ import annotations

from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

FEW_STATES, FEWEST_COLUMNS = 4, 2  # up to which, and from which on, this is quicker
STATES = 4  # at a time
ROWS = 16  # at a time
TILE, LANES = 128, 8  # rows whose sums are added up before they leave the registers; at a time


def turned(lines: list[Value]) -> list[Value]:
    """Four vectors of four, lines and columns exchanged."""
    one, two, three, four = lines
    low = [one.shuffle([0, 4, 2, 6], two), three.shuffle([0, 4, 2, 6], four)]
    high = [one.shuffle([1, 5, 3, 7], two), three.shuffle([1, 5, 3, 7], four)]
    return [pair[0].shuffle(order, pair[1]) for order in ([0, 1, 4, 5], [2, 3, 6, 7]) for pair in (low, high)]


@vector_code()
def score_products(
    code: Code, x: Flat, rows: Value, shift: Flat, natural: Flat, states: Value, room: Flat, out: Flat
) -> None:  # fmt: skip
    """Scores (rows, states) of rows less `shift`; `room` is for sixteen rows, and three more columns."""
    with code.loop(0, rows, ROWS) as row:
        _lay_out(code, x.after(row * shift.length), rows - row, shift, room, ROWS)
        with code.loop(0, states, STATES) as state:
            _score(code, natural, states, state, shift.length, room, out.after(row * states + state), rows - row)


def _lay_out(code: Code, x: Flat, left: Value, shift: Flat, room: Flat, stride: int) -> None:
    """Columns of the next rows, of which so many are left, less the shift; zeros after the last column."""
    columns = shift.length
    for first in range(0, ROWS, 4):
        with code.loop(0, columns, 4) as column:
            lines = []
            for number in range(first, first + 4):
                count = (left > number).choose(columns - column, 0)
                lines.append(x.load_some(columns * number + column, count, 0.0, 4))
            offset = shift.load_some(column, columns - column, 0.0, 4)
            for number, vector in enumerate(turned([line - offset for line in lines])):
                room.store((column + number) * stride + first, vector)


def _score(
    code: Code, natural: Flat, states: Value, state: Value, columns: Value, room: Flat, out: Flat, left: Value
) -> None:  # fmt: skip
    """Four states, or what is left of them; lines of `out` are `states` long."""
    size = _size(columns)
    lines = [natural.after((state + n).smaller(states - 1) * size) for n in range(STATES)]
    nothing = room.full(0.0, ROWS)
    totals, inner = ([Variable(nothing) for _ in range(STATES)] for _ in range(2))
    place = Variable(columns + 1)
    for total, line in zip(totals, lines, strict=True):
        total.set(line[0].splat(ROWS))
    with code.loop(0, columns) as i:
        for form, line in zip(inner, lines, strict=True):
            form.set(line[i + 1].splat(ROWS))
        with code.loop(i, columns) as j:
            other = room.load(j * ROWS, ROWS)
            for form, line in zip(inner, lines, strict=True):
                form.set(other * line[place.value] + form.value)
            place.set(place.value + 1)
        own = room.load(i * ROWS, ROWS)
        for total, form in zip(totals, inner, strict=True):
            total.set(own * form.value + total.value)
    parts = [[total.value.shuffle(list(range(n, n + 4))) for total in totals] for n in range(0, ROWS, 4)]
    found = list(enumerate(scores for part in parts for scores in turned(part)))
    whole = (left > ROWS - 1) & (states - state > STATES - 1)
    with code.when(whole):  # some lanes of a vector take longer to store
        for number, scores in found:
            out.store(states * number, scores)
    with code.when(whole.equals(0)):
        for number, scores in found:
            out.store_some(states * number, (left > number).choose(states - state, 0), scores)


@vector_code()
def add_products(
    code: Code, x: Flat, rows: Value, shift: Flat, posteriors: Flat, states: Value, room: Flat, shares: Flat,
    moments: Flat,
) -> None:  # fmt: skip
    """Add the statistics of rows less `shift` under `posteriors` (rows, states) to `moments` (states, statistics).

    `room` and `shares` are for a tile of rows, and three columns or states more than there are.
    """
    columns = shift.length
    with code.loop(0, rows, TILE) as first:
        left = (rows - first).smaller(TILE)
        with code.loop(0, left, ROWS) as row:
            _lay_out(code, x.after((first + row) * columns), left - row, shift, room.after(row), TILE)
        _turn_shares(code, posteriors.after(first * states), left, states, shares)
        with code.loop(0, states) as state:
            own, out = shares.after(state * TILE), moments.after(state * _size(columns))
            with code.loop(0, columns, 4) as i, code.loop(i, columns, 4) as j:
                with code.when(j.equals(i)):
                    _add_triangle(code, left, own, room, columns, i, out)
                with code.when(j > i):
                    _add_square(code, left, own, room, columns, i, j, out)


def _size(columns: Value) -> Value:
    """How many statistics there are."""
    return (columns * (columns + 3) >> 1) + 1


def _turn_shares(code: Code, posteriors: Flat, left: Value, states: Value, shares: Flat) -> None:
    """Posteriors state by state, zeros after the last row."""
    with code.loop(0, states, STATES) as state, code.loop(0, left, LANES) as row:
        for first in range(0, LANES, 4):
            places = [row + (first + n) for n in range(4)]
            counts = [(place < left).choose(states - state, 0) for place in places]
            lines = [
                posteriors.load_some(place * states + state, count, 0.0, 4)
                for place, count in zip(places, counts, strict=True)
            ]
            for number, vector in enumerate(turned(lines)):
                shares.store((state + number) * TILE + (row + first), vector)


def _add_triangle(
    code: Code, left: Value, shares: Flat, room: Flat, columns: Value, i: Value, out: Flat
) -> None:  # fmt: skip
    """Sums of the shares, of four columns and of their products."""
    pairs = [(a, b) for a in range(4) for b in range(a, 4)]
    total, linear, products = (
        [Variable(room.full(0.0, LANES)) for _ in range(count)] for count in (1, 4, len(pairs))
    )  # fmt: skip
    with code.loop(0, left, LANES) as row:
        share, x = shares.load(row, LANES), [room.load((i + n) * TILE + row, LANES) for n in range(4)]
        weighted = [share * one for one in x]
        total[0].set(total[0].value + share)
        for one, value in zip(linear, weighted, strict=True):
            one.set(one.value + value)
        for one, (a, b) in zip(products, pairs, strict=True):
            one.set(weighted[a] * x[b] + one.value)
    with code.when(i.equals(0)):
        _add(out, i, total[0])
    for a, one in enumerate(linear):
        with code.when(i + a < columns):
            _add(out, i + (a + 1), one)
    for one, (a, b) in zip(products, pairs, strict=True):
        with code.when(i + b < columns):
            _add(out, _place(columns, i + a, i + b), one)


def _add_square(
    code: Code, left: Value, shares: Flat, room: Flat, columns: Value, i: Value, j: Value, out: Flat
) -> None:  # fmt: skip
    """Sums of the products of four columns with four others."""
    sums = [Variable(room.full(0.0, LANES)) for _ in range(16)]
    with code.loop(0, left, LANES) as row:
        share = shares.load(row, LANES)
        other = [room.load((j + n) * TILE + row, LANES) for n in range(4)]
        for a in range(4):
            weighted = share * room.load((i + a) * TILE + row, LANES)
            for b in range(4):
                one = sums[4 * a + b]
                one.set(weighted * other[b] + one.value)
    for a in range(4):
        for b in range(4):
            with code.when(j + b < columns):
                _add(out, _place(columns, i + a, j + b), sums[4 * a + b])


def _place(columns: Value, i: Value, j: Value) -> Value:
    """Of the product of two columns among the statistics."""
    return columns + 1 + (i * columns - (i * (i - 1) >> 1)) + (j - i)


def _add(out: Flat, place: Value, total: Variable) -> None:
    out.store(place, out[place] + total.value.fold(Value.__add__))
