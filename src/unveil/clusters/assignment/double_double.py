"""Sums of twice the precision: a number is kept as high + low, of which `low` is what `high` had to round away.

Additions and products of two floats are split without error into what fits and what is left (Knuth; Dekker 1971), so
that a sum of many terms, rounded once at the end, does not depend on their order: only where the exact sum lies within
some 1e-30 of the middle between two floats could it. Every operation must round by itself: use in strict kernels.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from unveil.numerics.jit import strict


@intrinsic  # type: ignore[untyped-decorator]
def fused(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@strict
def product(a: float, b: float) -> Any:
    """a * b as a float and what it had to round away."""
    high = a * b
    return high, fused(a, b, -high)


@strict
def add(high: float, low: float, more: float, less: float) -> Any:
    """(high + low) + (more + less), where `less` is small against `more`."""
    total = high + more
    gone = total - high
    rest = ((high - (total - gone)) + (more - gone)) + (low + less)
    return total + rest, rest - ((total + rest) - total)


@strict
def lacking(high: float, low: float, quotient: float, divisor: float, divisor_low: float) -> float:
    """(high + low) - quotient * (divisor + divisor_low): what a rounded quotient lacks, times the divisor."""
    taken, lost = product(quotient, divisor)
    return ((high - taken) - lost) + (low - quotient * divisor_low)
