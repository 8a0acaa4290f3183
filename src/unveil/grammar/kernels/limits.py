"""Charts kept to some spans: which symbols a span may have, and which chains of symbols.

For each span of a limited sentence `allowed` says which symbols may be its base and which its top. Its `kind` says
which chains lead from base to top: all of them (FREE), those within some symbols (INNER, a closure of its own), or
those through given symbols, whose sum is an outer product: inside = rise (fall . base). What the chains of such spans
count is the derivative by rise, fall and the inner closure, from which models find the derivative by the closure.

`work` has vectors of eight spans at `base`, `top`, `out`, `aside` and `lower`, one for each symbol. Kernels that are
given no limits are compiled without all this.
"""

from __future__ import annotations

import math

from unveil.core.arrays import Floats
from unveil.grammar.kernels.layout import FREE, INNER, Limits
from unveil.numerics.jit import inlined, part


@inlined
def spans_before(n: int, length: int) -> int:
    """How many spans of a sentence of n words are shorter than `length`."""
    return (length - 1) * n - (length - 1) * (length - 2) // 2


@part
def forbid(held: bool, limits: Limits, numbered: int, count: int, values: Floats, at: int, nothing: float) -> None:
    """Set to `nothing` what is not allowed; for `count` spans from number `numbered` on, if they are held to limits."""
    for lane in range(count if held else 0):
        for symbol in range(limits.allowed.shape[1]):
            if not limits.allowed[numbered + lane, symbol]:
                values[at + symbol * 8 + lane] = nothing


@part
def chain_weight(limits: Limits | None, number: int, closure: Floats, top: int, base: int) -> float:
    """Weight of the chains from top to base at a span of this number (-1: without limits)."""
    if limits is None:
        return closure[top, base]
    kind = limits.kinds[number] if number >= 0 else FREE
    if kind == FREE:
        return closure[top, base]
    if kind == INNER:
        return limits.chains[len(limits.chains) - limits.chains.shape[1] + top, base]
    return limits.chains[2 * kind, top] * limits.chains[2 * kind + 1, base]


@part
def limit_tops(
    held: bool, limits: Limits, numbered: int, count: int, work: Floats, base: int, top: int, best: bool | None
) -> None:
    """The inside values of spans with chains of their own; the largest if `best` is not None."""
    n, chains = limits.allowed.shape[1], limits.chains
    for lane in range(count if held else 0):
        kind = limits.kinds[numbered + lane]
        if best is not None:
            _limit_best(limits, kind, work, base + lane, top + lane)
        elif kind >= 0:
            value = 0.0
            for symbol in range(n):
                value += chains[2 * kind + 1, symbol] * work[base + symbol * 8 + lane]
            for symbol in range(n):
                work[top + symbol * 8 + lane] = chains[2 * kind, symbol] * value
        elif kind == INNER:
            for above in range(n):
                value = 0.0
                for symbol in range(n):
                    value += chains[len(chains) - n + above, symbol] * work[base + symbol * 8 + lane]
                work[top + above * 8 + lane] = value


@part
def _limit_best(limits: Limits, kind: int, work: Floats, base: int, top: int) -> None:
    n = limits.allowed.shape[1]
    for above in range(n if kind != FREE else 0):
        best = -math.inf
        for symbol in range(n):
            best = max(best, chain_of(limits, kind, above, symbol) + work[base + symbol * 8])
        work[top + above * 8] = best


@part
def chain_of(limits: Limits, kind: int, top: int, base: int) -> float:
    """Weight of the chains of a kind that is not FREE, where weights are logarithms."""
    if kind < 0:
        return limits.chains[len(limits.chains) - limits.chains.shape[1] + top, base]
    return limits.chains[2 * kind, top] + limits.chains[2 * kind + 1, base]


@part
def hold_outs(held: bool, limits: Limits, numbered: int, count: int, work: Floats, out: int, aside: int) -> None:
    """Set aside the outside values of spans with chains of their own."""
    forbid(held, limits, numbered, count, work, out, 0.0)
    for lane in range(count if held else 0):
        for symbol in range(limits.allowed.shape[1]):
            place = symbol * 8 + lane
            work[aside + place] = 0.0
            if limits.kinds[numbered + lane] != FREE:
                work[aside + place] = work[out + place]
                work[out + place] = 0.0


@part
def lower_held(
    held: bool, limits: Limits, numbered: int, count: int, work: Floats, base: int, aside: int, lower: int
) -> None:
    """Pass what was set aside down through its own chains, with its derivatives; and 0 for what is not allowed."""
    n, chains, slopes = limits.allowed.shape[1], limits.chains, limits.slopes
    for lane in range(count if held else 0):
        kind = limits.kinds[numbered + lane]
        if kind >= 0:
            out = below = 0.0
            for symbol in range(n):
                out += chains[2 * kind, symbol] * work[aside + symbol * 8 + lane]
                below += chains[2 * kind + 1, symbol] * work[base + symbol * 8 + lane]
            for symbol in range(n):
                work[lower + symbol * 8 + lane] = chains[2 * kind + 1, symbol] * out
                slopes[2 * kind, symbol] += work[aside + symbol * 8 + lane] * below
                slopes[2 * kind + 1, symbol] += out * work[base + symbol * 8 + lane]
        elif kind == INNER:
            for symbol in range(n):
                value = 0.0
                for top in range(n):
                    row = len(chains) - n + top
                    value += chains[row, symbol] * work[aside + top * 8 + lane]
                    slopes[row, symbol] += work[aside + top * 8 + lane] * work[base + symbol * 8 + lane]
                work[lower + symbol * 8 + lane] = value
    forbid(held, limits, numbered, count, work, lower, 0.0)


@part
def clear_slopes(limits: Limits) -> None:
    """Before a sentence."""
    for row in range(len(limits.slopes)):
        for symbol in range(limits.slopes.shape[1]):
            limits.slopes[row, symbol] = 0.0


@part
def merge_slopes(limits: Limits, first_span: int, weight: float) -> None:
    """After a sentence, if it was held to limits."""
    for row in range(len(limits.slopes) if first_span >= 0 else 0):
        for symbol in range(limits.slopes.shape[1]):
            limits.totals[row, symbol] += weight * limits.slopes[row, symbol]
