"""Scores of complete rows under few states with a quadratic form each, spelled out.

    score_s(x) = a_s + sum over i of x_i (b_si + sum over j >= i of C_sij x_j)

which is natural parameters times (1, x, all products). To write the products down, and to call a matrix product that
reads them, takes longer than the multiplications where states are few: here rows run along the vectors, four states at
a time stay in registers, and only the columns of sixteen rows are laid out.
"""

from __future__ import annotations

from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

FEW_STATES = 8  # up to which this is quicker
STATES = 4  # at a time
ROWS = 16  # at a time


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
        _lay_out(code, x.after(row * shift.length), rows - row, shift, room)
        with code.loop(0, states, STATES) as state:
            _score(code, natural, states, state, shift.length, room, out.after(row * states + state), rows - row)


def _lay_out(code: Code, x: Flat, left: Value, shift: Flat, room: Flat) -> None:
    """Columns of the next rows, of which so many are left, less the shift."""
    columns = shift.length
    for first in range(0, ROWS, 4):
        with code.loop(0, columns, 4) as column:
            lines = []
            for number in range(first, first + 4):
                count = (left > number).choose(columns - column, 0)
                lines.append(x.load_some(columns * number + column, count, 0.0, 4))
            offset = shift.load_some(column, columns - column, 0.0, 4)
            for number, vector in enumerate(turned([line - offset for line in lines])):
                room.store((column + number) * ROWS + first, vector)


def _score(
    code: Code, natural: Flat, states: Value, state: Value, columns: Value, room: Flat, out: Flat, left: Value
) -> None:  # fmt: skip
    """Four states, or what is left of them; lines of `out` are `states` long."""
    size = (columns * (columns + 3) >> 1) + 1
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
