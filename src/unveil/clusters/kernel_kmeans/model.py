"""Kernel K-means: K-means in a feature space that is known only by the inner products K of its points.

The squared distance of row i to the mean of cluster c, of weight s_c = Σ w_j (j in c), is

    d²(i, c) = K_ii - 2 Σ_j w_j K_ij / s_c + Σ_jl w_j w_l K_jl / s_c²          (j, l in c)

(Girolami 2002; Dhillon, Guan and Kulis 2004), and the cost is Σ w_i d²(i, c(i)). All of it follows from the sums
F_ci = Σ_j w_j K_ij over the rows j of each cluster. A pass gives every row to its nearest mean. Only rows that change
cluster change the sums, so a pass adds and subtracts their columns of K and no others; sums are taken from scratch
every so many passes, and once more before a run may end.

Where a pass has nothing left to do, rows move one by one as long as that lowers the cost (Hartigan 1975, who accounts
for the shift of both means): it costs little here, and ends at better optima. Neither step raises the cost if K is
positive semidefinite; where it is not, a pass that would is taken back, and single moves alone go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.clusters.kernel_kmeans.gram import NORM_ROUNDING, Gram, SumSegments, better_move
from unveil.clusters.seeding.far import candidates, uniform
from unveil.clusters.seeding.ground import compete, sample
from unveil.clusters.seeding.plusplus import draw_far
from unveil.core.arrays import Floats, Labels
from unveil.core.checkpoint import progress as progress_of
from unveil.core.protocols import Block, Engine
from unveil.core.result import Fit, History, Record, State, Status
from unveil.core.statistics import Statistics

REFRESH_PASSES = 32  # passes after which sums are taken from scratch
SERIAL_CELLS = 1 << 18  # cells of K that a thread adds sooner than a pool is asked


class FeatureMeans(NamedTuple):
    """Clusters as what distances to their means need, besides which row is where."""

    counts: Floats  # (k,), weight of each cluster
    norms: Floats  # (k,), squared norm of each mean

    def squares(self, sums: Floats, diagonal: Floats) -> Floats:
        """Squared distance of each row to each mean, (k, m); infinite where a cluster has no rows."""
        there = self.counts > 0
        scale = np.where(there, -2.0 / np.where(there, self.counts, 1.0), 0.0)
        squares = sums * scale[:, None]
        squares += np.where(there, self.norms, np.inf)[:, None]
        squares += diagonal
        return squares

    def nearest(self, squares: Floats, diagonal: Floats) -> Labels:
        """The nearest mean of each row; of those that rounding cannot tell apart, the first."""
        bar = squares.min(axis=0) + NORM_ROUNDING * np.abs(diagonal)
        return np.argmax(squares - NORM_ROUNDING * np.abs(self.norms)[:, None] <= bar, axis=0)


@dataclass(frozen=True, eq=False)
class FeatureProblem:
    """Rows in a feature space, their weights, and how many clusters are wanted."""

    gram: Gram
    weights: Floats
    n_clusters: int
    engine: Engine  # on threads of this process: what it maps writes into shared arrays

    def add(self, chosen: Labels, clusters: Labels, amounts: Floats, sums: Floats) -> None:
        """Add rows of the Gram matrix to the sums, all segments of them."""
        n, m = self.gram.shape
        if len(chosen) * m <= SERIAL_CELLS:
            self.gram.add(chosen, clusters, amounts, sums, 0, m)
            return

        def segment(block: Block) -> None:
            self.gram.add(chosen, clusters, amounts, sums, block.start, block.start + len(block.rows))

        for _ in self.engine.map(segment, SumSegments(m, n)):
            continue

    def sums(self, labels: Labels) -> Floats:
        """F from scratch."""
        sums = np.zeros((self.n_clusters, self.gram.shape[1]))
        counted = np.flatnonzero(self.weights)
        self.add(counted, labels[counted], self.weights[counted], sums)
        return sums


class ClusterState(NamedTuple):
    """A partition, and what is kept in step with it."""

    labels: Labels
    sums: Floats
    counts: Floats
    totals: Floats
    age: int
    events: dict[str, int]


def _blur(problem: FeatureProblem) -> float:
    """A smaller change of the cost is none."""
    return NORM_ROUNDING * float(problem.weights @ np.abs(problem.gram.diagonal))


class FeatureClusters:
    """A partition of the rows on its way to a better one."""

    def __init__(self, problem: FeatureProblem, labels: Labels) -> None:
        self.problem, self.labels = problem, labels.astype(np.intp)
        self.diagonal = problem.gram.diagonal
        self.blur = _blur(problem)
        self.events: Counter[str] = Counter()
        self.refresh()

    @property
    def state(self) -> ClusterState:
        """All that a pass goes by, besides the problem; to be kept."""
        labels, sums = self.labels.copy(), self.sums.copy()
        return ClusterState(labels, sums, self.counts.copy(), self.totals.copy(), self.age, dict(self.events))

    @classmethod
    def standing(cls, problem: FeatureProblem, state: ClusterState) -> FeatureClusters:
        """The partition that had this state."""
        made = cls.__new__(cls)
        made.problem, made.diagonal = problem, problem.gram.diagonal
        made.blur = _blur(problem)
        made.labels, made.sums = state.labels.copy(), state.sums.copy()
        made.counts, made.totals = state.counts.copy(), state.totals.copy()
        made.age, made.events = state.age, Counter(state.events)
        return made

    def refresh(self) -> None:
        """Sums from scratch."""
        self.sums = self.problem.sums(self.labels)
        self.age = 0
        self._total()

    def _total(self) -> None:
        """Weights and squared sums of the clusters, from the sums."""
        weights, k = self.problem.weights, self.problem.n_clusters
        own = self.sums[self.labels, np.arange(len(self.labels))]
        self.counts: Floats = np.bincount(self.labels, weights, k).astype(np.float64, copy=False)
        self.totals: Floats = np.bincount(self.labels, weights * own, k).astype(np.float64, copy=False)

    @property
    def means(self) -> FeatureMeans:
        """What distances follow from."""
        return FeatureMeans(self.counts, self.totals / np.where(self.counts > 0, self.counts, 1.0) ** 2)

    @property
    def cost(self) -> float:
        """The weighted sum of squared distances."""
        kept = self.totals / np.where(self.counts > 0, self.counts, 1.0)
        cost = float(self.problem.weights @ self.diagonal - kept.sum())
        return 0.0 if abs(cost) <= self.blur else cost

    def step(self) -> bool:
        """One pass, or single moves where a pass brings nothing. True if nothing brings anything any more."""
        if self.age >= REFRESH_PASSES:
            self.refresh()
        if self._reassign() or self._sweep():
            return False
        if self.age:
            self.refresh()
            return not (self._reassign() or self._sweep())
        return True

    def _reassign(self) -> bool:
        """Every row to its nearest mean; whether that lowered the cost."""
        before, labels = self.cost, self.labels
        means = self.means
        squares = means.squares(self.sums, self.diagonal)
        proposal = means.nearest(squares, self.diagonal)
        self._fill_empty(proposal, squares, means)
        if np.array_equal(proposal, labels):
            return False
        self._relabel(proposal)
        if self.cost > before + self.blur:
            self.events["taken_back"] += 1
            self._relabel(labels)
            return False
        return self.cost < before - self.blur

    def _fill_empty(self, proposal: Labels, squares: Floats, means: FeatureMeans) -> None:
        """Give each empty cluster the row furthest from its mean, if any is away from it and leaves others behind."""
        counted = self.problem.weights > 0
        members = np.bincount(proposal[counted], minlength=self.problem.n_clusters)
        if np.all(members):
            return
        away = squares[proposal, np.arange(len(proposal))]
        bar = 2 * NORM_ROUNDING * (np.abs(self.diagonal) + np.abs(means.norms[proposal]))
        away[~counted | (away <= bar)] = 0.0
        for cluster in np.flatnonzero(members == 0):
            furthest = int(np.argmax(np.where(members[proposal] > 1, away, 0.0)))
            if away[furthest] <= 0 or members[proposal[furthest]] < 2:
                return
            members[proposal[furthest]] -= 1
            members[cluster] += 1
            proposal[furthest] = cluster
            self.events["reseeded"] += 1

    def _relabel(self, proposal: Labels) -> None:
        """Take other labels: by the rows that change, or from scratch where those are many."""
        changed = np.flatnonzero((proposal != self.labels) & (self.problem.weights > 0))
        old, self.labels = self.labels, proposal
        if 2 * len(changed) >= len(proposal):
            self.refresh()
            return
        clusters = np.stack([proposal[changed], old[changed]], axis=1).ravel()
        amounts = np.stack([self.problem.weights[changed], -self.problem.weights[changed]], axis=1).ravel()
        self.problem.add(np.repeat(changed, 2), clusters, amounts, self.sums)
        self.age += 1
        self._total()

    def _sweep(self) -> bool:
        """Rows that lower the cost by a move, each once, in order; whether there were any."""
        weights, first, moved = self.problem.weights, 0, False
        while True:
            norms = self.means.norms
            row, target = better_move(first, self.sums, self.diagonal, weights, self.labels, self.counts, norms)
            if row < 0:
                break
            self._move(row, target)
            first, moved = row + 1, True
        self.age += moved
        return moved

    def _move(self, row: int, target: int) -> None:
        """Move one row, and keep the totals in step: (a ± b)² = a² ± 2ab + b²."""
        weight, own = float(self.problem.weights[row]), int(self.labels[row])
        square = weight * weight * self.diagonal[row]
        self.totals[own] += square - 2.0 * weight * self.sums[own, row]
        self.totals[target] += square + 2.0 * weight * self.sums[target, row]
        self.counts[own] -= weight
        self.counts[target] += weight
        pair, amounts = np.array([target, own]), np.array([weight, -weight])
        self.problem.add(np.array([row, row]), pair, amounts, self.sums)
        self.labels[row] = target


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Rows in feature space as a ground for seedings: one tile."""

    gram: Gram
    weights: Floats  # (1, n)

    def sweep(self, chosen: Labels, best: int, nearest: Floats, costs: Floats) -> None:
        """By the kernels of the candidates with all rows."""
        squares = _between(self.gram, chosen)
        squares[squares <= 2 * NORM_ROUNDING * np.abs(self.gram.diagonal)] = 0.0  # copies are not drawn again
        compete(squares, self.weights, best, nearest, costs)


