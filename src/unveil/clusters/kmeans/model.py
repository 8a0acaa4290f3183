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
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.clusters.assignment.assign import Assignment, Filter, Known
from unveil.clusters.assignment.cluster_sums import Tally
from unveil.clusters.assignment.distances import to_all, to_own
from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.rules import Plain
from unveil.core.arrays import Array, Floats
from unveil.core.protocols import Block, Expectation, Model
from unveil.core.statistics import Statistics
from unveil.numerics.tiles import readable

NO_LABELS = np.empty(0, np.int32)  # no labels
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


class CentreMemo(NamedTuple):
    """What a partition remembers."""

    known: Known
    tally: Tally


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
    """

    n_clusters: int
    shift: NDArray[np.float64]
    assignment: Assignment = field(default_factory=Plain)
    empty: EmptyClusters = field(default_factory=EmptyClusters)

    smooth = False  # assignments jump

    def start(self, centres: ArrayLike) -> Centres:
        """Parameters from centres in the coordinates of the data."""
        return Centres(np.ascontiguousarray(np.asarray(centres, dtype=np.float64) - self.shift))

    def locate(self, params: Centres) -> NDArray[np.float64]:
        """Centres in the coordinates of the data."""
        return params.centres + self.shift

    def prepare(self, params: Centres) -> Filter:
        """The centres as the kernels want them."""
        return self.assignment.plan(params.centres, self.shift)

    def expect(
        self,
        plan: Filter,
        block: Block,
        expectation: Expectation | None = None,
        memo: CentreMemo | None = None,
        random: Callable[[], np.random.Generator] | None = None,
    ) -> tuple[Statistics, CentreMemo]:
        """Assign the rows of a block. Assignment is hard by nature, so `expectation` and `random` go unused."""
        rows = readable(block.rows)
        known = self.assignment.assign(rows, plan, None if memo is None else memo.known)
        before, tally = (NO_LABELS, None) if memo is None else (memo.known.bounds.labels, memo.tally)
        weights = NO_WEIGHTS if block.weights is None else readable(block.weights)
        labels = known.bounds.labels
        tally, changed, inertia = self.assignment.account(
            rows, self.shift, weights, before, labels, tally, plan.centres
        )
        weight = float(len(rows) if block.weights is None else block.weights.sum())
        statistics = Statistics(
            weight=weight,
            log_likelihood=-inertia,
            free_energy=-inertia,
            counts=tally.counts,
            sums=tally.sums,
            inertia=inertia,
            changed=changed,
        )
        return statistics, CentreMemo(known, tally)

    def maximise(self, statistics: Statistics, params: Centres) -> Centres:
        """Weighted means."""
        counts = statistics["counts"]
        means = statistics["sums"] / np.where(counts > 0, counts, 1.0)[:, None]
        return Centres(self.empty.mend(means, counts, params.centres))

    def energy(self, statistics: Statistics, params: Centres) -> float:
        """Minus the cost, but for the squared norms of the rows, which no centre changes."""
        norms = np.einsum("ij,ij->i", params.centres, params.centres)
        return float(2.0 * np.vdot(params.centres, statistics["sums"]) - statistics["counts"] @ norms)

    def dead(self, statistics: Statistics) -> NDArray[np.intp]:
        """Clusters that no row belongs to."""
        return np.flatnonzero(statistics["counts"] <= 0)

    def events(self, statistics: Statistics, params: Centres) -> Mapping[str, int]:
        """How many clusters no row belongs to."""
        return {"emptied": len(self.dead(statistics))}

    def label(self, plan: Filter, block: Block) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The nearest centre of each row of a block, the first of equals, and the squared distance to it."""
        labels = self.assignment.assign(readable(block.rows), plan, None).bounds.labels
        return labels, squared_distances_to(plan, block.rows, labels)

    def apart(self, plan: Filter, block: Block) -> NDArray[np.float64]:
        """Distance of each row of a block to each centre, (m, k)."""
        return np.sqrt(squared_distances(plan, block.rows))

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
        gap = after.params.centres - before.params.centres
        return bool(np.vdot(gap, gap) <= self.tol)


def squared_distances(plan: Filter, rows: Array) -> NDArray[np.float64]:
    """Squared distance of each row to each centre, (m, k)."""
    if is_bare(plan):
        return distances(rows, plan.shift, plan.centres)
    out = np.empty((len(rows), len(plan.centres)))
    to_all(readable(rows), plan.shift, np.ascontiguousarray(plan.centres.T), out)
    return out


def squared_distances_to(plan: Filter, rows: Array, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Squared distance of each row to the centre that its label names."""
    if is_bare(plan):
        return distances_to(rows, plan.shift, plan.centres, labels)
    out = np.empty(len(rows))
    to_own(readable(rows), plan.shift, plan.centres, labels, out)
    return out


def distances_to(
    rows: Array, shift: NDArray[np.float64], centres: NDArray[np.float64], labels: NDArray[np.int32]
) -> NDArray[np.float64]:
    """What `squared_distances_to` gives, in NumPy, coordinate after coordinate."""
    total = np.zeros(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, (origin, coordinates) in enumerate(zip(shift, centres.T, strict=True)):
            gaps = rows[:, column].astype(np.float64) - origin - coordinates[labels]
            total += gaps * gaps
    return total


def is_bare(plan: Any) -> bool:
    """Whether the plan was made for few rows: it has nothing for the kernels, and no kernel need be compiled."""
    return isinstance(plan, Filter) and len(plan.norms) == 0
