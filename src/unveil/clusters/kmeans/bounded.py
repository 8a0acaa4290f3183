"""K-means whose partitions remember a label and one lower bound for each row (Hamerly, "Making k-means even faster",
2010): what sparse rows and rows with missing cells have in common. They have one way to assign, so `assignment` is not
asked.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.sparse_kernels import UNIT_ROUNDOFF
from unveil.clusters.kmeans.model import NO_WEIGHTS, KMeansModel
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation
from unveil.core.statistics import Statistics
from unveil.numerics.tiles import readable

NO_DRIFT = np.empty(0)


class BoundMemo(NamedTuple):
    """What a partition remembers: labels, a lower bound for each row, and the centres that both belong to."""

    centres: Floats
    labels: NDArray[np.int32]
    lower: Floats


@dataclass(frozen=True)
class BoundedKMeans(KMeansModel):
    """The model, but for what kernels do with the rows of a block."""

    @abstractmethod
    def assign(
        self, plan: Any, block: Block, drift: Floats, labels: NDArray[np.int32], lower: Floats, squares: Floats
    ) -> None:
        """Labels, lower bounds and squared distances of the rows of a block, in place.

        `drift` holds, for each centre, how far any other has moved since the bounds were made; it is empty if there
        are none yet.
        """

    @abstractmethod
    def sums(self, plan: Any, block: Block, weights: Floats, labels: NDArray[np.int32]) -> dict[str, Floats]:
        """What the M step needs of a block, cluster by cluster; `weights` are empty where every row counts once."""

    def expect(
        self,
        plan: Any,
        block: Block,
        expectation: Expectation | None = None,
        memo: BoundMemo | None = None,
        random: Callable[[], np.random.Generator] | None = None,
    ) -> tuple[Statistics, BoundMemo]:
        """Assign the rows of a block; what the memo holds is left as it is."""
        labels, lower, squares = self._assigned(plan, block, memo)
        inertia = float(squares.sum() if block.weights is None else block.weights @ squares)
        changed = len(labels) if memo is None else int(np.count_nonzero(labels != memo.labels))
        weights = NO_WEIGHTS if block.weights is None else readable(block.weights)
        statistics = self.statistics(self.weight(block), inertia, changed, **self.sums(plan, block, weights, labels))
        return statistics, BoundMemo(plan.centres, labels, lower)

    def nearest(self, plan: Any, block: Block) -> tuple[NDArray[np.int32], Floats]:
        """The nearest centre of each row of a block, the first of equals, and the squared distance to it."""
        labels, _, squares = self._assigned(plan, block, None)
        return labels, squares

    def labels(self, plan: Any, block: Block) -> tuple[NDArray[np.int32], float]:
        """The nearest centre of each row of a block, the first of equals, and what all rows cost together."""
        labels, costs = self.label(plan, block)
        return labels, float(costs.sum() if block.weights is None else block.weights @ costs)

    def _assigned(self, plan: Any, block: Block, memo: BoundMemo | None) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Labels, lower bounds and squared distances."""
        m = len(block.rows)
        if memo is None:
            labels, lower, drift = np.empty(m, np.int32), np.empty(m), NO_DRIFT
        else:
            labels, lower, drift = memo.labels.copy(), memo.lower.copy(), drift_of(memo.centres, plan.centres)
        squares = np.empty(m)
        self.assign(plan, block, drift, labels, lower, squares)
        return labels, lower, squares


def drift_of(before: Floats, after: Floats) -> Floats:
    """For each centre, how far any other one went at most, never below the truth."""
    gaps = after - before
    return others_most(np.sqrt(np.einsum("ij,ij->i", gaps, gaps)) * (1 + (after.shape[1] + 8) * UNIT_ROUNDOFF))


def others_most(lengths: Floats) -> Floats:
    """For each entry the largest of all others; 0 where there are none."""
    if len(lengths) == 1:
        return np.zeros(1)
    second, first = np.argsort(lengths, kind="stable")[-2:]
    most = np.full(len(lengths), lengths[first])
    most[first] = lengths[second]
    return most
