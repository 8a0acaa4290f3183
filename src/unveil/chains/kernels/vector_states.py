"""The states of a hidden Markov chain side by side in vector registers, for `unveil.chains.kernels.vector_steps`.

States are padded to a `width`: 4, 8, 16, or a multiple of 32. Padding is zeros (or minus infinity among logs), and
stays so. Tables with padding are flat arrays; tables that callers see, (rows, states) without padding, are read and
written under a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils

from unveil.numerics import exp_log as series
from unveil.numerics.vectors import FUSED, LONG, WORD, Vectors

REGISTER = 8  # numbers
LARGEST = 4  # registers of sums at a time
SMALL = ((4, 1), (8, 1), (8, 2), (8, 4))  # widths that are spelled out, as lanes and registers
NUMBER, BIT = ir.DoubleType(), ir.IntType(1)
FLOOR = 1e-200  # what a possible emission is at least, against the likeliest
CUTOFF = -460.51701859880916  # log of FLOOR


def padded(n_states: int) -> int:
    """The width for a number of states."""
    widest = LARGEST * REGISTER
    fitting = (lanes * count for lanes, count in SMALL if lanes * count >= n_states)
    return next(fitting, -(-n_states // widest) * widest)


class States(Vectors):
    """`count` vectors of `lanes` states from state `first` on, of all `width` states."""

    def __init__(self, builder: Any, width: Any, lanes: int, count: int, first: Any) -> None:
        super().__init__(builder, NUMBER, lanes)
        self.width, self.count, self.first_state = width, count, first
        self.longs = ir.VectorType(LONG, lanes)

    def places(self, at: Any) -> list[Any]:
        """Where the vectors of a line that begins at `at` lie."""
        begin = self.builder.add(at, self.first_state)
        return [self.builder.add(begin, ir.Constant(LONG, n * self.lanes)) for n in range(self.count)]

    def line(self, base: Any, at: Any) -> list[Any]:
        """The vectors of the line that begins at `at`."""
        return [self.load(base, place) for place in self.places(at)]

    def keep(self, vectors: list[Any], base: Any, at: Any) -> None:
        """Write the line that begins at `at`."""
        for vector, place in zip(vectors, self.places(at), strict=True):
            self.store(vector, base, place)

    def masks(self, n_states: Any) -> list[Any]:
        """Which lanes are states, not padding."""
        numbers = ir.Constant(self.longs, list(range(self.lanes)))
        starts = self.places(ir.Constant(LONG, 0))
        ends = [self.splat(self.builder.sub(n_states, start)) for start in starts]
        return [self.builder.icmp_signed("<", numbers, end) for end in ends]

    def read(self, base: Any, at: Any, n_states: Any, otherwise: float) -> list[Any]:
        """A line without padding."""
        kind = [self.floats.as_pointer(), WORD, ir.VectorType(BIT, self.lanes), self.floats]
        call = self._function("load", ir.FunctionType(self.floats, kind))
        return [
            self.builder.call(call, [self._at(base, place), ir.Constant(WORD, 8), mask, self.constant(otherwise)])
            for place, mask in zip(self.places(at), self.masks(n_states), strict=True)
        ]

    def write(self, vectors: list[Any], base: Any, at: Any, n_states: Any) -> None:
        """A line without padding."""
        kind = [self.floats, self.floats.as_pointer(), WORD, ir.VectorType(BIT, self.lanes)]
        call = self._function("store", ir.FunctionType(ir.VoidType(), kind))
        for vector, place, mask in zip(vectors, self.places(at), self.masks(n_states), strict=True):
            self.builder.call(call, [vector, self._at(base, place), ir.Constant(WORD, 8), mask])

    def _at(self, base: Any, place: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(base, [place]), self.floats.as_pointer())

    def _function(self, verb: str, kind: Any) -> Any:
        name = f"llvm.masked.{verb}.v{self.lanes}f64.p0v{self.lanes}f64"
        return cgutils.get_or_insert_function(self.builder.module, kind, name)

    def fold(self, vectors: list[Any], pair: Callable[[Any, Any], Any]) -> Any:
        """All lanes of all vectors to one number, by halves."""
        while len(vectors) > 1:
            odd = [vectors[-1]] if len(vectors) % 2 else []
            vectors = [pair(a, b) for a, b in zip(vectors[::2], vectors[1::2], strict=False)] + odd
        vector, lanes = vectors[0], self.lanes
        while lanes > 1:
            lanes //= 2
            low, high = list(range(lanes)), list(range(lanes, 2 * lanes))
            words = ir.VectorType(WORD, lanes)
            vector = pair(*(self.builder.shuffle_vector(vector, vector, ir.Constant(words, n)) for n in (low, high)))
        return self.builder.extract_element(vector, ir.Constant(WORD, 0))

    def total(self, vectors: list[Any]) -> Any:
        """The sum over states."""
        return self.fold(vectors, self.builder.fadd)

    def any(self, flags: Any) -> Any:
        """Whether a flag is up in any lane."""
        mask = ir.IntType(self.lanes)
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(flags, mask), ir.Constant(mask, 0))

    def first(self, flags: list[Any]) -> Any:
        """The number of the first state whose flag is up; -1 if none is."""
        joint = ir.Constant(LONG, 0)
        for n, flag in enumerate(flags):
            bits = self.builder.zext(self.builder.bitcast(flag, ir.IntType(self.lanes)), LONG)
            joint = self.builder.or_(joint, self.builder.shl(bits, ir.Constant(LONG, n * self.lanes)))
        place = self.builder.add(self.first_state, self.builder.cttz(joint, ir.Constant(BIT, 0)))
        none = self.builder.icmp_unsigned("==", joint, ir.Constant(LONG, 0))
        return self.builder.select(none, ir.Constant(LONG, -1), place)

    def larger(self, a: Any, b: Any) -> Any:
        """The larger in each lane."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c."""
        return self.builder.fadd(self.builder.fmul(a, b, flags=FUSED), c, flags=FUSED)

    def exp(self, x: Any) -> Any:
        """exp(x) for x <= 0, at least `FLOOR`; 0 for minus infinity. The series of `unveil.numerics.exp_log`."""
        builder, fused, c = self.builder, self.fused, self.constant
        shifted = fused(x, c(series.LOG2_E), c(series.ROUNDER))
        power = builder.fsub(shifted, c(series.ROUNDER))
        r = fused(power, c(-series.LN2_LOW), fused(power, c(-series.LN2_HIGH), x))
        r2 = builder.fmul(r, r)
        r4 = builder.fmul(r2, r2)
        terms = [1.0, 1.0] + [getattr(series, f"C{n}") for n in range(2, 14)]
        pairs = [fused(c(terms[n + 1]), r, c(terms[n])) for n in range(0, 14, 2)]
        low = fused(r4, fused(r2, pairs[3], pairs[2]), fused(r2, pairs[1], pairs[0]))
        high = fused(r4, pairs[6], fused(r2, pairs[5], pairs[4]))
        value = fused(builder.fmul(r4, r4), high, low)
        bits = builder.shl(builder.bitcast(shifted, self.longs), ir.Constant(self.longs, [52] * self.lanes))
        bits = builder.add(bits, ir.Constant(self.longs, [int(series.ONE_BITS)] * self.lanes))
        value = builder.fmul(value, builder.bitcast(bits, self.floats))
        value = builder.select(builder.fcmp_ordered("<", x, c(CUTOFF)), c(FLOOR), value)
        return builder.select(builder.fcmp_ordered("==", x, c(float("-inf"))), c(0.0), value)

    def combine(self, vector: Any, matrix: Any, first: Any, join: Callable[[Any, Any], Any], pair: Any) -> list[Any]:
        """Over all states i, join(vector_i, line i of matrix) paired up, in several chains to hide the time each takes.

        `first` is what nothing is: 0 among sums.
        """
        chains = min(4, 2 * LARGEST // self.count) if self.lanes == REGISTER else 2
        sums = [[cgutils.alloca_once(self.builder, self.floats) for _ in range(self.count)] for _ in range(chains)]
        for place in (place for chain in sums for place in chain):
            self.builder.store(self.constant(first), place)

        def add(i: Any, chain: list[Any]) -> None:
            value = self.splat(self.builder.load(self.builder.gep(vector, [i])))
            for line, place in zip(self.line(matrix, self.builder.mul(i, self.width)), chain, strict=True):
                self.builder.store(pair(self.builder.load(place), join, value, line), place)

        if isinstance(self.width, ir.Constant) and self.width.constant <= 2 * REGISTER:
            for i in range(self.width.constant):
                add(ir.Constant(LONG, i), sums[i % chains])
        else:
            step = ir.Constant(LONG, 4)
            with cgutils.for_range_slice(self.builder, ir.Constant(LONG, 0), self.width, step, intp=LONG) as (i, _):
                for n in range(4):
                    add(self.builder.add(i, ir.Constant(LONG, n)), sums[n % chains])
        found = [self.builder.load(place) for place in sums[0]]
        for chain in sums[1:]:
            others = [self.builder.load(place) for place in chain]
            found = [pair(one, None, None, other) for one, other in zip(found, others, strict=True)]
        return found

    def product(self, vector: Any, matrix: Any) -> list[Any]:
        """vector @ matrix."""

        def pair(so_far: Any, join: Any, value: Any, line: Any) -> Any:
            return self.builder.fadd(so_far, line) if join is None else self.fused(value, line, so_far)

        return self.combine(vector, matrix, 0.0, self.builder.fmul, pair)

    def best(self, vector: Any, matrix: Any) -> list[Any]:
        """The largest of vector_i + matrix_ij, for every j."""

        def pair(so_far: Any, join: Any, value: Any, line: Any) -> Any:
            return self.larger(so_far, line if join is None else join(value, line))

        return self.combine(vector, matrix, float("-inf"), self.builder.fadd, pair)


class Widths:
    """Code for every width: spelled out for small ones, in blocks for large ones."""

    def __init__(self, builder: Any, width: Any) -> None:
        self.builder, self.width = builder, width

    def run(self, small: Callable[[States], None], large: Callable[[], None]) -> None:
        """`small` on all states at once, or `large`."""
        builder = self.builder
        done = builder.append_basic_block("done")
        choice = builder.switch(self.width, wide := builder.append_basic_block("wide"))
        for lanes, count in SMALL:
            size = ir.Constant(LONG, lanes * count)
            choice.add_case(size, here := builder.append_basic_block("width"))
            builder.position_at_end(here)
            small(States(builder, size, lanes, count, ir.Constant(LONG, 0)))
            builder.branch(done)
        builder.position_at_end(wide)
        large()
        builder.branch(done)
        builder.position_at_end(done)

    def blocks(self, step: Callable[[States], object]) -> None:
        """`step` on one block of states after the other."""
        zero, block = ir.Constant(LONG, 0), ir.Constant(LONG, LARGEST * REGISTER)
        with cgutils.for_range_slice(self.builder, zero, self.width, block, intp=LONG) as (first, _):
            step(States(self.builder, self.width, REGISTER, LARGEST, first))

    def each(self, step: Callable[[States], None]) -> None:
        """`step` on all states, whatever the width."""
        self.run(step, lambda: self.blocks(step))


class Cell:
    """A number that blocks of states add up, or join, one after the other."""

    def __init__(self, builder: Any, value: Any, join: Callable[[Any, Any], Any]) -> None:
        self.builder, self.join = builder, join
        self.place = cgutils.alloca_once(builder, value.type)
        builder.store(value, self.place)

    def add(self, value: Any) -> None:
        """Join one more."""
        self.builder.store(self.join(self.value(), value), self.place)

    def value(self) -> Any:
        """What has come together."""
        return self.builder.load(self.place)
