"""Lloyd's iteration on points that are at hand, for those who need centres and no estimator.

Every point goes to its nearest centre, every centre to the weighted mean of its points, until nothing changes (Lloyd,
"Least squares quantization in PCM", 1982). `lloyd` is the plain iteration in NumPy: for candidates of a start, and for
reference sets that are clustered many times over. `fitted_centres` are those of a K-means fit, where mixtures start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unveil.clusters.assignment.choice import choose
from unveil.clusters.assignment.direct import NOTHING, is_direct
from unveil.clusters.kmeans.descent import descend
from unveil.clusters.kmeans.model import AssignmentsFixed, Centres, KMeansModel
from unveil.clusters.kmeans.short_runs import short_runs
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.core.arrays import Floats, Labels
from unveil.core.loop import Parts, fit
from unveil.core.result import Status
from unveil.engines.threads import Threads
from unveil.expectations import Hard
from unveil.schedules.batch import Batch
from unveil.sources.array import ArraySource

TILE_SCORES = 1 << 20  # of points against all centres that are in memory at once
MOST_PASSES = 300
VARIANCE_SHARE = 1e-4  # of the mean variance of the columns at which centres stand still, as in scikit-learn


class LloydOutcome(NamedTuple):
    """Centres, the label of each point and the cost."""

    centres: Floats  # (k, d)
    labels: Labels
    cost: float


def lloyd(
    points: Floats, weights: Floats, centres: Floats, *, max_passes: int = 200, tolerance: float = 0.0
) -> LloydOutcome:
    """Lloyd's iteration from `centres`; one without points stays where it is.

    Points should be about the origin, where digits do not cancel. It ends when no label changes, or a pass
    lowers the cost by no more than the share `tolerance`, unless that is 0.

    >>> points = np.array([[0.0], [1.0], [9.0], [11.0]])
    >>> found = lloyd(points, np.ones(4), points[:2])
    >>> found.centres.ravel().tolist(), found.labels.tolist(), found.cost
    ([0.5, 10.0], [0, 0, 1, 1], 2.5)
    """
    before, labels = np.inf, np.full(len(points), -1)
    lengths = float(weights @ np.einsum("ij,ij->i", points, points)) if tolerance > 0 else 0.0
    for _ in range(max_passes):
        last = labels
        labels, sums, counts, cost = _passed(points, weights, centres)
        cost += lengths
        if np.array_equal(last, labels) or (tolerance > 0 and cost >= before * (1.0 - tolerance)):
            break
        before = cost
        centres = np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), centres)
    gaps = points - centres[labels]
    return LloydOutcome(centres, labels, float(weights @ np.einsum("ij,ij->i", gaps, gaps)))


def _passed(points: Floats, weights: Floats, centres: Floats) -> tuple[Labels, Floats, Floats, float]:
    """Labels, sums (k, d) and weights (k, 1) of the clusters, and the cost but for the squared norms of the points."""
    doubled, norms = -2.0 * centres, np.einsum("ij,ij->i", centres, centres)[:, None]
    labels, sums, counts, cost = np.empty(len(points), np.intp), np.zeros_like(centres), np.zeros_like(norms), 0.0
    size = max(TILE_SCORES // len(centres), 64)
    for first in range(0, len(points), size):
        tile = slice(first, first + size)
        scores = doubled @ points[tile].T
        scores += norms
        labels[tile] = places = np.argmin(scores, axis=0)
        every = np.arange(len(places))
        cost += float(weights[tile] @ scores[places, every])
        scores[...] = 0.0
        scores[places, every] = weights[tile]
        sums += scores @ points[tile]
        counts += scores.sum(axis=1, keepdims=True)
    return labels, sums, counts, cost


def fitted_centres(points: Floats, weights: Floats | None, n_clusters: int, seed: int) -> Floats:
    """Centres by K-means: from the best of several short runs, or where there is too much to do for one thread, from
    k-means++ on all threads.

    >>> points = np.array([[0.0], [1.0], [9.0], [11.0]])
    >>> sorted(fitted_centres(points, None, 2, seed=0).ravel().tolist())
    [0.5, 10.0]
    """
    (n, d), random = points.shape, np.random.default_rng(seed)
    tol = VARIANCE_SHARE * float(np.mean(np.var(points, axis=0)))
    if is_direct(n, d, n_clusters):
        origin, heavy = np.zeros(d), NOTHING if weights is None else np.asarray(weights, np.float64)
        start = short_runs(points, origin, heavy, n_clusters, random)
        if start is not None:
            return np.asarray(descend(points, origin, heavy, start[None], tol, MOST_PASSES).centres[0])
    return _fitted(np.ascontiguousarray(points), weights, n_clusters, random, tol)


def _fitted(points: Floats, weights: Floats | None, n_clusters: int, random: np.random.Generator, tol: float) -> Floats:
    """On all threads."""
    (n, d), origin = points.shape, np.zeros(points.shape[1])
    picked = PlusPlus()(points, weights, n_clusters, random)
    assignment = choose(n, d, n_clusters).ready(points, origin)
    model, source = KMeansModel(n_clusters, origin, assignment), ArraySource(points, weights)
    parts = Parts(model, source, Hard(), Batch(), Threads(), AssignmentsFixed(tol), max_iter=MOST_PASSES)
    outcome = fit(parts, Centres(points[picked]))
    if outcome.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # a start that was not finished is nothing to keep
    centres: Floats = outcome.params.centres
    return centres
