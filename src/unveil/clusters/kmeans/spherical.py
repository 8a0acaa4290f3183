"""Spherical K-means: rows and centres are directions, and a row is scored by the cosine of the angle between them.

    cost = Σ w (1 - cos(x, c(x))) = ½ Σ w ‖x - c(x)‖²        for rows and centres of length one

so the nearest centre is the nearest by distance, and every way to find it serves as it is. Only the M step differs:
of all centres of length one, the one in the direction of the weighted sum of the rows is best (Dhillon and Modha,
"Concept decompositions for large sparse text data using clustering", 2001; Hornik et al., "Spherical k-means
clustering", 2012). Where the sum is zero every direction costs the same, and the centre keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.clusters.kmeans.model import Centres, KMeansModel
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation, Model
from unveil.core.statistics import Statistics

NO_DIRECTION = 1e-12  # a mean of directions that is shorter than this is rounding
HALVED = ("log_likelihood", "free_energy", "inertia")


@final
@dataclass(frozen=True)
class SphericalKMeans(Model):
    """K-means on directions. Blocks hold rows of length one; `inner` assigns them.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.clusters.kmeans.model import KMeansModel
    >>> from unveil.clusters.kmeans.spherical import SphericalKMeans
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])
    >>> model = SphericalKMeans(KMeansModel(2, shift=np.zeros(2)))
    >>> params = model.start([[5.0, 0.0], [0.0, 2.0]])
    >>> statistics, memo = model.expect(model.prepare(params), Block(0, 0, rows))
    >>> model.locate(model.maximise(statistics, params)).round(3).tolist(), round(float(statistics["inertia"]), 9)
    ([[1.0, 0.0], [-0.316, 0.949]], 0.2)
    """

    inner: KMeansModel

    smooth = False  # assignments jump

    @property
    def n_clusters(self) -> int:
        """Number of centres."""
        return self.inner.n_clusters

    @property
    def shift(self) -> Floats:
        """Origin of the frame."""
        return self.inner.shift

    def start(self, centres: ArrayLike) -> Centres:
        """Parameters from centres of any length."""
        return self.inner.start(directions(centres))

    def locate(self, params: Centres) -> Floats:
        """Centres in the coordinates of the data, of length one."""
        return self.inner.locate(params)

    def prepare(self, params: Centres) -> Any:
        """The centres as the kernels want them."""
        return self.inner.prepare(params)

    def expect(
        self,
        plan: Any,
        block: Block,
        expectation: Expectation | None = None,
        memo: Any = None,
        random: Callable[[], np.random.Generator] | None = None,
    ) -> tuple[Statistics, Any]:
        """Assign the rows of a block; half the squared distance is one minus the cosine."""
        statistics, memo = self.inner.expect(plan, block, expectation, memo, random)
        return Statistics(**{**statistics, **{name: 0.5 * statistics[name] for name in HALVED}}), memo

    def maximise(self, statistics: Statistics, params: Centres) -> Centres:
        """Directions of the weighted sums."""
        after = self.inner.maximise(statistics, params)
        means = after.centres + self.shift
        lengths = np.linalg.norm(means, axis=1)[:, None]
        unit = means / np.where(lengths > 0, lengths, 1.0) - self.shift
        kept = np.where(lengths > NO_DIRECTION, unit, params.centres)
        filled = statistics["counts"][:, None] > 0  # elsewhere it is for the policy of empty clusters to say
        return replace(after, centres=np.where(filled, kept, after.centres))

    def energy(self, statistics: Statistics, params: Centres) -> float:
        """Minus the cost, but for the rows' own share, which no centre changes."""
        return 0.5 * self.inner.energy(statistics, params)

    def dead(self, statistics: Statistics) -> NDArray[np.intp]:
        """Clusters that no row belongs to."""
        return self.inner.dead(statistics)

    def events(self, statistics: Statistics, params: Centres) -> Mapping[str, int]:
        """How many clusters no row belongs to."""
        return self.inner.events(statistics, params)

    def label(self, plan: Any, block: Block) -> tuple[NDArray[np.int32], Floats]:
        """The nearest centre of each row of a block, the first of equals, and one minus the cosine to it."""
        labels, squares = self.inner.label(plan, block)
        return labels, 0.5 * squares

    def apart(self, plan: Any, block: Block) -> Floats:
        """One minus the cosine of each row of a block to each centre, (m, k)."""
        return 0.5 * self.inner.apart(plan, block) ** 2

    def framed(self, block: Block, which: NDArray[np.intp]) -> Floats:
        """Some rows of a block, in the frame: what a centre on them would be."""
        return self.inner.framed(block, which)


def directions(centres: ArrayLike) -> Floats:
    """Centres scaled to length one, or a ValueError that names one without a direction."""
    given = np.asarray(centres, dtype=np.float64)
    largest = np.abs(given).max(axis=1, initial=0.0)
    if not np.all(largest > 0):
        raise ValueError(f"init has no direction in row {int(np.argmin(largest))}, and metric='cosine' needs one")
    part = given / largest[:, None]
    return np.asarray(part / np.linalg.norm(part, axis=1)[:, None])
