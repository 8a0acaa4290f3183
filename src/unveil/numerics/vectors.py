"""Vector code: functions of kernels that are spelled out as operations on vectors.

Numba vectorises a loop only where it can tell that nothing overlaps, which it cannot within one array, and keeps no
sums of vectors in registers from one turn of a loop to the next. A function under `vector_code` is run once, while a
kernel that calls it is compiled: its arguments are `Value` and `Flat`, and each operation on them adds an instruction
to the kernel. A loop of Python is so unrolled; a loop of the kernel is ``with code.loop(...)``.

    @vector_code()
    def scale(code: Code, values: Flat, count: Value, factor: Value) -> None:
        with code.loop(0, count, 8) as at:
            values.store(at, values.load(at, 8) * factor)

Every target of LLVM knows these vectors, of any length: two or four registers stand for one where they are shorter.
Operations are fused where the flags of the kernel allow it. What this gains over plain loops is measured by
``benchmarks/vectors.py`` and said where it is used; where that is less than half as much again, loops are plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

REGISTER = 64  # bytes of the longest vectors that processors have
BIT, WORD, LONG, NUMBER = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.DoubleType()
Joining = Callable[["Value", "Value"], "Value"]


class Value:
    """A number or a vector of a kernel. Next to a vector, a number stands for the same in every lane."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value
        self.lanes: int = value.type.count if isinstance(value.type, ir.VectorType) else 0
        self.element = value.type.element if self.lanes else value.type
        self.whole = isinstance(self.element, ir.IntType)

    def splat(self, lanes: int) -> Value:
        """The same number in every lane."""
        empty = ir.Constant(ir.VectorType(self.element, lanes), ir.Undefined)
        one = self.builder.insert_element(empty, self.value, ir.Constant(WORD, 0))
        return Value(self.builder, one).shuffle([0] * lanes)

    def shuffle(self, lanes: list[int], other: Value | None = None) -> Value:
        """Some lanes, in this order; those of another vector are numbered after these."""
        order = ir.Constant(ir.VectorType(WORD, len(lanes)), lanes)
        second = self.value if other is None else other.value
        return Value(self.builder, self.builder.shuffle_vector(self.value, second, order))

    def constant(self, number: float) -> Value:
        """A number known beforehand, of this kind."""
        return Value(self.builder, ir.Constant(self.value.type, [number] * self.lanes if self.lanes else number))

    def _pair(self, other: Value | float) -> tuple[Any, Any]:
        if not isinstance(other, Value):
            other = self.constant(other)
        lanes = max(self.lanes, other.lanes)
        return tuple(one.value if one.lanes == lanes else one.splat(lanes).value for one in (self, other))

    def _join(self, whole: str, other: Value | float, turned: bool = False) -> Value:
        a, b = self._pair(other)
        build = getattr(self.builder, whole if self.whole else f"f{whole}")
        return Value(self.builder, build(b, a) if turned else build(a, b))

    def __add__(self, other: Value | float) -> Value:
        return self._join("add", other)

    def __sub__(self, other: Value | float) -> Value:
        return self._join("sub", other)

    def __mul__(self, other: Value | float) -> Value:
        return self._join("mul", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._join("div", other)

    def __rsub__(self, other: float) -> Value:
        return self._join("sub", other, turned=True)

    def __rtruediv__(self, other: float) -> Value:
        return self._join("div", other, turned=True)

    __radd__, __rmul__ = __add__, __mul__

    def __and__(self, other: Value | int) -> Value:
        return Value(self.builder, self.builder.and_(*self._pair(other)))

    def __or__(self, other: Value | int) -> Value:
        return Value(self.builder, self.builder.or_(*self._pair(other)))

    def __lshift__(self, other: int) -> Value:
        return Value(self.builder, self.builder.shl(*self._pair(other)))

    def __rshift__(self, other: int) -> Value:
        return Value(self.builder, self.builder.lshr(*self._pair(other)))

    def _compare(self, sign: str, other: Value | float) -> Value:
        compare = self.builder.icmp_signed if self.whole else self.builder.fcmp_ordered
        return Value(self.builder, compare(sign, *self._pair(other)))

    def __lt__(self, other: Value | float) -> Value:
        return self._compare("<", other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compare(">", other)

    def equals(self, other: Value | float) -> Value:
        """Where two are the same."""
        return self._compare("==", other)

    def choose(self, one: Value, other: Value | float) -> Value:
        """`one` where this is true, `other` elsewhere."""
        if self.lanes > one.lanes:
            one = one.splat(self.lanes)
        return Value(self.builder, self.builder.select(self.value, *one._pair(other)))

    def smaller(self, other: Value | float) -> Value:
        """The smaller in each lane; `other` where they are equal."""
        return (self < other).choose(self, other)

    def larger(self, other: Value | float) -> Value:
        """The larger in each lane; `other` where they are equal."""
        return (self > other).choose(self, other)

    def lane(self, number: int) -> Value:
        """One number of a vector."""
        return Value(self.builder, self.builder.extract_element(self.value, ir.Constant(WORD, number)))

    def tile(self, times: int) -> Value:
        """A vector so many times, one after the other."""
        return self.shuffle(list(range(self.lanes)) * times)

    def fold(self, join: Joining) -> Value:
        """All lanes to one: pairs of neighbouring registers first, then halves."""
        vector, register = self, REGISTER * 8 // self.element.width if self.whole else REGISTER // 8
        while vector.lanes > register:
            even = [lane for lane in range(vector.lanes) if lane // register % 2 == 0]
            vector = join(vector.shuffle(even), vector.shuffle([lane + register for lane in even]))
        while vector.lanes > 1:
            half = vector.lanes // 2
            vector = join(vector.shuffle(list(range(half))), vector.shuffle(list(range(half, 2 * half))))
        return vector.lane(0)

    def bits(self) -> Value:
        """A mask as a whole number, the first lane its lowest bit; floats as whole numbers of their bits."""
        if self.element == BIT:
            joint = self.builder.bitcast(self.value, ir.IntType(self.lanes))
            return Value(self.builder, self.builder.zext(joint, LONG))
        return self._as(LONG)

    def floats(self) -> Value:
        """The floats of these bits."""
        return self._as(NUMBER)

    def _as(self, element: Any) -> Value:
        kind = ir.VectorType(element, self.lanes) if self.lanes else element
        return Value(self.builder, self.builder.bitcast(self.value, kind))

    def any(self) -> Value:
        """Whether a mask is up in any lane."""
        joint = self.builder.bitcast(self.value, kind := ir.IntType(self.lanes))
        return Value(self.builder, self.builder.icmp_unsigned("!=", joint, ir.Constant(kind, 0)))

    def first(self) -> Value:
        """The first lane in which a mask is up; -1 if none is."""
        bits = self.bits()
        place = Value(self.builder, self.builder.cttz(bits.value, ir.Constant(BIT, 0)))
        return bits.equals(0).choose(bits.constant(-1), place)

    def word(self) -> Value:
        """As a whole number of 32 bits."""
        return Value(self.builder, self.builder.trunc(self.value, WORD))

    def long(self) -> Value:
        """As a whole number of 64 bits."""
        return Value(self.builder, self.builder.sext(self.value, LONG))

    def double(self) -> Value:
        """As floats of 64 bits."""
        kind = ir.VectorType(NUMBER, self.lanes) if self.lanes else NUMBER
        return self if self.element == NUMBER else Value(self.builder, self.builder.fpext(self.value, kind))

    def log(self) -> Value:
        """The logarithm of a float, by the maths library."""
        return self._by_library("llvm.log.f64")

    def root(self) -> Value:
        """The square root of a float."""
        return self._by_library("llvm.sqrt.f64")

    def _by_library(self, name: str) -> Value:
        function = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(NUMBER, [NUMBER]), name)
        return Value(self.builder, self.builder.call(function, [self.value]))

    def real(self) -> Value:
        """A whole number as a float of 64 bits."""
        return Value(self.builder, self.builder.sitofp(self.value, NUMBER))

    def fused(self, other: Value, third: Value) -> Value:
        """This times the other plus the third, rounded once."""
        return Value(self.builder, self.builder.fma(self.value, other.value, third.value))


class Flat:
    """A flat array of a kernel, or what is left of it from some place on. No place is checked."""

    def __init__(self, builder: Any, pointer: Any, length: Value) -> None:
        self.builder, self.pointer, self.length = builder, pointer, length
        self.element = pointer.type.pointee
        self.lanes = REGISTER * 8 // (64 if self.element in (NUMBER, LONG) else 32)  # of a register

    def _at(self, place: Value | int, lanes: int = 0) -> Any:
        at = place.value if isinstance(place, Value) else ir.Constant(LONG, place)
        pointer = self.builder.gep(self.pointer, [at])
        return self.builder.bitcast(pointer, ir.VectorType(self.element, lanes).as_pointer()) if lanes else pointer

    def __getitem__(self, place: Value | int) -> Value:
        return Value(self.builder, self.builder.load(self._at(place)))

    def after(self, place: Value | int) -> Flat:
        """The array from a place on."""
        return Flat(self.builder, self._at(place), self.length)

    def full(self, number: float, lanes: int) -> Value:
        """A vector of one number, of the kind of this array."""
        return Value(self.builder, ir.Constant(ir.VectorType(self.element, lanes), [number] * lanes))

    def load(self, place: Value | int, lanes: int) -> Value:
        """The vector that begins at a place."""
        return Value(self.builder, self.builder.load(self._at(place, lanes), align=4))

    def store(self, place: Value | int, vector: Value) -> None:
        """Write a vector, or a number."""
        if vector.lanes:
            self.builder.store(vector.value, self._at(place, vector.lanes), align=4)
        else:
            self.builder.store(vector.value, self._at(place))

    def load_some(self, place: Value | int, count: Value, otherwise: float, lanes: int) -> Value:
        """The first `count` lanes of a vector of float64, and a number in the others."""
        rest, result = self.full(otherwise, lanes).value, ir.VectorType(NUMBER, lanes)
        taken = self._at(place, lanes), ir.Constant(WORD, 8), _below(count, lanes), rest
        return Value(self.builder, self._masked("load", result, lanes, *taken))

    def store_some(self, place: Value | int, count: Value, vector: Value) -> None:
        """Write the first `count` lanes of a vector of float64."""
        to, lanes = self._at(place, vector.lanes), vector.lanes
        self._masked("store", ir.VoidType(), lanes, vector.value, to, ir.Constant(WORD, 8), _below(count, lanes))

    def _masked(self, verb: str, result: Any, lanes: int, *arguments: Any) -> Any:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        name = f"llvm.masked.{verb}.v{lanes}f64.p0v{lanes}f64"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), arguments)


