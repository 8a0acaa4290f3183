"""K-means: the hidden thing is which of K centres a row belongs to, and a row is scored by its squared distance.

It is the limit of a mixture of round Gaussians whose shared variance goes to zero: responsibilities become
assignments, and the free energy, times the variance, becomes minus the cost

    cost = Σ w ‖x - c(x)‖²        (c(x): the nearest centre)

The E step assigns (MacQueen 1967; Lloyd 1982), the M step moves each centre to the weighted mean of its rows; neither
can raise the cost. Everything is in the *frame*: coordinates from which `shift` has been subtracted.

What a partition remembers between passes only spares work. Counts, sums and scatter of its clusters are functions of
its labels, computed in row order and only where membership changed, so a lost memo changes no bit of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.clusters.assignment.assign import Assignment
from unveil.clusters.assignment.direct import to_all
from unveil.clusters.assignment.rules import Plain
from unveil.clusters.kmeans.spherical import directions, directions_of_means
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation, Model
from unveil.core.statistics import Statistics
from unveil.numerics.tiles import readable

NO_WEIGHTS = readable(np.empty(0))


@dataclass(frozen=True)
class Centres:
    """Parameters of K-means."""

    centres: NDArray[np.float64]  # (k, d), in the frame


@final
@dataclass(frozen=True)
class EmptyClusters:
    """What becomes of clusters that lose all their rows; unless it says otherwise, their centres stay where they are.

    Moving them and leaving them out are no matters of the M step: `unveil.clusters.kmeans.empty` does that.
    """

    refused: bool = False  # are they an error?
    relocated: bool = False  # do they move to other rows?
    dropped: bool = False  # are they left out of the result?

    def mend(self, means: Floats, counts: Floats, before: Floats) -> Floats:
        """Centres, given the means (anything where the count is zero) and the centres before."""
        filled = counts > 0
        if self.refused and not filled.all():
            raise ValueError(
                f"cluster {int(np.argmin(filled))} has no rows left, and empty_clusters='error'; 'relocate' moves it, "
                "'keep' leaves it where it is, 'drop' leaves it out, and fewer n_clusters may be what the data supports"
            )
        return np.where(filled[:, None], means, before)


@dataclass(frozen=True)
class KMeansModel(Model):
    """The model; see the top of the file.

    Parameters
    ----------
    n_clusters : int
        Number of centres.
    shift : array of shape (d,)
        Origin of the frame, near the middle of the data. A large offset common to all rows then costs no digits.
    assignment : Assignment, default=Plain()
        How nearest centres are found. The answer does not depend on it.
    empty : EmptyClusters, default=EmptyClusters()
        What becomes of empty clusters.
    sphere : bool, default=False
        Whether rows and centres are directions, of length one (`unveil.clusters.kmeans.spherical`).

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.clusters.kmeans.model import KMeansModel
    >>> rows = np.array([[0.0], [1.0], [10.0], [12.0]])
    >>> model = KMeansModel(2, shift=rows.mean(axis=0))
    >>> params = model.start([[0.0], [10.0]])
    >>> statistics, memo = model.expect(model.prepare(params), Block(0, 0, rows))
    >>> model.locate(model.maximise(statistics, params)).ravel().tolist(), float(statistics["inertia"])
    ([0.5, 11.0], 5.0)

    The same on the sphere:

    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])
    >>> model = KMeansModel(2, shift=np.zeros(2), sphere=True)
    >>> params = model.start([[5.0, 0.0], [0.0, 2.0]])
    >>> statistics, memo = model.expect(model.prepare(params), Block(0, 0, rows))
    >>> model.locate(model.maximise(statistics, params)).round(3).tolist(), round(float(statistics["inertia"]), 9)
    ([[1.0, 0.0], [-0.316, 0.949]], 0.2)
    """

    n_clusters: int
    shift: NDArray[np.float64]
    assignment: Assignment = field(default_factory=Plain)
    empty: EmptyClusters = field(default_factory=EmptyClusters)
    sphere: bool = False

    smooth = False  # assignments jump

    @property
    def share(self) -> float:
        """What a squared distance of one costs: on the sphere half of it is one minus the cosine."""
        return 0.5 if self.sphere else 1.0

    def start(self, centres: ArrayLike) -> Centres:
        """Parameters from centres in the coordinates of the data, on the sphere of any length."""
        given = directions(centres) if self.sphere else np.asarray(centres, dtype=np.float64)
        return Centres(np.ascontiguousarray(given - self.shift))

    def locate(self, params: Centres) -> NDArray[np.float64]:
        """Centres in the coordinates of the data."""
        return params.centres + self.shift

    def prepare(self, params: Centres) -> Any:
        """The centres as the kernels want them."""
        return self.assignment.plan(params.centres, self.shift)

    def expect(
        self,
        plan: Any,
        block: Block,
        expectation: Expectation | None = None,
        memo: Any = None,
        random: Callable[[], np.random.Generator] | None = None,
    ) -> tuple[Statistics, Any]:
        """Assign the rows of a block. Assignment is hard by nature, so `expectation` and `random` go unused."""
        weights = NO_WEIGHTS if block.weights is None else readable(block.weights)
        memo, changed, inertia = self.assignment.visit(readable(block.rows), weights, plan, memo)
        weight, tally = self.weight(block), memo.tally
        return self.statistics(weight, inertia, changed, counts=tally.counts, sums=tally.sums), memo

    def weight(self, block: Block) -> float:
        """Of all rows of a block."""
        return float(len(block.rows) if block.weights is None else block.weights.sum())

    def statistics(self, weight: float, inertia: float, changed: int, **sums: Floats) -> Statistics:
        """What rows add up to, given their weight, squared distances, how many labels changed, and sums by cluster."""
        cost = self.share * inertia
        return Statistics(weight=weight, log_likelihood=-cost, free_energy=-cost, inertia=cost, changed=changed, **sums)

    def maximise(self, statistics: Statistics, params: Centres) -> Centres:
        """Weighted means, on the sphere their directions."""
        counts, before = statistics["counts"], params.centres
        means = statistics["sums"] / np.where(counts > 0, counts, 1.0)[:, None]
        means = self.empty.mend(means, counts, before)
        return Centres(directions_of_means(means, counts, self.shift, before) if self.sphere else means)

    def energy(self, statistics: Statistics, params: Centres) -> float:
        """Minus the cost, but for the squared norms of the rows, which no centre changes."""
        norms = np.einsum("ij,ij->i", params.centres, params.centres)
        return self.share * float(2.0 * np.vdot(params.centres, statistics["sums"]) - statistics["counts"] @ norms)

    def dead(self, statistics: Statistics) -> NDArray[np.intp]:
        """Clusters that no row belongs to."""
        return np.flatnonzero(statistics["counts"] <= 0)

    def events(self, statistics: Statistics, params: Centres) -> Mapping[str, int]:
        """How many clusters no row belongs to."""
        return {"emptied": len(self.dead(statistics))}

    def label(self, plan: Any, block: Block) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The nearest centre of each row of a block, the first of equals, and what it costs."""
        labels, squares = self.nearest(plan, block)
        return labels, self.share * squares

    def labels(self, plan: Any, block: Block) -> tuple[NDArray[np.int32], float]:
        """The nearest centre of each row of a block, the first of equals, and what all rows cost together."""
        weights = NO_WEIGHTS if block.weights is None else readable(block.weights)
        labels, cost = self.assignment.labelled(readable(block.rows), weights, plan)
        return labels, self.share * cost

    def apart(self, plan: Any, block: Block) -> NDArray[np.float64]:
        """Distance of each row of a block to each centre, (m, k); on the sphere one minus the cosine."""
        squares = self.squares(plan, block)
        return 0.5 * np.sqrt(squares) ** 2 if self.sphere else np.sqrt(squares, out=squares)

    def nearest(self, plan: Any, block: Block) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The nearest centre of each row of a block, the first of equals, and the squared distance to it."""
        return self.assignment.nearest(readable(block.rows), plan)

    def squares(self, plan: Any, block: Block) -> NDArray[np.float64]:
        """Squared distance of each row of a block to each centre, (m, k)."""
        return to_all(readable(block.rows), plan.shift, plan.centres)

    def framed(self, block: Block, which: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows of a block, in the frame: what a centre on them would be."""
        return np.asarray(block.rows[which] - self.shift, dtype=np.float64)


@dataclass(frozen=True)
class AssignmentsFixed:
    """Stop when the centres moved by no more than `tol` in all, as they do when no row changes its cluster.

    Centres are functions of the labels, to the bit: under a batch schedule the same labels leave them where they are.

    Parameters
    ----------
    tol : float
        Largest sum of squared shifts of the centres at which to stop, in squared units of the data.
    """

    tol: float = 0.0

    def __call__(self, before: Any, after: Any) -> bool:
        """Compare two states, each with `params`."""
        gap = (after.params.centres - before.params.centres).reshape(-1)
        return bool(np.add.accumulate(gap * gap)[-1] <= self.tol)  # one by one, as `descend_rows` adds them
