"""exp and log as polynomials that compilers turn into vector instructions.

A call into the maths library handles one number at a time; these handle four or eight. Both follow the classic
recipe: split off the power of two by its bits, then a short series for the rest. Errors stay within two units in the
last place over the ranges the kernels use.

They are spelled out as instructions (`unveil.numerics.vectors`), on single numbers: a compiler that has to find the
type of every one of their fifty operations, wherever they are called, takes a good part of a second for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from unveil.numerics.vectors import Code, Value, vector_code

ROUNDER = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer and leaves that integer in the low bits
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # their sum is ln 2 to 33 + 53 bits
C2, C3, C4, C5, C6, C7 = (1.0 / math.factorial(n) for n in range(2, 8))
C8, C9, C10, C11, C12, C13 = (1.0 / math.factorial(n) for n in range(8, 14))
ONE_BITS = np.int64(0x3FF0000000000000)
FRACTION_BITS = np.int64(0x000FFFFFFFFFFFFF)
WHOLE, WHOLE_BITS = 2.0**52, 0x4330000000000000  # a float whose low bits are those of the integer added to it


@intrinsic  # type: ignore[untyped-decorator]
def bits_of(typingctx: Any, value: Any) -> Any:
    """The 64 bits of a float, as an integer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def from_bits(typingctx: Any, value: Any) -> Any:
    """The float whose 64 bits are those of an integer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


@vector_code(types.float64)
def exp_nonpositive(code: Code, x: Value, cutoff: Value) -> Value:
    """exp(x) for x <= 0; 0 below `cutoff`, which is at least -708; NaN stays NaN."""
    shifted = x * LOG2_E + ROUNDER
    power = shifted - ROUNDER
    r = (x - power * LN2_HIGH) - power * LN2_LOW
    # the Taylor series to r**13, in Estrin's order: short chains of dependent operations
    r2 = r * r
    r4 = r2 * r2
    low = ((1.0 + r) + r2 * (C2 + C3 * r)) + r4 * ((C4 + C5 * r) + r2 * (C6 + C7 * r))
    high = ((C8 + C9 * r) + r2 * (C10 + C11 * r)) + r4 * (C12 + C13 * r)
    series = low + (r4 * r4) * high
    value = series * ((shifted.bits() << 52) + int(ONE_BITS)).floats()
    return (x < cutoff).choose(code.number(0.0), value)


@vector_code(types.float64)
def log_positive(code: Code, x: Value) -> Value:
    """log(x) for normal x > 0; NaN stays NaN."""
    bits = x.bits()
    fraction = ((bits & int(FRACTION_BITS)) | int(ONE_BITS)).floats()
    large = fraction > 1.4142135623730951
    fraction = large.choose(0.5 * fraction, fraction)
    # the exponent as a float, without an integer-to-float conversion, which does not vectorise everywhere
    exponent = ((bits >> 52) | WHOLE_BITS).floats() - WHOLE - large.choose(x.constant(1022.0), 1023.0)
    ratio = (fraction - 1.0) / (fraction + 1.0)
    square = ratio * ratio
    series = code.number(1.0 / 21.0)
    for divisor in range(19, 1, -2):
        series = series * square + 1.0 / divisor
    tail = 2.0 * ratio * square * series
    value = exponent * LN2_HIGH + (2.0 * ratio + (tail + exponent * LN2_LOW))
    return x.equals(x).choose(value, x)