def plus_plus(gram: Gram, weights: Floats, n_clusters: int, generator: np.random.Generator) -> Labels:
    """Rows drawn far from each other in feature space: greedy k-means++ (Arthur and Vassilvitskii 2007)."""
    draws = uniform(generator, 1, n_clusters, candidates(n_clusters))[0]
    seeds = draw_far(FeatureSpace(gram, weights[None]), draws)
    return filled_up(seeds, weights, n_clusters, generator)


def random_rows(gram: Gram, weights: Floats, n_clusters: int, generator: np.random.Generator) -> Labels:
    """Different rows, drawn at random among those with weight."""
    return filled_up((), weights, n_clusters, generator)


def filled_up(
    seeds: Sequence[int] | Labels, weights: Floats, n_clusters: int, generator: np.random.Generator
) -> Labels:
    """More rows, drawn at random, those with weight first, until there are enough."""
    left = generator.permutation(np.setdiff1d(np.arange(len(weights)), seeds))
    left = left[np.argsort(weights[left] <= 0, kind="stable")]
    return np.concatenate([np.array(seeds, np.intp), left[: n_clusters - len(seeds)]])


def _between(gram: Gram, chosen: Labels) -> Floats:
    """Squared distances in feature space of the chosen rows to all, (m, n)."""
    diagonal = gram.diagonal
    return np.asarray(diagonal[chosen][:, None] + diagonal - 2.0 * gram.rows(chosen))


