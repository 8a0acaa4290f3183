"""What vector code gains over plain loops of Numba: ``python -m benchmarks.vectors``.

Each function under `unveil.numerics.vectors.vector_code` races the loop that one would write in its place, compiled
with the same flags, on sizes other than those of the benchmarks (odd numbers of states, symbols and centres). Both
run many times on the same arrays, in turns; the shortest time counts. Both must agree to 1e-12.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np

from unveil.chains.kernels import vector_steps
from unveil.clusters.assignment import nearest
from unveil.grammar.kernels import vector_loops
from unveil.grammar.kernels.layout import PLACE
from unveil.numerics.exp_log import exp_nonpositive
from unveil.numerics.jit import kernel

CALLS, TURNS = 1000, 20
READERS = ("added", "locate")  # write nothing
FLOOR, CUTOFF = vector_steps.EMISSION_FLOOR, vector_steps.EMISSION_CUTOFF
LOST, CEILING, PLACES = vector_steps.LOST_SHARE, vector_steps.FUTURE_CEILING, (1 << PLACE) - 1


@kernel
def expose(scores, at, k, width, out, to):
    row, into, peak = scores[at : at + k], out[to : to + width], -np.inf
    for j in range(k):
        peak = max(peak, row[j])
    base = peak if peak > -np.inf else 0.0
    for j in range(k):
        gap = row[j] - base
        into[j] = max(exp_nonpositive(gap, CUTOFF), FLOOR) if gap > -np.inf else 0.0
    into[k:] = 0.0
    return peak


@kernel
def _product(vector, at, matrix, width):
    start, sums = vector[at : at + width], np.zeros(width)
    for i in range(width):
        x, line = start[i], matrix[i * width : (i + 1) * width]
        for j in range(width):
            sums[j] += x * line[j]
    return sums


@kernel
def push(vector, at, matrix, width, emissions, place, scale, out, to):
    reached, factors = _product(vector, at, matrix, width), emissions[place : place + width]
    into, total, lost = out[to : to + width], 0.0, False
    for j in range(width):
        value = reached[j] * (factors[j] * scale)
        lost |= (value < LOST) & (reached[j] > 0.0) & (factors[j] > 0.0)
        into[j] = 0.0 if value < LOST else value
        total += into[j]
    return total, lost


@kernel
def pull(ahead, at, matrix, width, shares, share, emissions, place, scale, out, row, k, to):
    future, factors, own = _product(ahead, at, matrix, width), emissions[place : place + width], shares[share:]
    into, posterior = ahead[to : to + width], out[row : row + k]
    for j in range(width):
        into[j] = min(future[j] * (factors[j] * scale), CEILING)
    for j in range(k):
        posterior[j] = future[j] * own[j]


@kernel
def relax(reach, matrix, width, ones, scores, k, at, row):
    start, into, own = reach[at : at + width], reach[at + width : at + 2 * width], scores[row : row + k]
    into[:] = -np.inf
    for i in range(k):
        x, line = start[i], matrix[i * width : (i + 1) * width]
        for j in range(k):
            into[j] = max(into[j], x + line[j])
    for j in range(k):
        into[j] += own[j]


@kernel
def add_outer(left, at, right, place, steps, width, out):
    for t in range(0, steps * width, width):
        one, other = left[at + t : at + t + width], right[place + t : place + t + width]
        for i in range(width):
            x, line = one[i], out[i * width : (i + 1) * width]
            for j in range(width):
                line[j] += x * other[j]


@kernel
def locate(reach, at, matrix, place, width):
    one, other, best, found = reach[at : at + width], matrix[place : place + width], -np.inf, -1
    for j in range(width):
        if one[j] + other[j] > best:
            best, found = one[j] + other[j], j
    return found


@kernel
def two_nearest(rows, begin, columns, centres, norms, first, second, where, out):
    lanes = 64 // rows.itemsize
    low, high, which, total = first[out:], second[out:], where[out:], np.empty(lanes, rows.dtype)
    low[:lanes], high[:lanes], which[:lanes] = np.inf, np.inf, 0
    for c in range(len(norms)):
        total[:] = norms[c]
        for j in range(columns):
            x, coordinate = rows[begin + j * lanes :], centres[c // 8 * 8 * columns + j * 8 + c % 8]
            for lane in range(lanes):
                total[lane] += x[lane] * coordinate
        for lane in range(lanes):
            less = total[lane] < low[lane]
            high[lane] = min(high[lane], low[lane] if less else total[lane])
            which[lane] = c if less else which[lane]
            low[lane] = total[lane] if less else low[lane]


@kernel
def nearest_listed(rows, begin, columns, centres, listed, first, last, where, out):
    low, which, total = np.full(8, np.inf), where[out:], np.empty(8)
    which[:8] = 0
    for p in range(first, last):
        total[:] = 0.0
        for j in range(columns):
            x, coordinate = rows[begin + j * 8 :], centres[listed[p] * columns + j]
            for lane in range(8):
                total[lane] += (x[lane] - coordinate) * (x[lane] - coordinate)
        for lane in range(8):
            which[lane] = listed[p] if total[lane] < low[lane] else which[lane]
            low[lane] = min(total[lane], low[lane])


@kernel
def copy(work, count, source, step, target, other_step):
    for n in range(count):
        one, other = work[source + n * step :], work[target + n * other_step :]
        for lane in range(8):
            other[lane] = one[lane]


@kernel
def added(work, begin, count):
    total, part = np.zeros(8), work[begin : begin + count]
    for n in range(0, count, 8):
        for lane in range(8):
            total[lane] += part[n + lane]
    return total.sum()


@kernel
def keep(work, numbers, symbols, count, source, target):
    for n in range(symbols, symbols + count):
        one, other = work[source + 8 * numbers[n] :], work[target + 8 * numbers[n] :]
        for lane in range(8):
            other[lane] = one[lane]


@kernel
def take_right(work, numbers, starts, chart, symbols, packed, stride, whole, first, low, high):
    for length in range(low, high + 1):
        place = chart + starts[whole - length] + first + length
        for k in range(4):
            one, other = work[place + numbers[symbols + k] * stride :], work[packed + (length - low) * 32 + k * 8 :]
            for lane in range(8):
                other[lane] = one[lane]


@kernel
def give_right(work, numbers, starts, chart, symbols, packed, stride, whole, first, low, high):
    for length in range(low, high + 1):
        place = chart + starts[whole - length] + first + length
        for k in range(4):
            one, other = work[place + numbers[symbols + k] * stride :], work[packed + (length - low) * 32 + k * 8 :]
            for lane in range(8):
                one[lane] += other[lane]


@kernel
def products(work, left, right, out, count):
    total = np.zeros((4, 4, 8))
    for split in range(0, count * 32, 32):
        one, other = work[left + split :], work[right + split :]
        for b in range(4):
            for c in range(4):
                for lane in range(8):
                    total[b, c, lane] += one[b * 8 + lane] * other[c * 8 + lane]
    work[out : out + 128] = total.ravel()


@kernel
def best_products(work, left, right, out, count):
    total = np.full((4, 4, 8), -np.inf)
    for split in range(0, count * 32, 32):
        one, other = work[left + split :], work[right + split :]
        for b in range(4):
            for c in range(4):
                for lane in range(8):
                    total[b, c, lane] = max(total[b, c, lane], one[b * 8 + lane] + other[c * 8 + lane])
    work[out : out + 128] = total.ravel()


@kernel
def spread(work, slopes, left, right, left_out, right_out, count):
    slope = work[slopes : slopes + 128]
    for split in range(0, count * 32, 32):
        one, other = work[left + split :], work[right + split :]
        one_out, other_out = work[left_out + split :], work[right_out + split :]
        for b in range(4):
            for c in range(4):
                for lane in range(8):
                    one_out[b * 8 + lane] += slope[(b * 4 + c) * 8 + lane] * other[c * 8 + lane]
        for b in range(4):
            for c in range(4):
                for lane in range(8):
                    other_out[c * 8 + lane] += slope[(b * 4 + c) * 8 + lane] * one[b * 8 + lane]


@kernel
def apply(work, numbers, values, source, pairs, weights, result, begin, end):
    for n in range(begin, end):
        both, weight = numbers[pairs + n], values[weights + n]
        one, other = work[source + (both & PLACES) :], work[result + (both >> PLACE) :]
        for lane in range(8):
            other[lane] += weight * one[lane]


@kernel
def best_apply(work, numbers, values, source, pairs, weights, result, begin, end):
    for n in range(begin, end):
        both, weight = numbers[pairs + n], values[weights + n]
        one, other = work[source + (both & PLACES) :], work[result + (both >> PLACE) :]
        for lane in range(8):
            other[lane] = max(other[lane], weight + one[lane])


@kernel
def fold(work, numbers, values, source, pairs, weights, outs, slopes, counts, begin, end):
    for n in range(begin, end):
        both, weight = numbers[pairs + n], values[weights + n]
        out, value = work[outs + (both >> PLACE) :], work[source + (both & PLACES) :]
        count, slope = work[counts + 8 * n :], work[slopes + (both & PLACES) :]
        for lane in range(8):
            count[lane] += out[lane] * value[lane]
            slope[lane] += weight * out[lane]


class Case(NamedTuple):
    """Sizes, and what makes arguments of them."""

    module: Any
    name: str
    sizes: tuple[int, ...]
    make: Callable[[np.random.Generator], tuple[Any, ...]]


def _chain_cases(k: int) -> Iterator[Case]:
    w = vector_steps.padded(k)
    none = slice(k, None)

    def square(random: Any) -> Any:
        matrix = random.random((w, w)) / w
        matrix[none], matrix[:, none] = 0.0, 0.0
        return matrix.ravel()

    def vector(random: Any) -> Any:
        values = random.random(4 * w)
        values[k:w] = 0.0
        return values

    def line(random: Any) -> Any:
        return random.random(w)

    def case(name: str, make: Callable[[Any], tuple[Any, ...]]) -> Case:
        return Case(vector_steps, name, (k,), make)

    yield case("expose", lambda r: (r.normal(size=k), 0, k, w, np.zeros(w), 0))
    yield case("push", lambda r: (vector(r), 0, square(r), w, line(r), 0, 1.0, np.zeros(w), 0))
    yield case("pull", lambda r: (vector(r), 0, square(r), w, line(r), 0, line(r), 0, 1.0, np.zeros(k), 0, k, w))
    yield case("relax", lambda r: (vector(r), square(r), w, np.ones(w), r.normal(size=k), k, 0, 0))
    yield case("add_outer", lambda r: (r.random(61 * w), 0, r.random(61 * w), 0, 61, w, np.zeros(w * w)))
    yield case("locate", lambda r: (vector(r), 0, square(r), 0, w))


def _centre_cases() -> Iterator[Case]:
    def rows(kind: Any, columns: int, k: int) -> Callable[[Any], tuple[Any, ...]]:
        lanes = 64 // np.dtype(kind).itemsize
        room = [np.zeros(lanes, kind), np.zeros(lanes, kind), np.zeros(lanes, np.int32)]

        def make(r: Any) -> tuple[Any, ...]:
            given = (r.normal(size=size).astype(kind) for size in (columns * lanes, k * columns, k))
            x, centres, norms = given
            return (x, 0, columns, centres, norms, *(part.copy() for part in room), 0)

        return make

    for columns, k in ((1, 8), (3, 24), (7, 40)):
        for kind in (np.float32, np.float64):
            yield Case(nearest, "two_nearest", (columns, k), rows(kind, columns, k))
    for columns, count in ((1, 3), (3, 5), (3, 11), (6, 7)):

        def listed(r: Any, columns: int = columns, count: int = count) -> tuple[Any, ...]:
            x, centres, order = r.normal(size=8 * columns), r.normal(size=40 * columns), np.sort(r.permutation(40))
            return x, 0, columns, centres, order.astype(np.int32), 0, count, np.zeros(8, np.int32), 0

        yield Case(nearest, "nearest_listed", (columns, count), listed)


def _chart_cases(n_symbols: int = 27) -> Iterator[Case]:
    def grammar(r: Any) -> tuple[Any, Any, Any]:
        numbers = np.zeros(600, np.int64)
        numbers[:n_symbols] = r.permutation(n_symbols)
        pairs = r.integers(0, n_symbols, (2, 400)) * 8
        numbers[100:500] = (pairs[0] << PLACE) | pairs[1]
        return r.random(40000), numbers, r.random(500)

    def case(name: str, sizes: tuple[int, ...], arrays: int, *places: int) -> Case:
        starts = np.arange(0, 30 * 24, 24)

        def make(r: Any) -> tuple[Any, ...]:
            work, numbers, values = grammar(r)
            third = starts if "right" in name else values
            return (*(work, numbers, third)[:arrays], *places)

        return Case(vector_loops, name, sizes, make)

    yield case("copy", (n_symbols,), 1, n_symbols, 0, 1000, 30000, 8)
    yield case("added", (n_symbols,), 1, 0, n_symbols * 8)
    yield case("keep", (n_symbols,), 2, 0, n_symbols, 0, 30000)
    for splits in (3, 6, 19):
        yield case("take_right", (splits,), 3, 0, 0, 35000, 1200, splits + 1, 3, 1, splits)
        yield case("give_right", (splits,), 3, 0, 0, 35000, 1200, splits + 1, 3, 1, splits)
        yield case("products", (splits,), 1, 30000, 33000, 36000, splits)
        yield case("best_products", (splits,), 1, 30000, 33000, 36000, splits)
        yield case("spread", (splits,), 1, 30000, 33000, 34000, 35000, 36000, splits)
    for entries in (13, 301):
        yield case("apply", (entries,), 3, 0, 100, 0, 30000, 0, entries)
        yield case("best_apply", (entries,), 3, 0, 100, 0, 30000, 0, entries)
        yield case("fold", (entries,), 3, 0, 100, 0, 30000, 31000, 32000, 0, entries)


def cases() -> Iterator[Case]:
    """All of them."""
    for k in (3, 5, 7, 12, 20, 33):
        yield from _chain_cases(k)
    yield from _centre_cases()
    yield from _chart_cases()


def _repeated(function: Any, count: int, returns: bool) -> Any:
    """A kernel that calls it again and again, so that the way from Python does not count."""
    into = "a0[-1] = " if returns else ""  # what writes nothing else would be called once
    names = ", ".join(f"a{n}" for n in range(count))
    room: dict[str, Any] = {"function": function}
    exec(
        f"def run(calls, {names}):\n    for _ in range(calls - 1):\n        {into}function({names})\n"
        f"    return function({names})",
        room,
    )
    return numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})(room["run"])


def race(case: Case, runs: tuple[Any, Any]) -> tuple[float, float]:
    """Seconds of vector code and of a plain loop."""
    given = [case.make(np.random.default_rng(0)) for _ in runs]
    found = [run(1, *arguments) for run, arguments in zip(runs, given, strict=True)]
    for one, other in zip((found[0], *given[0]), (found[1], *given[1]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12) if one is not None else None
    best = [np.inf, np.inf]
    for _ in range(TURNS):
        for n, run in enumerate(runs):
            begin = time.perf_counter()
            run(CALLS, *given[n])
            best[n] = min(best[n], (time.perf_counter() - begin) / CALLS)
    return best[0], best[1]


def main() -> None:
    """Print a line for each case."""
    compiled: dict[str, tuple[Any, Any]] = {}
    for case in cases():
        if case.name not in compiled:
            count = len(case.make(np.random.default_rng(0)))
            both = getattr(case.module, case.name), globals()[case.name]
            compiled[case.name] = tuple(_repeated(one, count, case.name in READERS) for one in both)  # type: ignore[assignment]
        vector, plain = race(case, compiled[case.name])
        print(f"{case.name:15} {case.sizes!s:10} {vector * 1e9:9.1f} ns {plain * 1e9:9.1f} ns  x {plain / vector:.1f}")


if __name__ == "__main__":
    main()
