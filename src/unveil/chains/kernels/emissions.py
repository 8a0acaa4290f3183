"""Scores and sums of the steps of sequences, each in one compiled piece.

A chain reads its scores step by step, all states of a step together: (rows, states), where a mixture takes them the
other way round. For a tile of rows, laid out (columns, rows), with its statistics T:

    scores = T' natural'   (rows, states)      before the chain, and      moments' += T posteriors       after it.

T is made twice, since to keep it would take several times the room of the rows. There is one such pair of pieces for
each kind of sufficient statistics of `unveil.families.kernels.em`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cython_blas  # noqa: F401  (compiled products call it; loaded here so that thread limits reach it)

from unveil.chains.kernels.few_states import FEW_STATES, FEWEST_COLUMNS, ROWS, TILE, add_products, score_products
from unveil.core.arrays import Floats
from unveil.families.kernels.em import LINEAR, NORM, PRODUCTS, SQUARES, CompiledSums
from unveil.numerics.jit import inlined, kernel
from unveil.numerics.tiles import linear, readable, with_norm, with_products, with_squares

TILE_CELLS, SMALLEST = 3072, 64  # statistics of a tile that stay in a core's first-level cache; rows


class Emitter(NamedTuple):
    """One kind of sufficient statistics: compiled functions."""

    score: Any
    gather: Any


def emitter_of(sums: CompiledSums | None) -> Emitter | None:
    """The compiled functions for a kind of statistics; None where there are none."""
    return None if sums is None else _EMITTERS.get(sums)


def score_rows(rows: Any, shift: Floats, natural: Floats, emitter: Emitter, out: Floats) -> None:
    """Write natural parameters times the statistics of `rows` less `shift` to `out` (rows, states)."""
    if _few(rows, natural, emitter):
        _score_few(readable(rows), shift, natural, out)
    else:
        emitter.score(readable(rows), shift, natural, *_room(rows, natural), out)


def gather_rows(rows: Any, shift: Floats, natural: Floats, emitter: Emitter, posteriors: Floats) -> Floats:
    """Sums (states, statistics) of the statistics of `rows` less `shift`, weighted by `posteriors` (rows, states)."""
    moments = np.zeros(natural.shape)
    if _few(rows, natural, emitter):
        _gather_few(readable(rows), shift, posteriors, moments)
        return moments
    emitter.gather(readable(rows), shift, posteriors, *_room(rows, natural), np.empty(natural.shape[::-1]), moments)
    return moments


def _few(rows: Any, natural: Floats, emitter: Emitter) -> bool:
    """Whether there is a quicker way, as states are few."""
    few = len(natural) <= FEW_STATES and rows.shape[1] >= FEWEST_COLUMNS
    return few and emitter.score is _score_products and rows.dtype == np.float64


def _room(rows: Any, natural: Floats) -> tuple[Floats, Floats]:
    """For the columns of a tile, and for its statistics."""
    fitting = max(TILE_CELLS // natural.shape[1], 1)
    size = min(max(1 << (fitting.bit_length() - 1), SMALLEST), len(rows))
    return np.empty(rows.shape[1] * size), np.empty(natural.shape[1] * size)


@inlined
def _columns(rows: Any, shift: Any, out: Any) -> None:
    """out[c, r] = rows[r, c] - shift[c]."""
    for c in range(rows.shape[1]):
        line, offset = out[c], shift[c]
        for r in range(rows.shape[0]):
            line[r] = np.float64(rows[r, c]) - offset


@inlined
def _score(rows: Any, shift: Any, natural: Any, columns: Any, table: Any, out: Any, statistics: Any) -> None:
    """Scores for any kind of statistics, pasted into a kernel for each."""
    p, d = natural.shape[1], rows.shape[1]
    size = len(table) // p
    for first in range(0, len(rows), size):
        m = min(size, len(rows) - first)
        tile, values = columns[: d * m].reshape((d, m)), table[: p * m].reshape((p, m))
        _columns(rows[first : first + m], shift, tile)
        statistics(tile, values)
        np.dot(values.T, natural.T, out[first : first + m])


@inlined
def _gather(
    rows: Any, shift: Any, posteriors: Any, columns: Any, table: Any, part: Any, moments: Any, statistics: Any
) -> None:
    """Sums for any kind of statistics, pasted into a kernel for each."""
    (p, k), d = part.shape, rows.shape[1]
    size = len(table) // p
    for first in range(0, len(rows), size):
        m = min(size, len(rows) - first)
        tile, values = columns[: d * m].reshape((d, m)), table[: p * m].reshape((p, m))
        _columns(rows[first : first + m], shift, tile)
        statistics(tile, values)
        np.dot(values, posteriors[first : first + m], part)
        for s in range(k):
            for i in range(p):
                moments[s, i] += part[i, s]


@kernel
def _score_linear(rows: Any, shift: Any, natural: Any, a: Any, b: Any, out: Any) -> None:
    _score(rows, shift, natural, a, b, out, linear)


@kernel
def _score_squares(rows: Any, shift: Any, natural: Any, a: Any, b: Any, out: Any) -> None:
    _score(rows, shift, natural, a, b, out, with_squares)


@kernel
def _score_norm(rows: Any, shift: Any, natural: Any, a: Any, b: Any, out: Any) -> None:
    _score(rows, shift, natural, a, b, out, with_norm)


@kernel
def _score_products(rows: Any, shift: Any, natural: Any, a: Any, b: Any, out: Any) -> None:
    _score(rows, shift, natural, a, b, out, with_products)


@kernel
def _score_few(rows: Any, shift: Any, natural: Any, out: Any) -> None:
    """As `_score_products`, where states are few."""
    score_products(rows, len(rows), shift, natural, len(natural), np.empty((len(shift) + 3) * ROWS), out)


@kernel
def _gather_few(rows: Any, shift: Any, posteriors: Any, moments: Any) -> None:
    """As `_gather_products`, where states are few."""
    k, d = posteriors.shape[1], len(shift)
    room, shares = np.empty((d + 3) * TILE), np.empty((k + 3) * TILE)
    add_products(rows, len(rows), shift, posteriors, k, room, shares, moments)


@kernel
def _gather_linear(rows: Any, shift: Any, posteriors: Any, a: Any, b: Any, part: Any, moments: Any) -> None:
    _gather(rows, shift, posteriors, a, b, part, moments, linear)


@kernel
def _gather_squares(rows: Any, shift: Any, posteriors: Any, a: Any, b: Any, part: Any, moments: Any) -> None:
    _gather(rows, shift, posteriors, a, b, part, moments, with_squares)


@kernel
def _gather_norm(rows: Any, shift: Any, posteriors: Any, a: Any, b: Any, part: Any, moments: Any) -> None:
    _gather(rows, shift, posteriors, a, b, part, moments, with_norm)


@kernel
def _gather_products(rows: Any, shift: Any, posteriors: Any, a: Any, b: Any, part: Any, moments: Any) -> None:
    _gather(rows, shift, posteriors, a, b, part, moments, with_products)


_EMITTERS: dict[CompiledSums, Emitter] = {
    LINEAR: Emitter(_score_linear, _gather_linear),
    SQUARES: Emitter(_score_squares, _gather_squares),
    NORM: Emitter(_score_norm, _gather_norm),
    PRODUCTS: Emitter(_score_products, _gather_products),
}
