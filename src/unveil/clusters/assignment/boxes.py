"""Which centres may be nearest to a point of a box? Eight of them are tested at a time, in vector registers.

See `unveil.clusters.assignment.kd_tree_kernel` for the test. Written as vector operations for the reason that
`unveil.numerics.vectors` gives. Centres that are kept are moved together with their coordinates, so that the test of a
smaller box reads them in order; processors with AVX-512 do that in one instruction.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from unveil.numerics.vectors import LONG, REGISTER, WORD, Vectors, arrays_of

LANES = REGISTER // 8  # centres at a time
COMPRESSES = binding.get_host_cpu_features().get("avx512f", False)
SQUARE_UNDERFLOW = 1e-300  # squares below this lose digits
DISTANCE_ROUNDING = (
    1e-12  # share of the distances within which a difference of squares may be wrong, with room to spare
)


@intrinsic  # type: ignore[untyped-decorator]
def reject(
    typingctx: Any,
    middles: Any,
    halves: Any,
    node: Any,
    columns: Any,
    spots: Any,
    lists: Any,
    level: Any,
    stride: Any,
    count: Any,
    room: Any,
) -> Any:
    """Of the `count` centres listed at a `level`, list at the next level those that no other rules out.

    Says how many they are. All arrays are flat: `middles` and `halves` (nodes * columns), `spots` (levels * columns *
    stride), the coordinates of the centres of each list, `lists` (levels * stride), their numbers, `room` (stride). A
    stride has room for a list and one vector more: lists are filled up to whole vectors, which the first one must be.
    """
    flat = (middles, halves, types.intp, types.intp, spots, lists, types.intp, types.intp, types.intp, room)
    return types.intp(*flat), _reject


class _Test:
    """The parts of one test, which share what they work on."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        arrays = arrays_of(context, builder, signature, args)
        self.builder, self.columns = builder, args[3]
        self.vectors = Vectors(builder, context.get_value_type(types.float64), LANES)
        box = builder.mul(args[2], self.columns)
        self.middle, self.half = (builder.gep(arrays(place).data, [box]) for place in (0, 1))
        self.stride, self.count, self.room = args[7], args[8], arrays(9).data
        self.given, self.kept = (self.part(arrays(5).data, level) for level in self.levels(args[6]))
        self.spots, self.moved = (
            self.part(arrays(4).data, builder.mul(level, self.columns)) for level in self.levels(args[6])
        )

    def levels(self, level: Any) -> tuple[Any, Any]:
        """This level and the next."""
        return level, self.builder.add(level, ir.Constant(LONG, 1))

    def part(self, base: Any, number: Any) -> Any:
        """Where a list, or a column of one, begins."""
        return self.builder.gep(base, [self.builder.mul(number, self.stride)])

    def each(self, stop: Any, step: int = 1) -> Any:
        """A loop from zero."""
        return cgutils.for_range_slice(self.builder, ir.Constant(LONG, 0), stop, ir.Constant(LONG, step), intp=LONG)

    def variable(self, value: Any) -> Any:
        """A place in a register."""
        return cgutils.alloca_once_value(self.builder, value)

    def at(self, base: Any, index: Any) -> Any:
        """One number."""
        return self.builder.load(self.builder.gep(base, [index]))

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
                spots = vectors.load(self.part(self.spots, j), first)
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
            spots = self.part(self.spots, j)
            gap = builder.fsub(vectors.load(spots, first), vectors.splat(self.at(spots, own)))
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
            rounding = builder.fmul(builder.fadd(away, base), vectors.constant(DISTANCE_ROUNDING))
            rounding = builder.fadd(rounding, vectors.constant(SQUARE_UNDERFLOW))
            doubt = builder.fadd(rounding, vectors.splat(smallest))
            behind = builder.fcmp_ordered(">", self.lead(first, away, own, doubt), vectors.constant(0.0))
            self.pick(first, behind, size)
        return builder.load(size)

    def pick(self, first: Any, behind: Any, size: Any) -> None:
        """Append what is not behind, without a branch."""
        builder, vectors = self.builder, self.vectors
        lanes = ir.Constant(vectors.words, list(range(LANES)))
        place = builder.add(vectors.splat(builder.trunc(first, WORD)), lanes)
        listed = builder.icmp_signed("<", place, vectors.splat(builder.trunc(self.count, WORD)))
        stays, end = builder.and_(builder.not_(behind), listed), builder.load(size)
        words = builder.bitcast(builder.gep(self.given, [first]), vectors.words.as_pointer())
        self.append(builder.load(words, align=4), builder.gep(self.kept, [end]), stays)
        with self.each(self.columns) as (j, _):
            spots = vectors.load(self.part(self.spots, j), first)
            self.append(spots, builder.gep(self.part(self.moved, j), [end]), stays)
        count = builder.ctpop(builder.bitcast(stays, ir.IntType(LANES)))
        builder.store(builder.add(end, builder.zext(count, LONG)), size)

    def append(self, vector: Any, place: Any, stays: Any) -> None:
        """Write the lanes that stay one after the other."""
        builder = self.builder
        if COMPRESSES:
            kind = f"v{LANES}{'f64' if vector.type.element == ir.DoubleType() else 'i32'}"
            taken = [vector.type, place.type, stays.type]
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), taken), f"llvm.masked.compressstore.{kind}"
            )
            builder.call(function, [vector, place, stays])
            return
        end = self.variable(ir.Constant(LONG, 0))
        for lane in (ir.Constant(WORD, number) for number in range(LANES)):
            builder.store(builder.extract_element(vector, lane), builder.gep(place, [builder.load(end)]))
            stay = builder.zext(builder.extract_element(stays, lane), LONG)
            builder.store(builder.add(builder.load(end), stay), end)

    def fill_up(self, size: Any) -> None:
        """Copies of the first make whole vectors of a list."""
        start = ir.Constant(LONG, 0)
        self.vectors.store(self.vectors.splat(self.at(self.kept, start)), self.kept, size)
        with self.each(self.columns) as (j, _):
            spots = self.part(self.moved, j)
            self.vectors.store(self.vectors.splat(self.at(spots, start)), spots, size)


def _reject(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    test = _Test(context, builder, signature, args)
    size = test.sieve(*test.measure())
    test.fill_up(size)
    return size
