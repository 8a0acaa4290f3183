"""The loops of a chart in vector registers: eight spans of one length at a time, side by side.

A chart keeps, for every symbol and length, a row of numbers over the places where a span of that length may begin. So
eight neighbouring spans are a vector, their left parts of a given length are a vector, and so are their right parts.
Those of four symbols at a time, a block, are laid out one split after the other; two blocks make a tile of 4 x 4 pairs.
Compilers cannot tell that such vectors do not overlap, so the loops are spelled out as vector operations, which every
target of LLVM knows:

    fill, copy, keep, added      of vectors
    take        lay out a block of left or right parts;      give: add what belongs to such parts to the chart
    products    M[B, C] = sum over splits of left[B] * right[C], for the sixteen pairs of a tile, in registers
    spread      out of left[B] += slope[B, C] * right[C]  and  out of right[C] += slope[B, C] * left[B]
    apply       result[target] += weight * source[place], for the entries of a list
    fold        counts += out[target] * source[place]  and  slope[place] += weight * out[target], the way back

`best_products` and `best_apply` have (max, +) in place of (+, *).

All that is read and written lies in few arrays, since each one more costs time to compile: `work`, and the `numbers`
and `values` of a grammar. The other arguments are places in these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from unveil.grammar.kernels.layout import BLOCK, LANES, PLACE, SLOTS
from unveil.numerics.vectors import FUSED, LONG, Vectors, arrays_of

ROW = BLOCK * LANES  # numbers of one split of a block

Combine = Callable[[Vectors, Any, Any, Any], Any]


def _add_product(vectors: Vectors, total: Any, one: Any, other: Any) -> Any:
    """total + one * other."""
    return vectors.builder.fadd(total, vectors.builder.fmul(one, other, flags=FUSED), flags=FUSED)


def _larger_sum(vectors: Vectors, total: Any, one: Any, other: Any) -> Any:
    """max(total, one + other)."""
    builder = vectors.builder
    value = builder.fadd(one, other)
    return builder.select(builder.fcmp_ordered(">", value, total), value, total)


class _Lanes:
    """The arguments of an intrinsic, of which the first are arrays; vectors of eight."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.builder, self.vectors = builder, Vectors(builder, ir.DoubleType(), LANES)
        arrays = arrays_of(context, builder, signature, args)
        self.data = [arrays(k).data for k, kind in enumerate(signature.args) if isinstance(kind, types.Array)]

    def pointer(self, place: Any, array: int = 0) -> Any:
        """Where an array, `work` unless another is named, has its entry `place`."""
        return self.builder.gep(self.data[array], [place])

    def entry(self, array: int, place: Any, more: Any) -> Any:
        """An entry of an array."""
        return self.builder.load(self.pointer(self.builder.add(place, more), array))

    def vector(self, place: Any, number: Any) -> Any:
        """Where the vector of this number is, of those from `place` on."""
        return self.pointer(self.builder.add(place, self.builder.mul(number, ir.Constant(LONG, LANES))))

    def pair(self, pairs: Any, number: Any) -> tuple[Any, Any]:
        """Place and target of an entry of a list, from one number: see `PLACE`."""
        both = self.entry(1, pairs, number)
        place = self.builder.and_(both, ir.Constant(LONG, (1 << PLACE) - 1))
        return place, self.builder.lshr(both, ir.Constant(LONG, PLACE))

    def load(self, pointer: Any, offset: int = 0) -> Any:
        """Eight numbers."""
        place = self.builder.gep(pointer, [ir.Constant(LONG, offset)])
        return self.builder.load(self.builder.bitcast(place, self.vectors.floats.as_pointer()), align=8)

    def store(self, vector: Any, pointer: Any, offset: int = 0) -> None:
        """Eight numbers to memory."""
        place = self.builder.gep(pointer, [ir.Constant(LONG, offset)])
        self.builder.store(vector, self.builder.bitcast(place, self.vectors.floats.as_pointer()), align=8)

    def block(self, pointer: Any) -> list[Any]:
        """The four vectors of a split."""
        return [self.load(pointer, k * LANES) for k in range(BLOCK)]

    def loop(self, begin: Any, end: Any) -> Any:
        """begin, begin + 1 ... end - 1."""
        return cgutils.for_range_slice(self.builder, begin, end, ir.Constant(LONG, 1), intp=LONG)