def labelled(labels: ArrayLike, n_rows: int, n_clusters: int) -> Labels:
    """Labels to begin with, as someone gave them, if they are."""
    found = np.asarray(labels)
    if found.shape != (n_rows,):
        raise ValueError(f"init must have shape ({n_rows},), one label a row, got {found.shape}")
    wrong = ~np.isin(found, np.arange(n_clusters))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"init must hold labels from 0 to {n_clusters - 1}, got {found[row]} in row {row}")
    return found.astype(np.intp)


def around(gram: Gram, seeds: Labels) -> Labels:
    """The nearest seed of each row, the first of equals."""
    diagonal = gram.diagonal
    return FeatureMeans(np.ones(len(seeds)), diagonal[seeds]).nearest(_between(gram, seeds), diagonal)


def pivots(gram: Gram, weights: Floats, count: int, generator: np.random.Generator) -> Labels:
    """Landmarks: rows drawn in proportion to how far they are from the span of those before.

    Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber 2022). Fewer where all rows are in the span already.
    """
    left = np.maximum(gram.diagonal, 0.0)
    bar, factor, chosen = 1e-10 * left, np.empty((count, len(left))), list[int]()
    while len(chosen) < count:
        odds = (weights * left)[None]
        picked = sample(odds.sum(axis=1), odds.__getitem__, generator.random(1))
        if len(picked) == 0:
            break
        done = len(chosen)
        line = gram.rows(picked)[0] - factor[:done, picked[0]] @ factor[:done]
        factor[done] = line / np.sqrt(left[picked[0]])
        left -= factor[done] ** 2
        left[left <= bar] = 0.0
        left[picked] = 0.0
        chosen.append(int(picked[0]))
    return np.array(chosen, np.intp)


