"""The charts of one sentence as plain arrays [first, last, symbol]."""

from __future__ import annotations

import math

from unveil.core.arrays import Floats, Integers
from unveil.grammar.kernels.inside_outside import fill_inside, inside_of, lower_of, outside_of
from unveil.grammar.kernels.layout import LANES, Limits, PackedGrammar
from unveil.grammar.kernels.limits import spans_before
from unveil.grammar.kernels.vector_loops import added, measure
from unveil.grammar.kernels.whole import is_whole
from unveil.grammar.kernels.workspace import FINE, LARGEST_INSIDE, LARGEST_OUTSIDE, LOST, Space
from unveil.numerics.jit import kernel


@kernel
def dense_charts(
    packed: PackedGrammar, limits: Limits | None, first_span: int, space: Space, words: Integers,
    inside: Floats, ends: Floats, lower: Floats,
) -> int:  # fmt: skip
    """Fill in inside values, the larger posterior of a symbol as top and as base, and outside values of bases.

    Scaled, and over the probability of the sentence, such that inside * lower is a posterior. Returns the status of the
    sentence; charts are of use if that is FINE.
    """
    n, stride = len(words), measure(len(words), space.starts)
    status, root, _, _ = fill_inside(packed, limits, first_span, words, space, 0.0)
    if status != FINE:
        return status
    if not outside_of(packed, limits, first_span, n, space, 1.0 / root) < LARGEST_OUTSIDE:
        return LOST
    for length in range(1, n + 1):
        for first in range(0, n - length + 1, LANES):
            lower_of(packed, limits, first_span, n, length, first, stride, space)
            for lane in range(min(LANES, n - length + 1 - first)):
                at, origin = first + lane, space.starts[length] + first + lane
                allowed = first_span + spans_before(n, length) + at
                for symbol in range(packed.n_symbols):
                    place = symbol * stride + origin
                    if limits is not None:  # noqa: SIM102  the compiler leaves out what hangs on this alone
                        if first_span >= 0 and not limits.allowed[allowed, symbol]:
                            continue
                    inside[at, at + length, symbol] = space.work[space.inside + place]
                    below = space.work[space.lower + symbol * LANES + lane]
                    lower[at, at + length, symbol] = below
                    top = space.work[space.outside + place] * space.work[space.inside + place]
                    ends[at, at + length, symbol] = max(top, below * space.work[space.bases + place])
    return status


@kernel
def log_values(packed: PackedGrammar, limits: Limits | None, space: Space, words: Integers, inside: Floats) -> bool:
    """Fill in the logarithms of all inside values; returns False if some may have been lost for being small."""
    inside_of(packed, limits, -1, words, space, 0.0, None)
    n, stride = len(words), measure(len(words), space.starts)
    size = packed.n_symbols * stride
    if not (added(space.work, space.inside, size) < LARGEST_INSIDE and is_whole(packed, space, size)):
        return False
    for length in range(1, n + 1):
        for first in range(n - length + 1):
            power = math.log(2.0) * (space.scale[first + length] - space.scale[first])
            for symbol in range(packed.n_symbols):
                value = space.work[space.inside + symbol * stride + space.starts[length] + first]
                if value > 0.0:
                    inside[first, first + length, symbol] = math.log(value) - power
    return True
