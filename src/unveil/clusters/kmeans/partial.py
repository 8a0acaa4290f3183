"""K-means on rows with missing cells, by partial distances.

    cost = Σ w (d / |O|) Σ_{j in O} (x_j - c_j(x))²        (O: the observed columns of the row, of d in all)

The E step takes the centre with the smallest partial distance; the M step is, column by column, the mean of the cells
that are there, each row with the weight w d / |O|. Both lower this one cost, so it never rises. A column that no row of
a cluster has keeps its old coordinate, which costs nothing. A row without any cell has no distance: an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.sparse_kernels import CENTRE_MULTIPLE
from unveil.clusters.kmeans import partial_kernels as kernels
from unveil.clusters.kmeans.bounded import BoundedKMeans
from unveil.clusters.kmeans.model import Centres
from unveil.core.arrays import Array, Floats
from unveil.core.protocols import Block
from unveil.core.statistics import Statistics
from unveil.numerics.tiles import readable


class PartialPlan(NamedTuple):
    """The centres of one pass."""

    centres: Floats  # (k, d), in the frame
    turned: Floats  # (d, k or a few more)


class Room(NamedTuple):
    """Where a kernel puts the observed cells of a row, and its distances."""

    columns: NDArray[np.int32]
    values: Floats
    totals: Floats


@final
@dataclass(frozen=True)
class PartialKMeans(BoundedKMeans):
    """K-means where NaN means missing.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.clusters.kmeans.partial import PartialKMeans
    >>> rows = np.array([[0.0, 1.0], [np.nan, 3.0], [9.0, np.nan]])
    >>> model = PartialKMeans(2, shift=np.zeros(2))
    >>> params = model.start([[0.0, 2.0], [8.0, 5.0]])
    >>> statistics, memo = model.expect(model.prepare(params), Block(0, 0, rows))
    >>> memo.labels.tolist(), float(statistics["inertia"])  # 1 + 2 * 1 + 2 * 1
    ([0, 0, 1], 5.0)
    >>> model.locate(model.maximise(statistics, params)).round(3).tolist()
    [[0.0, 2.333], [9.0, 5.0]]
    """

    def prepare(self, params: Centres) -> PartialPlan:
        """The centres as the kernels want them."""
        k, d = params.centres.shape
        turned = np.zeros((d, -(-k // CENTRE_MULTIPLE) * CENTRE_MULTIPLE))
        turned[:, :k] = params.centres.T
        return PartialPlan(params.centres, turned)

    def assign(
        self, plan: PartialPlan, block: Block, drift: Floats, labels: NDArray[np.int32], lower: Floats, squares: Floats
    ) -> None:
        """By partial squared distances."""
        rows, k = readable(block.rows), len(plan.centres)
        _refuse(kernels.assign(rows, self.shift, plan.turned, k, drift, labels, lower, squares, _room(plan)), block)

    def sums(self, plan: PartialPlan, block: Block, weights: Floats, labels: NDArray[np.int32]) -> dict[str, Floats]:
        """Weight of each cluster, of each of its columns, and sums of the cells."""
        counts, (shares, sums) = np.zeros(len(plan.centres)), np.zeros((2, *plan.centres.shape))
        kernels.cluster_sums(readable(block.rows), self.shift, weights, labels, counts, shares, sums, _room(plan))
        return {"counts": counts, "shares": shares, "sums": sums}

    def maximise(self, statistics: Statistics, params: Centres) -> Centres:
        """Weighted means of the observed cells."""
        shares = statistics["shares"]
        means = statistics["sums"] / np.where(shares > 0, shares, 1.0)
        means = np.where(shares > 0, means, params.centres)
        return Centres(self.empty.mend(means, statistics["counts"], params.centres))

    def energy(self, statistics: Statistics, params: Centres) -> float:
        """Minus the cost, but for the rows' own squares, which no centre changes."""
        centres = params.centres
        return float(2.0 * np.vdot(centres, statistics["sums"]) - np.vdot(centres * centres, statistics["shares"]))

    def squares(self, plan: PartialPlan, block: Block) -> Floats:
        """Partial squared distance of each row of a block to each centre, (m, k)."""
        out = np.empty((len(block.rows), len(plan.centres)))
        _refuse(kernels.to_all(readable(block.rows), self.shift, plan.turned, _room(plan), out), block)
        return out

    def framed(self, block: Block, which: NDArray[np.intp]) -> Floats:
        """Some rows of a block, in the frame; what is missing is put at its origin."""
        return np.nan_to_num(super().framed(block, which), nan=0.0)


def filled(rows: Array, fill: Floats) -> Array:
    """`rows` with `fill`, one number a column, where they miss a cell: what starts are drawn from."""
    missing = np.isnan(rows)
    return np.where(missing, fill, rows).astype(rows.dtype) if missing.any() else rows


def _room(plan: PartialPlan) -> Room:
    d, k = plan.turned.shape
    return Room(np.empty(d, np.int32), np.empty(d), np.empty(k))


def _refuse(row: int, block: Block) -> None:
    """An error if a kernel came upon a row without cells."""
    if row >= 0:
        number = block.start + row
        raise ValueError(f"X has no value in row {number}: all of its cells are missing, so it is near to nothing")
