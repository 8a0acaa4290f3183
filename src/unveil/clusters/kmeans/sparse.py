"""K-means on compressed sparse rows: the model of `unveil.clusters.kmeans.model`, its E step by
`unveil.clusters.assignment.sparse_kernels`.

Rows are never centred, which would fill them up: distances are taken where the data is, and only sums are moved to the
frame. Large offsets common to all rows therefore cost digits here; sparse data has none, or it would not be sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.sparse_kernels import (
    UNIT_ROUNDOFF,
    CentreSheet,
    assign,
    cluster_sums,
    make_sheet,
    moved,
    squared_distances,
)
from unveil.clusters.kmeans.model import NO_WEIGHTS, Centres, KMeansModel
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation
from unveil.core.statistics import Statistics
from unveil.numerics.sparse_rows import Compressed
from unveil.numerics.tiles import readable

NO_DRIFT = np.empty(0)


class BoundMemo(NamedTuple):
    """What a partition remembers: labels, a lower bound for each row, and the centres that both belong to."""

    centres: Floats
    labels: NDArray[np.int32]
    lower: Floats


@final
@dataclass(frozen=True)
class SparseKMeans(KMeansModel):
    """K-means whose blocks hold `Compressed` rows. There is one way to assign them, so `assignment` is not asked.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from unveil.core.protocols import Block
    >>> from unveil.numerics.sparse_rows import Compressed
    >>> from unveil.clusters.kmeans.sparse import SparseKMeans
    >>> rows = Compressed.of(sparse.csr_array([[1.0, 0.0], [3.0, 0.0], [0.0, 5.0]]))
    >>> model = SparseKMeans(2, shift=np.zeros(2))
    >>> params = model.start([[1.0, 0.0], [0.0, 4.0]])
    >>> statistics, memo = model.expect(model.prepare(params), Block(0, 0, rows))
    >>> model.locate(model.maximise(statistics, params)).tolist(), float(statistics["inertia"])
    ([[2.0, 0.0], [0.0, 5.0]], 5.0)
    """

    def prepare(self, params: Centres) -> CentreSheet:  # type: ignore[override]
        """The centres as the kernels want them, in the coordinates of the data."""
        return make_sheet(self.locate(params))

    def expect(  # type: ignore[override]
        self,
        plan: CentreSheet,
        block: Block,
        expectation: Expectation | None = None,
        memo: BoundMemo | None = None,
        random: Callable[[], np.random.Generator] | None = None,
    ) -> tuple[Statistics, BoundMemo]:
        """Assign the rows of a block; what the memo holds is left as it is."""
        rows = _compressed(block)
        labels, lower, squares = _assigned(rows, plan, memo)
        counts, sums = tally(rows, block.weights, labels, len(plan.centres))
        inertia = float(squares.sum() if block.weights is None else block.weights @ squares)
        statistics = Statistics(
            weight=float(len(labels) if block.weights is None else block.weights.sum()),
            log_likelihood=-inertia,
            free_energy=-inertia,
            counts=counts,
            sums=sums - counts[:, None] * self.shift if self.shift.any() else sums,
            inertia=inertia,
            changed=len(labels) if memo is None else np.count_nonzero(labels != memo.labels),
        )
        return statistics, BoundMemo(plan.centres, labels, lower)

    def label(self, plan: CentreSheet, block: Block) -> tuple[NDArray[np.int32], Floats]:  # type: ignore[override]
        """The nearest centre of each row of a block, the first of equals, and the squared distance to it."""
        labels, _, squares = _assigned(_compressed(block), plan, None)
        return labels, squares

    def apart(self, plan: CentreSheet, block: Block) -> Floats:  # type: ignore[override]
        """Distance of each row of a block to each centre, (m, k)."""
        return np.sqrt(squared_distances(_compressed(block), plan))

    def framed(self, block: Block, which: NDArray[np.intp]) -> Floats:
        """Some rows of a block, in the frame: what a centre on them would be."""
        return np.asarray(_compressed(block)[which].dense() - self.shift)


def _compressed(block: Block) -> Compressed:
    """The rows of a block, which must be compressed."""
    rows: Any = block.rows
    if not isinstance(rows, Compressed):
        raise TypeError(f"SparseKMeans takes blocks of compressed rows, got {type(rows).__name__}; see SparseSource")
    return rows


def tally(rows: Compressed, weights: Floats | None, labels: NDArray[np.int32], k: int) -> tuple[Floats, Floats]:
    """Weight and sum of the rows of each cluster."""
    counts, sums = np.zeros(k), np.zeros((k, rows.n_columns))
    given = NO_WEIGHTS if weights is None else readable(weights)
    cluster_sums(rows.data, rows.indices, rows.indptr, given, labels, counts, sums)
    return counts, sums


def _assigned(rows: Compressed, plan: CentreSheet, memo: BoundMemo | None) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Labels, lower bounds and squared distances."""
    m = len(rows)
    if memo is None:
        labels, lower, drift = np.empty(m, np.int32), np.empty(m), NO_DRIFT
    else:
        labels, lower, drift = memo.labels.copy(), memo.lower.copy(), _drift(memo.centres, plan.centres)
    squares, scores = np.empty(m), np.empty(len(plan.norms))
    assign(rows.data, rows.indices, rows.indptr, plan, drift, labels, lower, squares, scores)
    return labels, lower, squares


def _drift(before: Floats, after: Floats) -> Floats:
    """For each centre, how far any other one went at most, never below the truth."""
    squares = np.empty(len(after))
    moved(before, after, squares)
    return others_most(np.sqrt(squares) * (1 + (after.shape[1] + 8) * UNIT_ROUNDOFF))


def others_most(lengths: Floats) -> Floats:
    """For each entry the largest of all others; 0 where there are none."""
    if len(lengths) == 1:
        return np.zeros(1)
    second, first = np.argsort(lengths, kind="stable")[-2:]
    most = np.full(len(lengths), lengths[first])
    most[first] = lengths[second]
    return most
