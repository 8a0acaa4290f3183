"""The E step for rows of zeros and ones, several columns at a time by table look-up ("the method of four Russians").

A group of eight columns takes one of 256 values. The part of the log-density that a group adds is looked up in a table
of all of them, built once; and responsibilities are added up by value first, and from there by column. So both
products of the E step cost an eighth of the additions, and rows are read as bits, a sixty-fourth of their size.

Where many components make the tables too large for a core's cache, groups of four columns are used instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.numerics.jit import kernel
from unveil.numerics.softmax import soft_assign
from unveil.numerics.tiles import transpose

FITTING = 1 << 20  # bytes of tables that a core's second-level cache holds
TILE = 1024  # rows
LANES = 4  # components are padded to a multiple of it, so that loops over them are vector instructions


class BitCodes(NamedTuple):
    """Rows of zeros and ones, group by group."""

    values: NDArray[np.uint8]  # (rows, groups)
    width: int  # columns in a group: 8 or 4
    n_columns: int


def encode(rows: NDArray[np.floating], n_components: int) -> BitCodes | None:
    """The rows as codes; None where a cell is neither 0 nor 1."""
    yes = rows == 1
    if not np.all(yes | (rows == 0)):
        return None
    n_columns = rows.shape[1]
    packed = np.packbits(yes, axis=1, bitorder="little")
    if packed.shape[1] * 256 * _padded(n_components) * 8 <= FITTING:
        return BitCodes(np.ascontiguousarray(packed), 8, n_columns)
    halves = np.stack([packed & 15, packed >> 4], axis=2).reshape(len(packed), -1)
    return BitCodes(np.ascontiguousarray(halves[:, : -(-n_columns // 4)]), 4, n_columns)


def expect_bits(codes: BitCodes, weights: Floats, natural: Floats) -> tuple[Floats, float]:
    """Moments (components, 1 + columns) and log-likelihood, q the posterior; `natural` has log-weights in front."""
    k, groups = len(natural), codes.values.shape[1]
    shape = (groups, 1 << codes.width, _padded(k))
    slopes = np.zeros((groups * codes.width, shape[2]))
    slopes[: codes.n_columns, :k] = natural[:, 1:].T
    table, sums = np.zeros(shape), np.zeros(shape)
    counts, by_column = np.zeros(shape[2]), np.zeros(slopes.shape)
    rows, shares = np.zeros((TILE, shape[2])), np.empty((shape[2], TILE))
    constants = np.zeros(shape[2])
    constants[:k] = natural[:, 0]
    _tabulate(slopes, constants, codes.width, table)
    log_likelihood = _expect(codes.values, weights, table, k, rows, shares, sums, counts)
    _by_column(sums, codes.width, by_column)
    return np.concatenate([counts[:k, None], by_column[: codes.n_columns, :k].T], axis=1), log_likelihood


def _padded(n_components: int) -> int:
    return -(-n_components // LANES) * LANES


@kernel
def _tabulate(slopes: Floats, constants: Floats, width: int, table: Floats) -> None:
    """Sums of slopes for every value of every group; constants go with the first group."""
    for g in range(table.shape[0]):
        for c in range(table.shape[2]):
            table[g, 0, c] = constants[c] if g == 0 else 0.0
        for b in range(width):
            slope, high = slopes[g * width + b], 1 << b
            for v in range(high):
                low, into = table[g, v], table[g, v + high]
                for c in range(table.shape[2]):
                    into[c] = low[c] + slope[c]


@kernel
def _expect(
    codes: NDArray[np.uint8],
    weights: Floats,
    table: Floats,
    k: int,
    rows: Floats,
    shares: Floats,
    sums: Floats,
    counts: Floats,
) -> float:
    """Look up, share out, add up by value."""
    groups, lanes, flat = codes.shape[1], table.shape[2], shares.ravel()
    log_likelihood = 0.0
    for first in range(0, codes.shape[0], TILE):
        m = min(TILE, codes.shape[0] - first)
        for r in range(m):
            line, code = rows[r], codes[first + r]
            part = table[0, code[0]]
            for c in range(lanes):
                line[c] = part[c]
            for g in range(1, groups):
                part = table[g, code[g]]
                for c in range(lanes):
                    line[c] += part[c]
        tile = flat[: lanes * m].reshape((lanes, m))
        transpose(rows[:m], tile)
        log_likelihood += soft_assign(tile[:k], weights[first : first + m] if len(weights) else weights)
        for c in range(k):
            share, total = tile[c], 0.0
            for r in range(m):
                rows[r, c] = share[r]
                total += share[r]
            counts[c] += total
        for r in range(m):
            line, code = rows[r], codes[first + r]
            for g in range(groups):
                into = sums[g, code[g]]
                for c in range(lanes):
                    into[c] += line[c]
    return log_likelihood


@kernel
def _by_column(sums: Floats, width: int, out: Floats) -> None:
    """Sums over the values that have a column's bit, by folding the upper half of the values onto the lower."""
    for g in range(sums.shape[0]):
        for b in range(width - 1, -1, -1):
            into, high = out[g * width + b], 1 << b
            for v in range(high):
                low, top = sums[g, v], sums[g, v + high]
                for c in range(sums.shape[2]):
                    into[c] += top[c]
                    low[c] += top[c]