def _below(count: Value, lanes: int) -> Any:
    """Which lanes have a number below `count`."""
    numbers = ir.Constant(ir.VectorType(LONG, lanes), list(range(lanes)))
    return (Value(count.builder, numbers) < count).value


class Variable:
    """What changes in a loop, in a register."""

    def __init__(self, value: Value) -> None:
        self.builder, self.place = value.builder, cgutils.alloca_once(value.builder, value.value.type)
        self.set(value)

    def set(self, value: Value) -> None:
        """Take another value."""
        self.builder.store(value.value, self.place)

    @property
    def value(self) -> Value:
        """The value of now."""
        return Value(self.builder, self.builder.load(self.place))


class Code:
    """The kernel that is being compiled."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def number(self, value: float) -> Value:
        """A float, or an integer, known beforehand."""
        return Value(self.builder, ir.Constant(LONG if isinstance(value, int) else NUMBER, value))

    def truth(self, value: bool) -> Value:
        """True or false."""
        return Value(self.builder, ir.Constant(BIT, int(value)))

    @contextmanager
    def loop(self, begin: Value | int, end: Value | int, step: int = 1) -> Iterator[Value]:
        """begin, begin + step ... below end."""
        bounds = (place.value if isinstance(place, Value) else ir.Constant(LONG, place) for place in (begin, end))
        with cgutils.for_range_slice(self.builder, *bounds, ir.Constant(LONG, step), intp=LONG) as (index, _):
            yield Value(self.builder, index)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """What is done only where a condition holds."""
        with self.builder.if_then(condition.value):
            yield

    def switch(
        self, value: Value, known: Iterable[int], case: Callable[[int], None], otherwise: Callable[[], None]
    ) -> None:
        """Code of its own for each known number that a value may be, or else what is done otherwise."""
        builder = self.builder
        done = builder.append_basic_block("done")
        choice = builder.switch(value.value, last := builder.append_basic_block("otherwise"))
        for number in known:
            choice.add_case(ir.Constant(LONG, number), here := builder.append_basic_block("case"))
            builder.position_at_end(here)
            case(number)
            builder.branch(done)
        builder.position_at_end(last)
        otherwise()
        builder.branch(done)
        builder.position_at_end(done)


def vector_code(returns: Any = types.void) -> Callable[[Callable[..., Any]], Any]:
    """Turn a function that spells out code into one that kernels call with flat arrays, integers and floats.

    Named tuples of these are taken as well, and are such tuples to what is spelled out.
    It returns nothing, a `Value`, or several in a tuple, of the types given.
    """

    def decorate(spell: Callable[..., Any]) -> Any:
        def generate(context: Any, builder: Any, types_of: Any, args: Any) -> Any:
            found = spell(Code(builder), *map(_argument(context, builder), types_of.args, args))
            if found is None:
                return context.get_dummy_value()
            if isinstance(found, Value):
                return found.value
            return context.make_tuple(builder, types_of.return_type, [value.value for value in found])

        def typed(typingctx: Any, *args: Any) -> Any:
            return returns(*map(_kind, args)), generate

        typed.__name__, typed.__doc__ = spell.__name__, spell.__doc__
        typed.__signature__ = signature(spell)  # type: ignore[attr-defined]  # numba asks how many arguments there are
        made = intrinsic(typed)
        made.spell = spell  # for other vector code, which it becomes part of
        return made

    return decorate


def _kind(given: Any) -> Any:
    """What an argument is cast to."""
    if isinstance(given, types.Array) and given.ndim > 1 and given.layout != "C":
        raise TypeError(f"vector code takes tables line after line, got {given}.")
    if isinstance(given, (types.Array, types.BaseTuple)):
        return given
    return types.float64 if isinstance(given, types.Float) else types.intp


def _argument(context: Any, builder: Any) -> Callable[[Any, Any], Any]:
    def wrap(kind: Any, value: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            parts = map(wrap, kind, cgutils.unpack_tuple(builder, value))
            return kind.instance_class(*parts) if isinstance(kind, types.BaseNamedTuple) else tuple(parts)
        if not isinstance(kind, types.Array):
            return Value(builder, value)
        array = context.make_array(kind)(context, builder, value)
        return Flat(builder, array.data, Value(builder, cgutils.unpack_tuple(builder, array.shape)[0]))

    return wrap
