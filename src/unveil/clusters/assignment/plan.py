"""The centres of one pass, as the kernels want them: scaled, rounded, with what is known of their distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.clusters.assignment.assign import Filter
from unveil.clusters.assignment.nearest import CENTRES
from unveil.core.arrays import Array, Floats

NARROW_COLUMNS = 32  # columns up to which the vector kernel is faster than a BLAS product
LEAST_REACH, MOST_REACH = 1e-130, 1e130  # within which squares neither underflow nor overflow. Beyond, the exact rule
#                              sees ties where the scaled filter does not: an infinite reach makes it doubt everything
SCALE_STEP = 16  # the scale is a power of 2**16, so that it rarely changes between passes


def make_filter(centres: Floats, shift: Floats, groups: int = 1, pairs: bool = False) -> Filter:
    """What the kernels need of the centres; float32 where that tells neighbouring centres apart, else float64.

    Centres that share a lower bound are cut into at most so many `groups`; `pairs` asks for the distances of all pairs.
    """
    k, d = centres.shape
    reach = float(_norms(centres).max())
    exponent = SCALE_STEP * round(float(np.log2(reach)) / SCALE_STEP) if 0 < reach < np.inf else 0
    scale = 2.0 ** -min(max(exponent, -1008), 1008)
    scaled, empty = centres * scale, -k % CENTRES  # centres at infinity, which nothing is near, fill the last block
    apart = _nearest_squared(scaled)
    blur = unit_of(np.float32) * (d + 8) * (2 * reach * scale) ** 2
    dtype = np.dtype(np.float32 if 64 * blur <= np.sort(apart)[k // 2] else np.float64)
    unit = unit_of(dtype)
    norms = np.concatenate([np.einsum("ij,ij->i", scaled, scaled), np.full(empty, np.inf)])
    halves = np.concatenate([np.sqrt(apart) / 2 * (1 - 4 * unit), np.zeros(empty)])
    doubled = np.zeros((k + empty, d), dtype)
    doubled[:k] = -2 * scaled
    return Filter(
        centres,
        shift,
        scale,
        doubled,
        _blocks(doubled) if d <= NARROW_COLUMNS else np.empty(0, dtype),
        norms.astype(dtype),
        halves.astype(dtype),
        _between(scaled, unit, dtype) if pairs else np.empty((0, 0), dtype),
        reach * scale * (1 + (d + 8) * unit) if LEAST_REACH < reach < MOST_REACH else np.inf,
        unit,
        group_size(k, groups),
    )


def group_size(k: int, groups: int) -> int:
    """Centres in a group, whole blocks of them."""
    return max(-(-k // (groups * CENTRES)), 1) * CENTRES


def comparable(one: Filter, other: Filter) -> bool:
    """Whether what was measured by one filter means the same to the other."""
    return one.scale == other.scale and one.unit == other.unit and one.norms.dtype == other.norms.dtype


def drift_of(before: Filter, after: Filter) -> Array:
    """How far each centre moved, in the units and precision of the filter, never below the truth."""
    dtype, k = after.norms.dtype, len(after.centres)
    moves = (after.centres - before.centres) * after.scale
    drift = np.zeros(len(after.norms), dtype)
    drift[:k] = np.sqrt(np.einsum("ij,ij->i", moves, moves)) * (1 + (len(after.shift) + 8) * after.unit)
    return np.nextafter(drift, dtype.type(np.inf))


def unit_of(dtype: Any) -> float:
    """Unit roundoff."""
    return float(np.finfo(dtype).eps) / 2


def _blocks(doubled: Array) -> Array:
    """Centres eight by eight, column after column."""
    k, d = doubled.shape
    return np.ascontiguousarray(doubled.reshape(k // CENTRES, CENTRES, d).transpose(0, 2, 1)).ravel()


def _norms(vectors: Floats) -> Floats:
    """Euclidean norm of each row, safe from overflow and underflow."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if squares.min() > LEAST_REACH and squares.max() < MOST_REACH:
        return np.sqrt(squares)
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    scaled = vectors / safe[:, None]
    return np.asarray(largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled)))


def _nearest_squared(centres: Floats) -> Floats:
    """Squared distance of each centre to the nearest other, rounded down."""
    nearest = np.empty(len(centres))
    for start in range(0, len(centres), 256):
        part = slice(start, min(start + 256, len(centres)))
        squared = _squared_gaps(centres, part)
        squared[np.arange(part.stop - start), np.arange(start, part.stop)] = np.inf
        nearest[part] = squared.min(axis=1)
    return nearest


def _between(centres: Floats, unit: float, dtype: np.dtype[Any]) -> Array:
    """Half the distance of each pair of centres, rounded down."""
    return (np.sqrt(_squared_gaps(centres, slice(None))) / 2 * (1 - 4 * unit)).astype(dtype)


def _squared_gaps(centres: Floats, part: slice) -> Floats:
    """Squared distances of some centres to all, rounded down."""
    norms = np.einsum("ij,ij->i", centres, centres)
    slack = np.finfo(np.float64).eps * (centres.shape[1] + 8) * 4 * norms.max()
    return np.maximum(norms[part, None] - 2 * (centres[part] @ centres.T) + norms - slack, 0.0)