def climb(
    problem: FeatureProblem,
    labels: Labels,
    max_iter: int,
    tol: float,
    callbacks: Sequence[Callable[[State], None]] = (),
) -> Fit:
    """Improve a partition until nothing lowers the cost, or a pass lowers it by a share of no more than `tol`.

    Ctrl-C ends the run early and keeps what was reached. The parameters of the outcome are the `FeatureClusters`.
    """
    weight, inputs = float(problem.weights.sum()), (problem.gram, problem.weights, problem.n_clusters)
    progress = progress_of("kernel k-means", *inputs, labels, max_iter, tol)
    if progress.outcome is not None:
        state, *rest = progress.outcome
        return Fit(FeatureClusters.standing(problem, state), *rest)
    if progress.state is None:
        clusters, records = FeatureClusters(problem, labels), list[Record]()
    else:
        clusters, records = FeatureClusters.standing(problem, progress.state[0]), list(progress.state[1])
    began = perf_counter() - (records[-1].seconds if records else 0.0)
    if not np.isfinite(clusters.cost):
        raise ValueError("kernel must give finite numbers for all pairs of rows; scale X or its parameters down")
    status = Status.MAX_ITER
    try:
        for iteration in range(len(records) + 1, max_iter + 1):
            before = clusters.cost
            settled = clusters.step()
            after = clusters.cost
            records.append(Record(-after, -after, -after, weight, perf_counter() - began))
            statistics = Statistics(weight=weight, counts=clusters.counts)
            for callback in callbacks:
                callback(State(iteration, clusters, statistics, records[-1]))
            if settled or (tol > 0 and before - after <= tol * after):
                status = Status.CONVERGED
                break
            if progress.wanted:
                progress.reached((clusters.state, tuple(records)))
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        clusters.refresh()
    history = History(tuple(records), dict(clusters.events), status, True, (), len(records))
    statistics = Statistics(weight=weight, counts=clusters.counts)
    if progress.wanted and status is not Status.INTERRUPTED:
        progress.ended((clusters.state, statistics, history))
    return Fit(clusters, statistics, history)
