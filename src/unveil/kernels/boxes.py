"""Which centres may be nearest to a point of a box? Eight of them are tested at a time, in vector registers.

See `unveil.kernels.tree` for the test. Written as vector operations for the reason that `unveil.kernels.lanes` gives.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from unveil.kernels.lanes import LONG, REGISTER, WORD, Vectors, arrays_of

LANES = REGISTER // 8  # centres at a time
UNDERFLOW = 1e-300  # squares below this lose digits
ROUNDING = 1e-12  # share of the distances within which a difference of squares may be wrong, with room to spare


@intrinsic  # type: ignore[untyped-decorator]
def reject(
    typingctx: Any,
    middles: Any,
    halves: Any,
    node: Any,
    columns: Any,
    centres: Any,
    lists: Any,
    given: Any,
    count: Any,
    kept: Any,
    room: Any,
) -> Any:
    """Of the `count` centres listed from place `given` on, list from place `kept` on those that no other rules out.

    Says how many they are. All arrays are flat: `middles` and `halves` (nodes * columns), `centres` (k * columns),
    `lists` of numbers of centres, `room` ((columns + 1) * (count + 8)). A list is filled up to whole vectors.
    """
    flat = (middles, halves, types.intp, types.intp, centres, lists, types.intp, types.intp, types.intp, room)
    return types.intp(*flat), _reject


class _Test:
    """The parts of one test, which share what they work on."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        arrays = arrays_of(context, builder, signature, args)
        self.builder, self.columns = builder, args[3]
        self.vectors = Vectors(builder, context.get_value_type(types.float64), LANES)
        box = builder.mul(args[2], self.columns)
        self.middle, self.half = (builder.gep(arrays(place).data, [box]) for place in (0, 1))
        self.centres, self.room = arrays(4).data, arrays(9).data
        self.given, self.kept = (builder.gep(arrays(5).data, [args[place]]) for place in (6, 8))
        self.count = args[7]
        self.stride = builder.add(self.count, ir.Constant(LONG, LANES))
        self.spots = builder.gep(self.room, [self.stride])

    def each(self, stop: Any, step: int = 1) -> Any:
        """A loop from zero."""
        return cgutils.for_range_slice(self.builder, ir.Constant(LONG, 0), stop, ir.Constant(LONG, step), intp=LONG)

    def variable(self, value: Any) -> Any:
        """A place in a register."""
        return cgutils.alloca_once_value(self.builder, value)

    def at(self, base: Any, index: Any) -> Any:
        """One number."""
        return self.builder.load(self.builder.gep(base, [index]))

    def gather(self, first: Any, column: Any) -> Any:
        """One coordinate of eight centres."""
        builder, vector = self.builder, ir.Constant(self.vectors.floats, ir.Undefined)
        for lane in range(LANES):
            centre = builder.sext(self.at(self.given, builder.add(first, ir.Constant(LONG, lane))), LONG)
            value = self.at(self.centres, builder.add(builder.mul(centre, self.columns), column))
            vector = builder.insert_element(vector, value, ir.Constant(WORD, lane))
        return vector

    def measure(self) -> Any:
        """Squared distances to the middle, kept in `room`; the smallest, and its place in the list."""
        builder, vectors = self.builder, self.vectors
        best, where = (
            self.variable(vectors.constant(float("inf"))),
            self.variable(ir.Constant(vectors.words, [0] * LANES)),
        )
        total = self.variable(vectors.constant(0.0))
        lanes = ir.Constant(vectors.words, list(range(LANES)))
        with self.each(self.count, LANES) as (first, _):
            builder.store(vectors.constant(0.0), total)
            with self.each(self.columns) as (j, _):
                spots = self.gather(first, j)
                vectors.store(spots, self.spots, builder.add(builder.mul(j, self.stride), first))
                gap = builder.fsub(spots, vectors.splat(self.at(self.middle, j)))
                builder.store(builder.fadd(builder.load(total), builder.fmul(gap, gap)), total)
            away = builder.load(total)
            vectors.store(away, self.room, first)
            closer = builder.fcmp_ordered("<", away, builder.load(best))
            places = builder.add(vectors.splat(builder.trunc(first, WORD)), lanes)
            builder.store(builder.select(closer, away, builder.load(best)), best)
            builder.store(builder.select(closer, places, builder.load(where)), where)
        return self.smallest(builder.load(best), builder.load(where))

    def smallest(self, best: Any, where: Any) -> Any:
        """The smallest of the lanes, and its place."""
        builder = self.builder
        lane = [ir.Constant(WORD, number) for number in range(LANES)]
        field = [(builder.extract_element(best, i), builder.extract_element(where, i)) for i in lane]
        low, place = field[0]
        for value, other in field[1:]:
            closer = builder.fcmp_ordered("<", value, low)
            low, place = builder.select(closer, value, low), builder.select(closer, other, place)
        return low, builder.sext(place, LONG)

    def radius(self) -> Any:
        """Squared distance of a corner from the middle."""
        builder, total = self.builder, self.variable(ir.Constant(ir.DoubleType(), 0.0))
        with self.each(self.columns) as (j, _):
            half = self.at(self.half, j)
            builder.store(builder.fadd(builder.load(total), builder.fmul(half, half)), total)
        return builder.load(total)

    def lead(self, first: Any, away: Any, own: Any, doubt: Any) -> Any:
        """By how much eight centres are behind the nearest at their best corner, less what is in doubt."""
        builder, vectors = self.builder, self.vectors
        total = self.variable(vectors.constant(0.0))
        builder.store(builder.fsub(away, doubt), total)
        with self.each(self.columns) as (j, _):
            row = builder.mul(j, self.stride)
            gap = builder.fsub(
                vectors.load(self.spots, builder.add(row, first)),
                vectors.splat(self.at(self.spots, builder.add(row, own))),
            )
            size = builder.select(builder.fcmp_ordered("<", gap, vectors.constant(0.0)), builder.fneg(gap), gap)
            half = self.at(self.half, j)
            builder.store(
                builder.fsub(builder.load(total), builder.fmul(size, vectors.splat(builder.fadd(half, half)))), total
            )
        return builder.load(total)

    def sieve(self, smallest: Any, own: Any) -> Any:
        """List the centres that are not behind for certain; says how many."""
        builder, vectors, radius = self.builder, self.vectors, self.radius()
        size, base = self.variable(ir.Constant(LONG, 0)), vectors.splat(builder.fadd(smallest, radius))
        with self.each(self.count, LANES) as (first, _):
            away = vectors.load(self.room, first)
            rounding = builder.fmul(builder.fadd(away, base), vectors.constant(ROUNDING))
            rounding = builder.fadd(rounding, vectors.constant(UNDERFLOW))
            doubt = builder.fadd(rounding, vectors.splat(smallest))
            behind = builder.fcmp_ordered(">", self.lead(first, away, own, doubt), vectors.constant(0.0))
            self.pick(first, behind, size)
        return builder.load(size)

    def pick(self, first: Any, behind: Any, size: Any) -> None:
        """Append what is not behind, without a branch."""
        builder = self.builder
        for lane in range(LANES):
            place = builder.add(first, ir.Constant(LONG, lane))
            builder.store(self.at(self.given, place), builder.gep(self.kept, [builder.load(size)]))
            out = builder.extract_element(behind, ir.Constant(WORD, lane))
            stays = builder.and_(builder.not_(out), builder.icmp_signed("<", place, self.count))
            builder.store(builder.add(builder.load(size), builder.zext(stays, LONG)), size)

    def fill_up(self, size: Any) -> None:
        """Copies of the first make whole vectors of a list."""
        builder = self.builder
        for lane in range(LANES):
            place = builder.gep(self.kept, [builder.add(size, ir.Constant(LONG, lane))])
            builder.store(self.at(self.kept, ir.Constant(LONG, 0)), place)


def _reject(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    test = _Test(context, builder, signature, args)
    size = test.sieve(*test.measure())
    test.fill_up(size)
    return size