@intrinsic  # type: ignore[untyped-decorator]
def fill(typingctx: Any, work: Any, begin: Any, count: Any, value: Any) -> Any:
    """Set `count` entries, a multiple of eight."""
    return types.void(work, types.intp, types.intp, types.float64), _fill


def _fill(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    lanes = _Lanes(context, builder, signature, args)
    begin, count, value = args[1:]
    vector = lanes.vectors.splat(value)
    with lanes.loop(ir.Constant(LONG, 0), builder.udiv(count, ir.Constant(LONG, LANES))) as (number, _):
        lanes.store(vector, lanes.vector(begin, number))
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def copy(typingctx: Any, work: Any, count: Any, source: Any, step: Any, target: Any, other_step: Any) -> Any:
    """Copy `count` vectors that are a step apart to places that are another step apart."""
    return types.void(work, *(types.intp,) * 5), _copy


def _copy(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    lanes = _Lanes(context, builder, signature, args)
    count, source, step, target, other_step = args[1:]
    with lanes.loop(ir.Constant(LONG, 0), count) as (number, _):
        value = lanes.load(lanes.pointer(builder.add(source, builder.mul(number, step))))
        lanes.store(value, lanes.pointer(builder.add(target, builder.mul(number, other_step))))
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def added(typingctx: Any, work: Any, begin: Any, count: Any) -> Any:
    """The sum of `count` entries, a multiple of eight: infinite, or not a number, if one of them is."""
    return types.float64(work, types.intp, types.intp), _added


def _added(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    lanes = _Lanes(context, builder, signature, args)
    total = cgutils.alloca_once(builder, lanes.vectors.floats)
    builder.store(lanes.vectors.constant(0.0), total)
    with lanes.loop(ir.Constant(LONG, 0), builder.udiv(args[2], ir.Constant(LONG, LANES))) as (number, _):
        builder.store(builder.fadd(builder.load(total), lanes.load(lanes.vector(args[1], number))), total)
    vector = builder.load(total)
    parts = [builder.extract_element(vector, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)]
    while len(parts) > 1:
        parts = [builder.fadd(one, other) for one, other in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


@intrinsic  # type: ignore[untyped-decorator]
def keep(typingctx: Any, work: Any, numbers: Any, symbols: Any, count: Any, source: Any, target: Any) -> Any:
    """Copy the vectors of `count` listed symbols."""
    return types.void(work, numbers, *(types.intp,) * 4), _keep


def _keep(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    lanes = _Lanes(context, builder, signature, args)
    symbols, count, source, target = args[2:]
    with lanes.loop(ir.Constant(LONG, 0), count) as (number, _):
        symbol = lanes.entry(1, symbols, number)
        lanes.store(lanes.load(lanes.vector(source, symbol)), lanes.vector(target, symbol))
    return context.get_dummy_value()


def _moves(right: bool, back: bool) -> Any:
    """A pair of what `take` or `give` needs: types of their arguments, and the loop."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _Lanes(context, builder, signature, args)
        chart, symbols, packed, stride, whole, first, low, high = args[3:]
        numbers = [lanes.entry(1, symbols, ir.Constant(LONG, k)) for k in range(BLOCK)]
        rows = [lanes.pointer(builder.add(chart, builder.mul(number, stride))) for number in numbers]
        with lanes.loop(low, builder.add(high, ir.Constant(LONG, 1))) as (length, _):
            own = builder.sub(whole, length) if right else length
            start = lanes.entry(2, own, ir.Constant(LONG, 0))
            place = builder.add(start, builder.add(first, length) if right else first)
            row = builder.mul(builder.sub(length, low), ir.Constant(LONG, ROW))
            block = lanes.pointer(builder.add(packed, row))
            for k, symbol in enumerate(rows):
                part = builder.gep(symbol, [place])
                if back:
                    lanes.store(builder.fadd(lanes.load(part), lanes.load(block, k * LANES)), part)
                else:
                    lanes.store(lanes.load(part), block, k * LANES)
        return context.get_dummy_value()

    return build


@intrinsic  # type: ignore[untyped-decorator]
def take_left(
    typingctx: Any, work: Any, numbers: Any, starts: Any, chart: Any, symbols: Any, packed: Any,
    stride: Any, whole: Any, first: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """Lay out, from place `packed` on, the left parts of low..high words of the spans of `whole` words from `first` on.

    `symbols` is where the numbers of the block's four symbols are, whose rows in the chart are `stride` long; `starts`
    says where in a row each length begins.
    """
    return types.void(work, numbers, starts, *(types.intp,) * 8), _moves(right=False, back=False)


@intrinsic  # type: ignore[untyped-decorator]
def take_right(
    typingctx: Any, work: Any, numbers: Any, starts: Any, chart: Any, symbols: Any, packed: Any,
    stride: Any, whole: Any, first: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """The right parts, the left parts having low..high words."""
    return types.void(work, numbers, starts, *(types.intp,) * 8), _moves(right=True, back=False)


@intrinsic  # type: ignore[untyped-decorator]
def give_left(
    typingctx: Any, work: Any, numbers: Any, starts: Any, chart: Any, symbols: Any, packed: Any,
    stride: Any, whole: Any, first: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """Add to the chart what was laid out for left parts."""
    return types.void(work, numbers, starts, *(types.intp,) * 8), _moves(right=False, back=True)


@intrinsic  # type: ignore[untyped-decorator]
def give_right(
    typingctx: Any, work: Any, numbers: Any, starts: Any, chart: Any, symbols: Any, packed: Any,
    stride: Any, whole: Any, first: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """Add to the chart what was laid out for right parts."""
    return types.void(work, numbers, starts, *(types.intp,) * 8), _moves(right=True, back=True)


@intrinsic  # type: ignore[untyped-decorator]
def products(typingctx: Any, work: Any, left: Any, right: Any, out: Any, count: Any) -> Any:
    """Sums over `count` splits of the products of two blocks, laid out from `left` and `right` on."""
    return types.void(work, *(types.intp,) * 4), _products_with(_add_product, 0.0)


@intrinsic  # type: ignore[untyped-decorator]
def best_products(typingctx: Any, work: Any, left: Any, right: Any, out: Any, count: Any) -> Any:
    """The largest sum instead of the sum of products."""
    return types.void(work, *(types.intp,) * 4), _products_with(_larger_sum, float("-inf"))


def _products_with(combine: Combine, nothing: float) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _Lanes(context, builder, signature, args)
        left, right, out, count = args[1:]
        totals = [cgutils.alloca_once(builder, lanes.vectors.floats) for _ in range(SLOTS)]
        for total in totals:
            builder.store(lanes.vectors.constant(nothing), total)
        with lanes.loop(ir.Constant(LONG, 0), count) as (split, _):
            row = builder.mul(split, ir.Constant(LONG, ROW))
            ones = lanes.block(lanes.pointer(builder.add(left, row)))
            others = lanes.block(lanes.pointer(builder.add(right, row)))
            for slot, total in enumerate(totals):
                value = combine(lanes.vectors, builder.load(total), ones[slot // BLOCK], others[slot % BLOCK])
                builder.store(value, total)
        target = lanes.pointer(out)
        for slot, total in enumerate(totals):
            lanes.store(builder.load(total), target, slot * LANES)
        return context.get_dummy_value()

    return build


@intrinsic  # type: ignore[untyped-decorator]
def spread(
    typingctx: Any, work: Any, slopes: Any, left: Any, right: Any, left_out: Any, right_out: Any, count: Any
) -> Any:  # fmt: skip
    """Add to the outside values of two blocks what the slopes of their tile and the other block give them."""
    return types.void(work, *(types.intp,) * 6), _spread


def _spread(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    lanes = _Lanes(context, builder, signature, args)
    slopes = [lanes.load(lanes.pointer(args[1]), slot * LANES) for slot in range(SLOTS)]
    with lanes.loop(ir.Constant(LONG, 0), args[6]) as (split, _):
        row = builder.mul(split, ir.Constant(LONG, ROW))
        ones, others, first_out, second_out = (lanes.pointer(builder.add(at, row)) for at in args[2:6])
        for out, factors, mine in (
            (first_out, lanes.block(others), lambda k: slopes[k * BLOCK : (k + 1) * BLOCK]),
            (second_out, lanes.block(ones), lambda k: slopes[k::BLOCK]),
        ):
            for k in range(BLOCK):
                total = lanes.load(out, k * LANES)
                for slope, factor in zip(mine(k), factors, strict=True):
                    total = _add_product(lanes.vectors, total, slope, factor)
                lanes.store(total, out, k * LANES)
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def apply(
    typingctx: Any, work: Any, numbers: Any, values: Any, source: Any, pairs: Any, weights: Any,
    result: Any, begin: Any, end: Any,
) -> Any:  # fmt: skip
    """result[target] += weight * source[place] for the entries from begin to end of a list; all but weights vectors."""
    return types.void(work, numbers, values, *(types.intp,) * 6), _apply_with(_add_product)


@intrinsic  # type: ignore[untyped-decorator]
def best_apply(
    typingctx: Any, work: Any, numbers: Any, values: Any, source: Any, pairs: Any, weights: Any,
    result: Any, begin: Any, end: Any,
) -> Any:  # fmt: skip
    """The larger of the result and the sum, instead of adding the product."""
    return types.void(work, numbers, values, *(types.intp,) * 6), _apply_with(_larger_sum)


def _apply_with(combine: Combine) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _Lanes(context, builder, signature, args)
        source, pairs, weights, result, begin, end = args[3:]
        with lanes.loop(begin, end) as (number, _):
            place, target = lanes.pair(pairs, number)
            value = lanes.load(lanes.pointer(builder.add(source, place)))
            weight = lanes.vectors.splat(lanes.entry(2, weights, number))
            target = lanes.pointer(builder.add(result, target))
            lanes.store(combine(lanes.vectors, lanes.load(target), weight, value), target)
        return context.get_dummy_value()

    return build


@intrinsic  # type: ignore[untyped-decorator]
def fold(
    typingctx: Any, work: Any, numbers: Any, values: Any, source: Any, pairs: Any, weights: Any,
    outs: Any, slopes: Any, counts: Any, begin: Any, end: Any,
) -> Any:  # fmt: skip
    """counts[entry] += outs[target] * source[place] and slopes[place] += weight * outs[target]."""
    return types.void(work, numbers, values, *(types.intp,) * 8), _fold


def _fold(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    lanes = _Lanes(context, builder, signature, args)
    source, pairs, weights, outs, slopes, counts, begin, end = args[3:]
    with lanes.loop(begin, end) as (number, _):
        place, target = lanes.pair(pairs, number)
        out = lanes.load(lanes.pointer(builder.add(outs, target)))
        count, slope = lanes.vector(counts, number), lanes.pointer(builder.add(slopes, place))
        value = lanes.load(lanes.pointer(builder.add(source, place)))
        lanes.store(_add_product(lanes.vectors, lanes.load(count), out, value), count)
        weight = lanes.vectors.splat(lanes.entry(2, weights, number))
        lanes.store(_add_product(lanes.vectors, lanes.load(slope), weight, out), slope)
    return context.get_dummy_value()
