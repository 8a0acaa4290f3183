"""K-means on rows with missing cells, by partial distances.

    cost = Σ w (d / |O|) Σ_{j in O} (x_j - c_j(x))²        (O: the observed columns of the row, of d in all)

The E step takes the centre with the smallest partial distance; the M step is, column by column, the mean of the cells
that are there, each row with the weight w d / |O|. Both lower this one cost, so it never rises. A column that no row of
a cluster has keeps its old coordinate, which costs nothing. A row without any cell has no distance: an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.sparse_kernels import CENTRE_MULTIPLE
from unveil.clusters.kmeans.model import NO_WEIGHTS, Centres, KMeansModel
from unveil.clusters.kmeans.partial_kernels import UNIT_ROUNDOFF, assign, cluster_sums, to_all
from unveil.clusters.kmeans.sparse import NO_DRIFT, BoundMemo, others_most
from unveil.core.arrays import Array, Floats
from unveil.core.protocols import Block, Expectation
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
class PartialKMeans(KMeansModel):
    """K-means where NaN means missing. There is one way to assign rows, so `assignment` is not asked.

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

    def prepare(self, params: Centres) -> PartialPlan:  # type: ignore[override]
        """The centres as the kernels want them."""
        k, d = params.centres.shape
        turned = np.zeros((d, -(-k // CENTRE_MULTIPLE) * CENTRE_MULTIPLE))
        turned[:, :k] = params.centres.T
        return PartialPlan(params.centres, turned)

    def expect(  # type: ignore[override]
        self,
        plan: PartialPlan,
        block: Block,
        expectation: Expectation | None = None,
        memo: BoundMemo | None = None,
        random: Callable[[], np.random.Generator] | None = None,
    ) -> tuple[Statistics, BoundMemo]:
        """Assign the rows of a block; what the memo holds is left as it is."""
        labels, lower, squares = self._assigned(plan, block, memo)
        weights, inertia = NO_WEIGHTS, float(squares.sum())
        if block.weights is not None:
            weights, inertia = readable(block.weights), float(block.weights @ squares)
        counts, (shares, sums) = np.zeros(len(plan.centres)), np.zeros((2, *plan.centres.shape))
        cluster_sums(readable(block.rows), self.shift, weights, labels, counts, shares, sums, _room(plan))
        statistics = Statistics(
            weight=float(len(labels) if block.weights is None else block.weights.sum()),
            log_likelihood=-inertia,
            free_energy=-inertia,
            counts=counts,
            shares=shares,
            sums=sums,
            inertia=inertia,
            changed=len(labels) if memo is None else np.count_nonzero(labels != memo.labels),
        )
        return statistics, BoundMemo(plan.centres, labels, lower)

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

    def label(self, plan: PartialPlan, block: Block) -> tuple[NDArray[np.int32], Floats]:  # type: ignore[override]
        """The nearest centre of each row of a block, the first of equals, and the partial squared distance to it."""
        labels, _, squares = self._assigned(plan, block, None)
        return labels, squares

    def apart(self, plan: PartialPlan, block: Block) -> Floats:  # type: ignore[override]
        """Partial distance of each row of a block to each centre, (m, k)."""
        out = np.empty((len(block.rows), len(plan.centres)))
        _refuse(to_all(readable(block.rows), self.shift, plan.turned, _room(plan), out), block)
        return np.sqrt(out)

    def framed(self, block: Block, which: NDArray[np.intp]) -> Floats:
        """Some rows of a block, in the frame; what is missing is put at its origin."""
        return np.nan_to_num(super().framed(block, which), nan=0.0)

    def _assigned(
        self, plan: PartialPlan, block: Block, memo: BoundMemo | None
    ) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Labels, lower bounds and partial squared distances."""
        rows, m, k = readable(block.rows), len(block.rows), len(plan.centres)
        if memo is None:
            labels, lower, drift = np.empty(m, np.int32), np.empty(m), NO_DRIFT
        else:
            labels, lower, drift = memo.labels.copy(), memo.lower.copy(), _drift(memo.centres, plan.centres)
        squares = np.empty(m)
        _refuse(assign(rows, self.shift, plan.turned, k, drift, labels, lower, squares, _room(plan)), block)
        return labels, lower, squares


def filled(rows: Array, fill: Floats) -> Array:
    """`rows` with `fill`, one number a column, where they miss a cell: what starts are drawn from."""
    missing = np.isnan(rows)
    return np.where(missing, fill, rows).astype(rows.dtype) if missing.any() else rows


def _room(plan: PartialPlan) -> Room:
    d, k = plan.turned.shape
    return Room(np.empty(d, np.int32), np.empty(d), np.empty(k))


def _drift(before: Floats, after: Floats) -> Floats:
    """For each centre, how far any other one went at most, never below the truth."""
    gaps = after - before
    return others_most(np.sqrt(np.einsum("ij,ij->i", gaps, gaps)) * (1 + (after.shape[1] + 8) * UNIT_ROUNDOFF))


def _refuse(row: int, block: Block) -> None:
    """An error if a kernel came upon a row without cells."""
    if row >= 0:
        number = block.start + row
        raise ValueError(f"X has no value in row {number}: all of its cells are missing, so it is near to nothing")
