"""Sixteen rows against all centres, in vector registers.

Compilers vectorise a loop over rows only as long as they can tell that nothing overlaps, which they cannot for a loop
over columns within a loop over centres. So this one function is spelled out as vector operations, which every target
of LLVM knows (two or four registers stand for one where vectors are shorter). For a vector x of rows it finds

    the smallest of  norm(c) + Σ_j x_j c_j  over all centres c,  the second smallest,  and which c the smallest is

Nothing of it is written to memory before the end. Rows lie column after column, a vector of rows for each; centres come
in blocks of eight, column after column, eight numbers for each, so that one vector of rows is used eight times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BLOCK = 8  # centres at a time: their sums stay in registers
REGISTER = 64  # bytes of a vector of rows
UNROLLED = (1, 2, 3, 4)  # columns for which there is a loop without one over columns
WORD, LONG = ir.IntType(32), ir.IntType(64)
FUSED = ("contract",)


class Vectors:
    """Vector operations on the rows of one call."""

    def __init__(self, builder: Any, element: Any, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes
        self.floats, self.words = ir.VectorType(element, lanes), ir.VectorType(WORD, lanes)

    def load(self, base: Any, index: Any) -> Any:
        """A vector of floats."""
        place = self.builder.bitcast(self.builder.gep(base, [index]), self.floats.as_pointer())
        return self.builder.load(place, align=4)

    def store(self, vector: Any, base: Any, index: Any) -> None:
        """A vector to memory."""
        place = self.builder.bitcast(self.builder.gep(base, [index]), vector.type.as_pointer())
        self.builder.store(vector, place, align=4)

    def splat(self, scalar: Any) -> Any:
        """The same number in every lane."""
        empty = ir.Constant(ir.VectorType(scalar.type, self.lanes), ir.Undefined)
        one = self.builder.insert_element(empty, scalar, ir.Constant(WORD, 0))
        return self.builder.shuffle_vector(one, empty, ir.Constant(self.words, [0] * self.lanes))

    def constant(self, value: float) -> Any:
        """The same number in every lane, known beforehand."""
        return ir.Constant(self.floats, [value] * self.lanes)

    def least(self, a: Any, b: Any) -> Any:
        """The smaller in each lane."""
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def merge(self, one: Any, other: Any) -> Any:
        """(smallest, second smallest, where) of two such; `one` where they are equal."""
        pick, swap = self.builder.select, self.builder.fcmp_ordered("<", other[0], one[0])
        low, high = pick(swap, other[0], one[0]), pick(swap, one[0], other[0])
        return low, self.least(self.least(one[1], other[1]), high), pick(swap, other[2], one[2])


@intrinsic  # type: ignore[untyped-decorator]
def two_nearest(
    typingctx: Any,
    rows: Any,
    begin: Any,
    columns: Any,
    centres: Any,
    norms: Any,
    first: Any,
    second: Any,
    where: Any,
    out: Any,
) -> Any:
    """Write the two smallest sums of a vector of rows, and where the smaller is, from place `out` on.

    Takes flat arrays: rows (columns * lanes from place `begin` on), centres (k * columns) and norms (k), k a multiple
    of `BLOCK`.
    """
    given = (rows, types.intp, types.intp, centres, norms, first, second, where, types.intp)
    return types.void(*given), _two_nearest


def _two_nearest(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0].dtype
    element, lanes = context.get_value_type(kind), REGISTER * 8 // kind.bitwidth
    vectors, arrays = Vectors(builder, element, lanes), arrays_of(context, builder, signature, args)
    infinite = ir.Constant(vectors.floats, [float("inf")] * lanes)
    nowhere = ir.Constant(vectors.words, [0] * lanes)
    found = [cgutils.alloca_once_value(builder, value) for value in (infinite, infinite, nowhere)]
    sums = [cgutils.alloca_once(builder, vectors.floats) for _ in range(BLOCK)]
    columns, count, step = args[2], cgutils.unpack_tuple(builder, arrays(4).shape)[0], ir.Constant(LONG, BLOCK)
    rows = builder.gep(arrays(0).data, [args[1]])
    with cgutils.for_range_slice(builder, ir.Constant(LONG, 0), count, step, intp=LONG) as (centre, _):
        _add_up(vectors, sums, rows, arrays(3).data, arrays(4).data, columns, centre)
        leader = _winners(vectors, [builder.load(place) for place in sums], builder.trunc(centre, WORD))
        leader = vectors.merge([builder.load(place) for place in found], leader)
        for value, place in zip(leader, found, strict=True):
            builder.store(value, place)
    for place, number in zip(found, (5, 6, 7), strict=True):
        vectors.store(builder.load(place), arrays(number).data, args[8])
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def nearest_listed(
    typingctx: Any,
    rows: Any,
    begin: Any,
    columns: Any,
    centres: Any,
    listed: Any,
    first: Any,
    last: Any,
    where: Any,
    out: Any,
) -> Any:
    """Write which of the centres ``listed[first:last]`` is nearest to each row of a vector, from place `out` on.

    By the exact rule: squares of differences added column after column, each operation rounded; of equals the one
    that is listed first. Centres are a flat array (k * columns) in the coordinates of the rows. For strict kernels
    only: others hand their leave to fuse operations down to what they call.
    """
    given = (rows, types.intp, types.intp, centres, listed, types.intp, types.intp, where, types.intp)
    return types.void(*given), _nearest_listed


def _nearest_listed(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0].dtype
    element, lanes = context.get_value_type(kind), REGISTER * 8 // kind.bitwidth
    vectors, arrays = Vectors(builder, element, lanes), arrays_of(context, builder, signature, args)
    race = _Race(vectors, builder.gep(arrays(0).data, [args[1]]), args[2], arrays(3).data, arrays(4).data, args[5:7])
    known = builder.append_basic_block("listed")
    choice = builder.switch(args[2], general := builder.append_basic_block("listed"))
    for columns in UNROLLED:  # the rows stay in registers
        choice.add_case(ir.Constant(LONG, columns), here := builder.append_basic_block("listed"))
        builder.position_at_end(here)
        race.run([vectors.load(race.rows, ir.Constant(LONG, j * lanes)) for j in range(columns)])
        builder.branch(known)
    builder.position_at_end(general)
    race.run(None)
    builder.branch(known)
    builder.position_at_end(known)
    vectors.store(builder.load(race.nearest), arrays(7).data, args[8])
    return context.get_dummy_value()


class _Race:
    """The listed centres one after the other against a vector of rows."""

    def __init__(self, vectors: Any, rows: Any, columns: Any, centres: Any, listed: Any, span: Any) -> None:
        builder = vectors.builder
        self.vectors, self.rows, self.columns, self.centres, self.listed = vectors, rows, columns, centres, listed
        self.first, self.last = span
        self.smallest = cgutils.alloca_once_value(builder, vectors.constant(float("inf")))
        self.nearest = cgutils.alloca_once_value(builder, ir.Constant(vectors.words, [0] * vectors.lanes))
        self.total = cgutils.alloca_once_value(builder, vectors.constant(0.0))
        builder.store(vectors.constant(float("inf")), self.smallest)
        builder.store(ir.Constant(vectors.words, [0] * vectors.lanes), self.nearest)

    def run(self, known: list[Any] | None) -> None:
        """All centres; `known` are the rows column by column, where there are few columns."""
        builder, vectors = self.vectors.builder, self.vectors
        with cgutils.for_range_slice(builder, self.first, self.last, ir.Constant(LONG, 1), intp=LONG) as (place, _):
            centre = builder.load(builder.gep(self.listed, [place]))
            at = builder.gep(self.centres, [builder.mul(builder.sext(centre, LONG), self.columns)])
            builder.store(vectors.constant(0.0), self.total)
            if known is None:
                with cgutils.for_range(builder, self.columns, intp=LONG) as loop:
                    x = vectors.load(self.rows, builder.mul(loop.index, ir.Constant(LONG, vectors.lanes)))
                    self.add(x, builder.load(builder.gep(at, [loop.index])))
            else:
                for j, x in enumerate(known):
                    self.add(x, builder.load(builder.gep(at, [ir.Constant(LONG, j)])))
            total, smallest = builder.load(self.total), builder.load(self.smallest)
            closer = builder.fcmp_ordered("<", total, smallest)
            builder.store(builder.select(closer, total, smallest), self.smallest)
            builder.store(builder.select(closer, vectors.splat(centre), builder.load(self.nearest)), self.nearest)

    def add(self, x: Any, coordinate: Any) -> None:
        """One column."""
        builder = self.vectors.builder
        gap = builder.fsub(x, self.vectors.splat(coordinate))
        builder.store(builder.fadd(builder.load(self.total), builder.fmul(gap, gap)), self.total)


def arrays_of(context: Any, builder: Any, signature: Any, args: Any) -> Callable[[int], Any]:
    """Arguments as arrays, by number."""
    return lambda number: context.make_array(signature.args[number])(context, builder, args[number])


def _add_up(vectors: Any, sums: Any, rows: Any, centres: Any, norms: Any, columns: Any, first: Any) -> None:
    """Norm and products of eight centres, from centre `first` on."""
    builder = vectors.builder
    for lane, place in enumerate(sums):
        norm = builder.load(builder.gep(norms, [builder.add(first, ir.Constant(LONG, lane))]))
        builder.store(vectors.splat(norm), place)
    begin = builder.mul(first, columns)
    with cgutils.for_range(builder, columns, intp=LONG) as loop:
        x = vectors.load(rows, builder.mul(loop.index, ir.Constant(LONG, vectors.lanes)))
        here = builder.add(begin, builder.mul(loop.index, ir.Constant(LONG, BLOCK)))
        for lane, place in enumerate(sums):
            coordinate = builder.load(builder.gep(centres, [builder.add(here, ir.Constant(LONG, lane))]))
            product = builder.fmul(x, vectors.splat(coordinate), flags=FUSED)
            builder.store(builder.fadd(product, builder.load(place), flags=FUSED), place)


def _winners(vectors: Any, sums: Any, first: Any) -> Any:
    """A knock-out of eight sums; earlier centres win over equals."""
    builder = vectors.builder
    infinite = ir.Constant(vectors.floats, [float("inf")] * vectors.lanes)
    places = (vectors.splat(builder.add(first, ir.Constant(WORD, lane))) for lane in range(len(sums)))
    field = [(value, infinite, place) for value, place in zip(sums, places, strict=True)]
    while len(field) > 1:
        field = [vectors.merge(one, other) for one, other in zip(field[::2], field[1::2], strict=True)]
    return field[0]
