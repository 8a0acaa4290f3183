"""How K-means finds the nearest centres: two policies, one answer.

Both give every row the label that the exact rule of `unveil.kernels.assign` gives it, so they agree to the last bit;
they differ in what they remember from pass to pass and in how much they have to look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import local
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Array
from unveil.kernels import gather
from unveil.kernels.assign import Bounds, Filter, Packed, Tiles, label_all, make_tiles
from unveil.kernels.prune import Work, revise
from unveil.models import direct

FOUR = 4  # kernels take centres in fours
COARSE = 16  # the scale is a power of 2**16, so that it rarely changes between passes


_threads = local()


class Known(NamedTuple):
    """Labels of a partition's rows, bounds on their distances, and the plan that both belong to."""

    plan: Filter
    bounds: Bounds


class Assignment(Protocol):
    """Finds the nearest centre of every row of a partition."""

    def group_size(self, n_clusters: int) -> int:
        """Centres that share a lower bound, a multiple of four."""

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """Labels at the centres of `plan`; `known` is what an earlier pass returned, or None."""

    @property
    def account(self) -> Any:
        """How counts, sums and scatter follow from labels: see `unveil.kernels.gather.account`."""


@dataclass(frozen=True)
class Plain:
    """Every row against every centre, each pass. Remembers labels alone: four bytes a row.

    Best where centres are few, or the table is so long that bounds do not fit in memory.
    """

    account = staticmethod(gather.account)

    def group_size(self, n_clusters: int) -> int:
        """All centres together."""
        return -(-n_clusters // FOUR) * FOUR

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """The full sweep."""
        labels = label(rows, plan).labels
        nothing = np.empty(0, plan.norms.dtype)
        return Known(plan, Bounds(labels, nothing, nothing.reshape(1, 0)))


@dataclass(frozen=True)
class Pruned:
    """Rows that the triangle inequality vouches for are not looked at.

    Remembers a label, an upper bound and `groups` lower bounds for each row.

    Parameters
    ----------
    groups : int, default=8
        Largest number of lower bounds for a row. More of them prune better and take more memory.
    """

    groups: int = 8

    account = staticmethod(gather.account)

    def group_size(self, n_clusters: int) -> int:
        """Eight centres or more to a group."""
        size = max(-(-n_clusters // self.groups), 8)
        return -(-size // FOUR) * FOUR

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """Start from what is known, if it was measured on the same scale."""
        if known is None or known.plan.scale != plan.scale or known.plan.unit != plan.unit:
            return Known(plan, label(rows, plan))
        return Known(plan, revised(rows, plan, known.bounds, _drift(known.plan, plan)))


@dataclass(frozen=True)
class Direct:
    """Everything in NumPy: for small tables. Remembers labels alone."""

    account = staticmethod(direct.account)

    def group_size(self, n_clusters: int) -> int:
        """All centres together."""
        return -(-n_clusters // FOUR) * FOUR

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """The nearest by distance, the first of equals."""
        labels = np.argmin(direct.distances(rows, plan.shift, plan.centres), axis=1).astype(np.int32)
        nothing = np.empty(0, plan.norms.dtype)
        return Known(plan, Bounds(labels, nothing, nothing.reshape(1, 0)))


def make_filter(centres: NDArray[np.float64], shift: NDArray[np.float64], group_size: int) -> Filter:
    """What the kernels need of the centres; float32 where that tells neighbouring centres apart, else float64."""
    k, d = centres.shape
    reach = float(_norms(centres).max())
    exponent = COARSE * round(float(np.log2(reach)) / COARSE) if 0 < reach < np.inf else 0
    scale = 2.0**-exponent
    apart = _nearest_squared(centres * scale)
    blur = _unit(np.float32) * (d + 8) * (2 * reach * scale) ** 2
    dtype = np.dtype(np.float32 if 64 * blur <= np.median(apart) else np.float64)
    empty = -k % FOUR  # centres at infinity, which nothing is near
    scaled = np.concatenate([centres * scale, np.zeros((empty, d))])
    norms = np.concatenate([np.einsum("ij,ij->i", scaled[:k], scaled[:k]), np.full(empty, np.inf)])
    unit = _unit(dtype)
    halves = np.concatenate([np.sqrt(apart) / 2 * (1 - 4 * unit), np.zeros(empty)])
    reach = reach * scale * (1 + (d + 8) * unit)
    doubled = np.ascontiguousarray(-2 * scaled, dtype=dtype)
    return Filter(
        centres,
        shift,
        scale,
        doubled,
        norms.astype(dtype),
        halves.astype(dtype),
        reach,
        unit,
        min(group_size, k + empty),
    )


def label(rows: Array, plan: Filter) -> Bounds:
    """Labels and bounds of all rows, from nothing."""
    bounds, scratch = _room(rows, plan), _scratch_for(rows, plan)
    label_all(rows, plan, np.arange(len(rows), dtype=np.int32), scratch.packed, scratch.tiles, bounds)
    return bounds


def revised(rows: Array, plan: Filter, before: Bounds, drift: Array) -> Bounds:
    """Labels and bounds at the centres of `plan`, from those before the centres moved by `drift`."""
    after, scratch = _room(rows, plan), _scratch_for(rows, plan)
    if scratch.work is None:
        scratch.work = _work(rows, len(after.lower), plan)
    revise(rows, plan, before, drift, scratch.packed, scratch.work, scratch.tiles, after)
    return after


def _room(rows: Array, plan: Filter) -> Bounds:
    """New arrays for what is to be remembered."""
    m, groups, dtype = len(rows), -(-len(plan.norms) // plan.size), plan.norms.dtype
    return Bounds(np.empty(m, np.int32), np.empty(m, dtype), np.empty((groups, m), dtype))


@dataclass
class Scratch:
    """Room that a thread uses again and again, since fresh memory must be mapped page by page."""

    key: Any
    packed: Packed
    tiles: Tiles
    work: Work | None = None  # for pruning only


def _scratch_for(rows: Array, plan: Filter) -> Scratch:
    """This thread's room for rows and centres of this shape."""
    dtype, (m, d) = plan.norms.dtype, rows.shape
    key = m, d, plan.doubled.shape, plan.size, dtype
    kept: Scratch | None = getattr(_threads, "scratch", None)
    if kept is None or kept.key != key:
        groups = -(-len(plan.norms) // plan.size)
        packed = Packed(np.empty((m, d), dtype), np.empty(m, dtype), np.empty(m, dtype))
        kept = _threads.scratch = Scratch(key, packed, make_tiles(len(plan.norms), groups, dtype))
    return kept


def _work(like: Array, groups: int, plan: Filter) -> Work:
    dtype, (m, d) = plan.norms.dtype, like.shape
    best, bar, first, second = (np.empty(m, dtype) for _ in range(4))
    wanted, where = np.empty(m, np.int32), np.empty(m, np.int32)
    members, sizes = np.empty((groups, m + 1), np.int32), np.empty(groups, np.int64)
    index, swept = np.empty(m + 1, np.int32), np.empty(m, np.bool_)
    rows, scores = np.empty((m + 1, d), dtype), np.empty(m * plan.size, dtype)
    return Work(index, best, swept, members, sizes, bar, wanted, rows, scores, first, second, where)


def readable(rows: Array) -> Array:
    """The rows as the kernels take them: contiguous, and of one type whether or not they could be written to."""
    view = np.ascontiguousarray(rows).view()
    view.flags.writeable = False
    return view


def _unit(dtype: Any) -> float:
    """Unit roundoff."""
    return float(np.finfo(dtype).eps) / 2


def _norms(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Euclidean norm of each row, safe from overflow and underflow."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    scaled = vectors / safe[:, None]
    return np.asarray(largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled)))


def _drift(before: Filter, after: Filter) -> Array:
    """How far each centre moved, in the units and precision of the filter, never below the truth."""
    dtype, k = after.norms.dtype, len(after.centres)
    moves = (after.centres - before.centres) * after.scale
    drift = np.zeros(len(after.norms), dtype)
    drift[:k] = np.sqrt(np.einsum("ij,ij->i", moves, moves)) * (1 + (len(after.shift) + 8) * after.unit)
    return np.nextafter(drift, dtype.type(np.inf))


def _nearest_squared(centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distance of each centre to the nearest other, rounded down."""
    norms = np.einsum("ij,ij->i", centres, centres)
    slack = np.finfo(np.float64).eps * (centres.shape[1] + 8) * 4 * norms.max()
    nearest = np.empty(len(centres))
    for start in range(0, len(centres), 256):
        part = slice(start, min(start + 256, len(centres)))
        squared = norms[part, None] - 2 * (centres[part] @ centres.T) + norms
        squared[np.arange(part.stop - start), np.arange(start, part.stop)] = np.inf
        nearest[part] = squared.min(axis=1)
    return np.maximum(nearest - slack, 0.0)
