"""One step of a hidden Markov chain, with all states in vector registers.

A step multiplies a vector of states by a matrix. Written as loops over arrays it spends its time handing sums from
memory to memory; spelled out as vector operations (which every target of LLVM knows) the sums stay in registers. Each
function here is such a step: flat arrays, and the places in them where lines begin. Lines are padded to `width` (see
`unveil.chains.kernels.vector_states`), but for those of `scores` and of posteriors, of `n_states` each.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from unveil.chains.kernels.vector_states import BIT, NUMBER, REGISTER, Cell, States, Widths
from unveil.numerics.vectors import LONG, arrays_of

LOST = 2e-200  # smaller shares than this become 0; it is above FLOOR of chain_lanes, so that those do
CEILING = 1e290
LOWEST = float("-inf")


@intrinsic  # type: ignore[untyped-decorator]
def expose(typingctx: Any, scores: Any, at: Any, n_states: Any, width: Any, out: Any, to: Any) -> Any:
    """out = exp(scores - their maximum), at least `FLOOR` where possible, padded with zeros; returns the maximum."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = arrays_of(context, builder, signature, args)
        lowest = ir.Constant(NUMBER, LOWEST)
        peak = Cell(builder, lowest, lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
        widths = Widths(builder, args[3])

        def find(states: States) -> list[Any]:
            scores = states.read(arrays(0).data, args[1], args[2], LOWEST)
            peak.add(states.fold(scores, states.larger))
            return scores

        def weigh(states: States, scores: list[Any]) -> None:
            top = peak.value()
            base = states.splat(builder.select(builder.fcmp_ordered(">", top, lowest), top, ir.Constant(NUMBER, 0.0)))
            states.keep([states.exp(builder.fsub(score, base)) for score in scores], arrays(4).data, args[5])

        def again(states: States) -> None:
            weigh(states, states.read(arrays(0).data, args[1], args[2], LOWEST))

        def wide() -> None:
            widths.blocks(find)
            widths.blocks(again)

        widths.run(lambda states: weigh(states, find(states)), wide)
        return peak.value()

    return types.float64(scores, types.intp, types.intp, types.intp, out, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def push(
    typingctx: Any,
    vector: Any,
    at: Any,
    matrix: Any,
    width: Any,
    emissions: Any,
    place: Any,
    scale: Any,
    out: Any,
    to: Any,
) -> Any:
    """out = (vector @ matrix) * emissions * scale; returns the sum, and whether something was lost.

    Lost is what was possible, and is so small that it became 0.
    """
    result = types.Tuple((types.float64, types.boolean))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = arrays_of(context, builder, signature, args)
        start = builder.gep(arrays(0).data, [args[1]])
        total = Cell(builder, ir.Constant(NUMBER, 0.0), builder.fadd)
        lost = Cell(builder, ir.Constant(BIT, 0), builder.or_)

        def step(states: States) -> None:
            factors = states.line(arrays(4).data, args[5])
            scaled = [builder.fmul(factor, states.splat(args[6])) for factor in factors]
            reached = states.product(start, arrays(2).data)
            values = [builder.fmul(value, factor) for value, factor in zip(reached, scaled, strict=True)]
            zero, least = states.constant(0.0), states.constant(LOST)
            small = [builder.fcmp_ordered("<", value, least) for value in values]
            kept = [builder.select(few, zero, value) for few, value in zip(small, values, strict=True)]
            states.keep(kept, arrays(7).data, args[8])
            total.add(states.total(kept))
            for few, *parts in zip(small, reached, factors, strict=True):
                possible = [builder.fcmp_ordered(">", part, zero) for part in parts]
                lost.add(states.any(builder.and_(few, builder.and_(*possible))))

        Widths(builder, args[3]).each(step)
        return context.make_tuple(builder, result, [total.value(), lost.value()])

    given = (vector, types.intp, matrix, types.intp, emissions, types.intp, types.float64, out, types.intp)
    return result(*given), generate


@intrinsic  # type: ignore[untyped-decorator]
def pull(
    typingctx: Any,
    ahead: Any,
    at: Any,
    matrix: Any,
    width: Any,
    shares: Any,
    share: Any,
    emissions: Any,
    place: Any,
    scale: Any,
    out: Any,
    row: Any,
    n_states: Any,
    to: Any,
) -> Any:
    """u = ahead[at:] @ matrix; out = shares * u, without padding; ahead[to:] = u * emissions * scale."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = arrays_of(context, builder, signature, args)
        base = arrays(0).data
        start = builder.gep(base, [args[1]])

        def step(states: States) -> None:
            factors = states.line(arrays(6).data, args[7])
            scaled = [builder.fmul(factor, states.splat(args[8])) for factor in factors]
            shares = states.line(arrays(4).data, args[5])
            future = states.product(start, arrays(2).data)
            ceiling = states.constant(CEILING)
            new = [builder.fmul(value, factor) for value, factor in zip(future, scaled, strict=True)]
            states.keep([states.least(value, ceiling) for value in new], base, args[12])
            joint = [builder.fmul(value, one) for value, one in zip(future, shares, strict=True)]
            states.write(joint, arrays(9).data, args[10], args[11])

        Widths(builder, args[3]).each(step)
        return context.get_dummy_value()

    given = (ahead, types.intp, matrix, types.intp, shares, types.intp, emissions, types.intp, types.float64, out)
    return types.void(*given, types.intp, types.intp, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def relax(
    typingctx: Any, reach: Any, at: Any, matrix: Any, width: Any, scores: Any, row: Any, n_states: Any, to: Any
) -> Any:
    """reach[to:] = scores + the largest of reach[at:]_i + matrix_ij over i; padding stays minus infinity."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = arrays_of(context, builder, signature, args)
        base = arrays(0).data
        start = builder.gep(base, [args[1]])

        def step(states: States) -> None:
            scores = states.read(arrays(4).data, args[5], args[6], LOWEST)
            best = states.best(start, arrays(2).data)
            sums = [builder.fadd(value, score) for value, score in zip(best, scores, strict=True)]
            states.keep(sums, base, args[7])

        Widths(builder, args[3]).each(step)
        return context.get_dummy_value()

    given = (reach, types.intp, matrix, types.intp, scores, types.intp, types.intp, types.intp)
    return types.void(*given), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_outer(typingctx: Any, left: Any, at: Any, right: Any, place: Any, steps: Any, width: Any, out: Any) -> Any:
    """out (width * width) += the sum over steps of left_t (x) right_t, lines of `width` from `at` and `place` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = arrays_of(context, builder, signature, args)
        left, right = builder.gep(arrays(0).data, [args[1]]), builder.gep(arrays(2).data, [args[3]])
        steps, width, out = args[4], args[5], arrays(6).data

        def block(lanes: int, line: Any, column: Any) -> None:
            states = States(builder, width, lanes, 1, column)
            sums = [cgutils.alloca_once(builder, states.floats) for _ in range(lanes)]
            lines = [builder.mul(builder.add(line, ir.Constant(LONG, n)), width) for n in range(lanes)]
            for place, here in zip(sums, lines, strict=True):
                builder.store(states.line(out, here)[0], place)
            with cgutils.for_range(builder, steps, intp=LONG) as loop:
                begin = builder.mul(loop.index, width)
                vector, from_here = states.line(right, begin)[0], builder.add(begin, line)
                for n, place in enumerate(sums):
                    value = builder.load(builder.gep(left, [builder.add(from_here, ir.Constant(LONG, n))]))
                    builder.store(states.fused(states.splat(value), vector, builder.load(place)), place)
            for place, here in zip(sums, lines, strict=True):
                states.keep([builder.load(place)], out, here)

        zero, register = ir.Constant(LONG, 0), ir.Constant(LONG, REGISTER)
        narrow = builder.icmp_signed("<", width, register)
        with builder.if_else(narrow) as (few, many):
            with few:
                block(REGISTER // 2, zero, zero)
            with (
                many,
                cgutils.for_range_slice(builder, zero, width, register, intp=LONG) as (line, _),
                cgutils.for_range_slice(builder, zero, width, register, intp=LONG) as (column, _),
            ):
                block(REGISTER, line, column)
        return context.get_dummy_value()

    given = (left, types.intp, right, types.intp, types.intp, types.intp, out)
    return types.void(*given), generate


@intrinsic  # type: ignore[untyped-decorator]
def locate(typingctx: Any, reach: Any, at: Any, matrix: Any, place: Any, width: Any) -> Any:
    """The first state with the largest reach[at:] + matrix[place:]."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = arrays_of(context, builder, signature, args)
        peak = Cell(
            builder,
            ir.Constant(NUMBER, LOWEST),
            lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b),
        )
        nowhere = ir.Constant(LONG, -1)
        found = Cell(builder, nowhere, lambda a, b: builder.select(builder.icmp_signed("==", a, nowhere), b, a))
        widths = Widths(builder, args[4])

        def sums(states: States) -> list[Any]:
            pairs = zip(states.line(arrays(0).data, args[1]), states.line(arrays(2).data, args[3]), strict=True)
            return [builder.fadd(a, b) for a, b in pairs]

        def top(states: States) -> None:
            peak.add(states.fold(sums(states), states.larger))

        def find(states: States) -> None:
            best = states.splat(peak.value())
            found.add(states.first([builder.fcmp_ordered("==", value, best) for value in sums(states)]))

        def wide() -> None:
            widths.blocks(top)
            widths.blocks(find)

        def small(states: States) -> None:
            top(states)
            find(states)

        widths.run(small, wide)
        return found.value()

    return types.intp(reach, types.intp, matrix, types.intp, types.intp), generate
