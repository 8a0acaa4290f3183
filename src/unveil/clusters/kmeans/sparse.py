"""K-means on compressed sparse rows: the model of `unveil.clusters.kmeans.model`, its E step by
`unveil.clusters.assignment.sparse_kernels`.

Rows are never centred, which would fill them up: distances are taken where the data is, and only sums are moved to the
frame. Large offsets common to all rows therefore cost digits here; sparse data has none, or it would not be sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment import sparse_kernels as kernels
from unveil.clusters.assignment.sparse_kernels import CentreSheet
from unveil.clusters.kmeans.bounded import BoundedKMeans
from unveil.clusters.kmeans.model import Centres
from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.numerics.sparse_rows import Compressed


@final
@dataclass(frozen=True)
class SparseKMeans(BoundedKMeans):
    """K-means whose blocks hold `Compressed` rows.

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

    def prepare(self, params: Centres) -> CentreSheet:
        """The centres as the kernels want them, in the coordinates of the data."""
        return kernels.make_sheet(self.locate(params))

    def assign(
        self, plan: CentreSheet, block: Block, drift: Floats, labels: NDArray[np.int32], lower: Floats, squares: Floats
    ) -> None:
        """By scores over the stored cells."""
        rows, scores = _compressed(block), np.empty(len(plan.norms))
        kernels.assign(rows.data, rows.indices, rows.indptr, plan, drift, labels, lower, squares, scores)

    def sums(self, plan: CentreSheet, block: Block, weights: Floats, labels: NDArray[np.int32]) -> dict[str, Floats]:
        """Weight and sum of the rows of each cluster, in the frame."""
        rows, counts, sums = _compressed(block), np.zeros(len(plan.centres)), np.zeros(plan.centres.shape)
        kernels.cluster_sums(rows.data, rows.indices, rows.indptr, weights, labels, counts, sums)
        return {"counts": counts, "sums": sums - counts[:, None] * self.shift if self.shift.any() else sums}

    def squares(self, plan: CentreSheet, block: Block) -> Floats:
        """Squared distance of each row of a block to each centre, (m, k)."""
        return kernels.squared_distances(_compressed(block), plan)

    def framed(self, block: Block, which: NDArray[np.intp]) -> Floats:
        """Some rows of a block, in the frame: what a centre on them would be."""
        return np.asarray(_compressed(block)[which].dense() - self.shift)


def _compressed(block: Block) -> Compressed:
    """The rows of a block, which must be compressed."""
    rows: Any = block.rows
    if not isinstance(rows, Compressed):
        raise TypeError(f"SparseKMeans takes blocks of compressed rows, got {type(rows).__name__}; see SparseSource")
    return rows
