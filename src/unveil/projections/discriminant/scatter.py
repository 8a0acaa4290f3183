"""Scatter matrices of labelled rows in one pass: what linear discriminant analysis is an eigenproblem of.

With n_k rows of class k, their mean m_k, and the mean m of all rows,

    within  = sum over rows (x - m_z)(x - m_z)'        z the class of x
    between = sum over classes n_k (m_k - m)(m_k - m)'
    total   = sum over rows (x - m)(x - m)' = within + between      (scatter decomposition)

Taking `within` as total - between would lose all digits where classes are far apart. Here every row is shifted by a
frame of its own class, so classes may lie anywhere: within = P - sum n_k d_k d_k' with the products P about the frames,
and d_k the small way from frame to mean. The frame of a class is the mean of its c_k rows in the partition where it
first occurs, and these rows are part of the scatter, so in every direction what is taken off is at most n_k / c_k times
what stays. Where it turns out to be large, a second pass takes the means themselves as frames.

Batches merge without loss too: the way between their means adds to what is within (Chan, Golub & LeVeque 1983).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.partition import count_of, partition_rows, width_of
from unveil.core.protocols import Engine, Memo, Source
from unveil.core.statistics import Statistics
from unveil.numerics.jit import kernel
from unveil.projections.passes import reduced
from unveil.projections.pca.moments import NO_WEIGHTS, squared

FEW_CELLS = 1 << 13  # cells, and pairs of a row and a class, up to which NumPy is quick enough
LABEL_STRETCH = 1 << 16  # labels looked at together for classes that have not been met yet
LOST_DIGITS = 1e3  # products over scatter from which on a second pass is worth its time: three digits


@kernel
def about_classes(
    rows: NDArray[np.floating],
    codes: NDArray[np.intp],
    weights: Floats,
    frames: Floats,
    out: Floats,
    sums: Floats,
) -> None:
    """out = sqrt(weight) (row - frame of its class), so that its products carry the weight; `sums` gains all of it.

    No `weights` means that every row counts once.
    """
    for r in range(rows.shape[0]):
        row, frame, line, into = rows[r], frames[codes[r]], out[r], sums[codes[r]]
        weight = weights[r] if len(weights) else 1.0
        root = np.sqrt(weight)
        for c in range(row.shape[0]):
            value = np.float64(row[c]) - frame[c]
            line[c] = root * value
            into[c] += weight * value


def shifted_by_class(
    rows: NDArray[Any], codes: NDArray[np.intp], weights: Floats | None, frames: Floats
) -> tuple[Floats, Floats]:
    """Rows about the frames of their classes, times roots of weights, and their sums class by class.

    A few rows are left to NumPy: they are not worth waiting for a compiler.
    """
    if max(rows.size, len(rows) * len(frames)) > FEW_CELLS:
        shifted, sums = np.empty(rows.shape), np.zeros(frames.shape)
        about_classes(rows, codes, NO_WEIGHTS if weights is None else weights, frames, shifted, sums)
        return shifted, sums
    away, members = rows - frames[codes], (codes == np.arange(len(frames))[:, None]).astype(np.float64)
    if weights is None:
        return away, members @ away
    return away * np.sqrt(weights)[:, None], (members * weights) @ away


def class_sums(frames: Floats, apart: bool, basis: Floats | None, block: Any, memo: Memo) -> tuple[Statistics, Memo]:
    """Weight, rows, sums and products of the classes in a labelled block, about `frames` (classes, columns).

    Products are of each class where these are to be `apart`, rather than of all together; the shifted rows are taken
    in the coordinates of a `basis` (columns, count), if there is one.
    """
    codes, n_classes = block.codes.astype(np.intp), len(frames)
    if block.weights is None:
        rows = weights = np.bincount(codes, minlength=n_classes)
    else:
        rows = np.bincount(codes[block.weights > 0], minlength=n_classes)
        weights = np.bincount(codes, block.weights, minlength=n_classes)
    with np.errstate(over="ignore", invalid="ignore"):  # the sums tell whether a cell was not finite
        shifted, sums = shifted_by_class(block.rows, codes, block.weights, frames)
        if basis is not None:
            shifted, sums = shifted @ basis, sums @ basis
        products = _apart(shifted, codes, n_classes) if apart else squared(shifted)
    return Statistics(weights=weights, rows=rows, sums=sums, products=products), None


def _apart(shifted: Floats, codes: NDArray[np.intp], n_classes: int) -> Floats:
    """Products of the rows of each class."""
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    parts = np.split(shifted[np.argsort(codes, kind="stable")], ends[:-1])
    return np.stack([part.T @ part for part in parts])


class ClassScatter(NamedTuple):
    """Weights, means and scatter of classes; a class may have no rows yet."""

    weights: Floats  # (classes,)
    rows: Floats  # (classes,): how many have weight
    frame: Floats  # a point near all rows
    centres: Floats  # (classes, columns): means less `frame`, with the digits that far from zero means cannot hold
    within: Floats  # (columns, columns)
    apart: Floats | None = None  # (classes, columns, columns): the part of each class in `within`

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())

    @property
    def seen(self) -> int:
        """Number of classes with rows."""
        return int(np.count_nonzero(self.rows))

    @property
    def middle(self) -> Floats:
        """The mean of all rows, less `frame`."""
        return np.asarray(self.weights @ self.centres / self.weight)

    @property
    def between(self) -> Floats:
        """Scatter of the means about the mean of all rows."""
        spokes = np.sqrt(self.weights)[:, None] * (self.centres - self.middle)
        return np.asarray(spokes.T @ spokes)

    def merged(self, other: ClassScatter) -> ClassScatter:
        """Of the rows of both, which have the same classes."""
        weights = self.weights + other.weights
        share = np.divide(other.weights, weights, out=np.zeros_like(weights), where=weights > 0)
        ways = other.centres + (other.frame - self.frame) - self.centres
        ways[weights == 0] = 0.0
        spokes = np.sqrt(self.weights * share)[:, None] * ways
        apart = None
        if self.apart is not None and other.apart is not None:
            apart = self.apart + other.apart + spokes[:, :, None] * spokes[:, None, :]
        within = self.within + other.within + spokes.T @ spokes
        centres = self.centres + share[:, None] * ways
        return ClassScatter(weights, self.rows + other.rows, self.frame, centres, within, apart)

    def of_seen(self) -> ClassScatter:
        """Without the classes that have no rows."""
        kept = self.rows > 0
        if kept.all():
            return self
        apart = None if self.apart is None else self.apart[kept]
        return self._replace(weights=self.weights[kept], rows=self.rows[kept], centres=self.centres[kept], apart=apart)


def scatter(statistics: Statistics, frames: Floats) -> ClassScatter:
    """Means and scatter from the sums about `frames`."""
    weights, products = statistics["weights"], statistics["products"]
    offsets = offsets_of(statistics)
    spokes = np.sqrt(weights)[:, None] * offsets
    apart = None
    if products.ndim == 3:
        apart = products - spokes[:, :, None] * spokes[:, None, :]
        within = apart.sum(axis=0)
    else:
        within = products - spokes.T @ spokes
    frame = frames[int(np.argmax(weights))]
    return ClassScatter(weights, statistics["rows"], frame, (frames - frame) + offsets, within, apart)


def offsets_of(statistics: Statistics) -> Floats:
    """The way from the frame of each class to its mean."""
    weights = statistics["weights"][:, None]
    return np.divide(statistics["sums"], weights, out=np.zeros_like(statistics["sums"]), where=weights > 0)


def is_lossy(statistics: Statistics, found: ClassScatter) -> bool:
    """Whether in some column what was taken off the products is so large that digits of the scatter went with it."""
    taken = statistics["weights"] @ offsets_of(statistics) ** 2
    return bool(np.any(taken > LOST_DIGITS * np.maximum(np.diagonal(found.within), 0.0)))


def gather(engine: Engine, source: Source, codes: NDArray[Any], n_classes: int, apart: bool = False) -> ClassScatter:
    """Scatter of a labelled source; not finite where a cell of it is not."""
    frames = class_frames(source, codes, n_classes)
    statistics = reduced(engine, partial(class_sums, frames, apart, None), source)
    with np.errstate(over="ignore", invalid="ignore"):
        found = scatter(statistics, frames)
        if not is_lossy(statistics, found):
            return found
        frames = frames + offsets_of(statistics)
    return scatter(reduced(engine, partial(class_sums, frames, apart, None), source), frames)


def seen_along(engine: Engine, source: Source, found: ClassScatter, basis: Floats) -> Floats:
    """The scatter within classes in the coordinates of `basis`, from the rows themselves.

    In coordinates where it is near the identity no digits are lost, while those of basis' within basis may all be: a
    second pass in whitened coordinates does for a covariance what CholeskyQR2 does for a QR decomposition (Yamamoto,
    Nakatsukasa, Yanagisawa & Fukaya 2015).
    """
    frames = found.frame + found.centres
    return scatter(reduced(engine, partial(class_sums, frames, False, basis), source), frames @ basis).within


def class_frames(source: Source, codes: NDArray[Any], n_classes: int) -> Floats:
    """A frame for each class: its mean over the partition where it first occurs.

    A class without rows gets that of another one.
    """
    if count_of(source) == 1:
        frames = frames_within(next(iter(source.read())), n_classes)
        there = np.bincount(codes, minlength=n_classes) > 0
    else:
        firsts = first_rows(codes, n_classes)
        there = firsts >= 0
        homes = np.where(there, firsts // partition_rows(width_of(source)), -1)
        frames = np.zeros((n_classes, source.n_columns))
        for block in source.read(np.unique(homes[there]).tolist()):
            here = homes == block.index
            frames[here] = frames_within(block, n_classes)[here]
    frames[~there] = frames[codes[0]]
    return frames


def first_rows(codes: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    """The first row of each class; -1 for a class without any."""
    firsts = np.full(n_classes, -1, dtype=np.intp)
    for start in range(0, len(codes), LABEL_STRETCH):
        there, places = np.unique(codes[start : start + LABEL_STRETCH], return_index=True)
        fresh = firsts[there] < 0
        firsts[there[fresh]] = start + places[fresh]
        if np.all(firsts >= 0):
            break
    return firsts


def frames_within(block: Any, n_classes: int) -> Floats:
    """Mean of the rows of each class in one block; NaN for a class without any there.

    Taken about the first row, so that a column that is constant within a class gives its very value.
    """
    codes, frames = block.codes.astype(np.intp), np.full((n_classes, block.rows.shape[1]), np.nan)
    there, first = np.unique(codes, return_index=True)
    frames[there] = block.rows[first]
    with np.errstate(over="ignore", invalid="ignore"):
        _, sums = shifted_by_class(block.rows, codes, None, frames)
        counts = np.bincount(codes, minlength=n_classes)[:, None]
        return frames + sums / np.maximum(counts, 1)
