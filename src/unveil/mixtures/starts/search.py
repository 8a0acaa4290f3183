"""Where a mixture of Gaussians starts when nobody says: a few climbs over a sample, then splits and merges.

A climb over a sample takes a compiled call a pass (`unveil.families.small.table`). The first is from K-means; where
columns have very different spreads, which may be that of their units, also from K-means of columns of equal spread, and
the higher counts. Where no component looks like two groups, that is the start: other climbs may end higher, but hardly
ever where the groups are. Else it is searched from: where two components share one group and another spans two, EM has
no way out, so one of the two is merged with its neighbour and the other, whose halves are apart, split (Ueda et al.,
SMEM, 2000), as long as that helps. Where climbs end unsound, or moves cannot be made, others follow, from K-means of
whitened rows and from k-means++, until two end at the same height. Restarts are from k-means++.

* What a merge costs at most is Runnalls' bound (2007), n/2 [(w_a + w_b) log|C_ab| - w_a log|C_a| - w_b log|C_b|].
* What a split gains is seen by a climb of two components on the rows of one.

A component that stands for no more rows than it takes to span it is never taken for a gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from unveil.clusters.kmeans.lloyd import fitted_centres
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.core.arrays import Floats, Indices, Labels
from unveil.core.stopping import remaining_gain
from unveil.families.small.appearance import Appearance, are_apart, look_at
from unveil.families.small.table import Components, GaussianTable
from unveil.mixtures.model.model import MixtureParams
from unveil.mixtures.starts.whitening import whitening

FIRST = ("kmeans", "whitened", "rows", "centres", "kmeans", "rows", "centres", "rows")
OTHERS = ("centres", "rows")  # of further restarts
UNLIKE = 2.0  # times the spread of another column: K-means goes by columns as they are, and by columns of equal spread
FORESIGHT = 5.0  # passes
ROUGH = 0.1  # nats for each thousand rows (and at least so much) still to be gained where a climb of the search ends
MOST_PASSES = 20  # that such a climb may take; the climb that goes on from it has leaps
SPLIT_PASSES, SPLIT_ROUGH = 30, 0.3  # the same where two components are tried on the rows of one
OWN = 0.05  # responsibility from which a row counts among those of a component
TRIALS = 4  # moves that may fail before the search ends
FULL_PASSES = 8  # passes over all rows that a search may cost,
STARTS_SHARE = 0.5  # of what a search may cost: no further climb is begun then,
MOVES_SHARE = 2.0  # and no further move then: where a component is two groups, a move is worth several passes
CALL_WORK = 4e4  # what Python takes between passes, in such products
LEAST_WORK = 3e7  # or so many products of a row's statistic and a component: some milliseconds
SLACK = 3.0  # times its gain: a split is tried with a merge whose bound is so much higher, since it is but a bound
LEAST_PASSES = 3  # before a move is judged
HOPE = 3.0  # times the expected gain: a move that would not get there with so much is given up


class SampleClimb(NamedTuple):
    """A vector of parameters after a climb, and how high it came."""

    vector: Floats
    bounds: list[float]

    @property
    def expected(self) -> float:
        """Where the climb would end; what it gains so slowly that nobody can tell counts for a few passes only."""
        last = self.bounds[-1] - self.bounds[-2] if len(self.bounds) > 1 else 0.0
        return self.bounds[-1] + min(remaining_gain(self.bounds), FORESIGHT * max(last, 0.0))


class StartSearch:
    """Climbs over a sample of rows; `tried` counts those from a start of their own."""

    def __init__(self, table: GaussianTable, points: Floats, n_components: int, n_rows: int) -> None:
        self.table, self.points, self.n_components = table, points, n_components
        self.tried = 0
        self.scale = max(table.weight / 1000.0, 1.0)
        self.worked, n_statistics = 0.0, table.family.n_statistics(points.shape[1])
        self.row_work = n_components * n_statistics  # of a row in a pass
        self.budget = max(FULL_PASSES * n_rows * self.row_work, LEAST_WORK)

    def _has_spent(self, share: float = 1.0) -> bool:
        """Whether the search has cost so much of what it may, next to the fit itself."""
        return self.worked >= share * self.budget

    def starts(self, seed: int, count: int) -> Iterator[MixtureParams | None]:
        """Parameters to go on from with all rows, one set for each seed of `count`; None where no climb was sound."""
        for number, one in enumerate(np.random.SeedSequence(seed).spawn(count)):
            self.worked = 0.0
            random = np.random.default_rng(one)
            best = self._best_climb(OTHERS, random, believing=False) if number else self._best_climb(FIRST, random)
            yield None if best is None else MixtureParams(*self.table.params(best.vector))

    # -- climbs --------------------------------------------------------------------------------------------------------

    def _best_climb(
        self, kinds: Sequence[str], random: np.random.Generator, believing: bool = True
    ) -> SampleClimb | None:
        """The first climb in which no component looks like two groups, or after moves, if it is believed.

        Else the best of several, until two agree.
        A component without spread of its own climbs without end (Day, 1969), so climbs to one are passed over; where
        most end so it is the data that are so, and no search helps.
        """
        found: list[SampleClimb] = []
        lost = 0
        for kind in kinds:
            self.tried += 1
            climb = self._sound_climb(kind, random)
            if climb is None:
                lost += 1
            else:
                seen = look_at(self.table, climb.vector)
                plausible = not seen.doubled().any()
                found.append(self._split_and_merge(climb, seen) if self._can_move() else climb)
                if self._agree(found) or (believing and (plausible or self._can_move())):
                    break
            if self._has_spent(STARTS_SHARE):
                break
        return None if lost > len(found) else max(found, key=lambda one: one.expected)

    def _agree(self, found: Sequence[SampleClimb]) -> bool:
        """Whether the two best are as good as each other."""
        heights = sorted(climb.expected for climb in found)
        return len(found) > 1 and heights[-1] - heights[-2] <= ROUGH * self.scale

    def _sound_climb(self, kind: str, random: np.random.Generator) -> SampleClimb | None:
        """A climb from a start of a kind, the higher of two where it is unclear what K-means should go by."""
        climbs = (self._climbed(first, ROUGH * self.scale, MOST_PASSES) for first in self._firsts(kind, random))
        sound = [climb for climb in climbs if climb is not None and not self.table.spiked(climb.vector)]
        return max(sound, key=lambda climb: climb.expected, default=None)

    def _firsts(self, kind: str, random: np.random.Generator) -> Iterator[Floats]:
        """First vectors of a kind."""
        seed, points, weights = int(random.integers(1 << 31)), self.points, self.table.weights
        if kind == "kmeans":
            yield self._by_k_means(points, seed)
            units = spreads(points, weights)
            if units.max() > UNLIKE * units.min():
                yield self._by_k_means(points / units, seed)
        elif kind == "whitened":
            yield self._by_k_means(points @ whitening(points, weights), seed)
        else:
            yield self._seeded(kind, random)

    def _by_k_means(self, points: Floats, seed: int) -> Floats:
        """A vector from the groups of K-means."""
        return self._nearest(points, fitted_centres(points, self.table.weights, self.n_components, seed))

    def _seeded(self, kind: str, random: np.random.Generator) -> Floats:
        """A vector from k-means++: the rows nearest to each centre, or the centres with a common spread."""
        points, weights = self.points, self.table.weights
        picked = PlusPlus()(points, weights, self.n_components, random)
        vector = self._nearest(points, points[picked])
        return self.table.scattered(vector, picked) if kind == "centres" else vector

    def _nearest(self, points: Floats, centres: Floats) -> Floats:
        """A vector from the groups of rows that are nearest to each of some centres."""
        return self.table.labelled(nearest(points, centres), len(centres))

    def _climbed(self, vector: Floats, enough: float, most: int, target: float = -np.inf) -> SampleClimb | None:
        """A climb until no more than `enough` is expected; None if it is not sound, or has no hope of `target`."""
        table, sums = self.table, np.empty_like(vector)
        bounds: list[float] = []
        while len(bounds) < most:
            fresh = np.empty_like(vector)
            bound = table.sweep(vector, fresh, sums)
            self.worked += max(table.x.shape[1] * self.row_work, CALL_WORK)
            if not np.isfinite(bound):
                return None
            bounds.append(bound)
            vector = fresh
            rest = remaining_gain(bounds)
            if bound + HOPE * rest < target:
                return None
            if rest <= enough or (bound > target > -np.inf and len(bounds) >= LEAST_PASSES):
                break
        return SampleClimb(vector, bounds) if bounds and bounds[-1] > target and table.stands(sums) else None

    # -- moves ---------------------------------------------------------------------------------------------------------

    def _can_move(self) -> bool:
        """Whether a component can be split by itself, and two others merged."""
        return self.n_components > 2 and self.table.own_spread

    def _split_and_merge(self, best: SampleClimb, seen: Appearance) -> SampleClimb:
        """Moves from `best` until no component looks like two groups, or none helps; they may cost as much again."""
        while seen.doubled().any() and not self._has_spent(MOVES_SHARE):
            gains, halves = self._splits(seen)
            if not np.isfinite(gains).any():
                break
            for vector in self._moves(best.vector, gains, halves):
                climb = self._climbed(vector, 0.0, MOST_PASSES, target=best.bounds[-1])
                if climb is not None:
                    climb = self._climbed(climb.vector, ROUGH * self.scale, MOST_PASSES)
                higher = climb is not None and climb.expected > best.expected + ROUGH * self.scale
                if climb is not None and higher and not self.table.spiked(climb.vector):
                    best, seen = climb, look_at(self.table, climb.vector)
                    break
            else:
                break
        return best

    def _moves(self, vector: Floats, gains: Floats, halves: list[Floats | None]) -> list[Floats]:
        """The most promising moves: one component split, another merged with its neighbour."""
        costs, neighbours = self._merges(vector)
        promise = gains[:, None] - costs[None, :]
        np.fill_diagonal(promise, -np.inf)
        order = np.argsort(-promise, axis=None)[:TRIALS]
        found = []
        for split, merged in zip(*np.unravel_index(order, promise.shape), strict=True):
            if promise[split, merged] < -SLACK * gains[split] or not np.isfinite(gains[split]):
                break
            half = halves[int(split)]
            assert half is not None
            found.append(self._moved(vector, int(split), half, int(merged), int(neighbours[merged])))
        return found

    def _splits(self, seen: Appearance) -> tuple[Floats, list[Floats | None]]:
        """What splitting each component that looks like two groups, and is, would gain; and its two halves."""
        table, k, shares = self.table, self.n_components, seen.shares
        gains = np.full(k, -np.inf)
        halves: list[Floats | None] = [None] * k
        for component in np.flatnonzero(seen.doubled()).tolist():
            rows = shares[component] > OWN * table.weights
            part = StartSearch(table.part(rows, shares[component]), self.points[:0], 2, 0)
            if not part.table.stands_twice():
                continue
            whole = part.table.labelled(np.zeros(part.table.x.shape[1], np.intp), 1)
            alone = part.table.sweep(whole, np.empty_like(whole), np.empty_like(whole))
            climb = part._climbed(part.table.labelled(part.table.halves(), 2), SPLIT_ROUGH, SPLIT_PASSES)
            self.worked += part.worked
            if climb is not None and np.isfinite(alone) and are_apart(part.table.split(climb.vector)):
                gains[component], halves[component] = climb.bounds[-1] - alone, climb.vector
        return gains, halves

    def _merges(self, vector: Floats) -> tuple[Floats, Indices]:
        """Runnalls' bound on what merging each component with its nearest neighbour costs; and the neighbours."""
        table, parts = self.table, self.table.split(vector)
        one, other = np.triu_indices(self.n_components, 1)
        both, _, merged = table.merged(chosen(parts, one), chosen(parts, other))
        weights, _, spread = parts
        sizes = table.log_determinants(spread)
        bound = both * table.log_determinants(merged) - weights[one] * sizes[one] - weights[other] * sizes[other]
        costs = np.full((self.n_components, self.n_components), np.inf)
        costs[one, other] = costs[other, one] = 0.5 * table.weight * bound
        neighbours: Indices = np.argmin(costs, axis=1)
        return costs.min(axis=1), neighbours

    def _moved(self, vector: Floats, split: int, half: Floats, merged: int, neighbour: int) -> Floats:
        """`vector` with `merged` joined to its neighbour, and its place taken by a half of `split`."""
        moved = vector.copy()
        weights, means, spread = self.table.split(moved)
        parts = weights, means, spread
        joined = self.table.merged(chosen(parts, [neighbour]), chosen(parts, [merged]))
        weights[neighbour], means[neighbour], spread[neighbour] = (part[0] for part in joined)
        shares, places, widths = self.table.split(half)
        whole = weights[split]
        for place, component in enumerate((split, merged)):
            weights[component] = whole * shares[place]
            means[component], spread[component] = places[place], widths[place]
        weights /= weights.sum()
        return moved


def spreads(points: Floats, weights: Floats) -> Floats:
    """Standard deviations of the columns; 1 where there is none."""
    shares = weights / weights.sum()
    found = np.sqrt(shares @ (points - shares @ points) ** 2)
    return np.where(found > 0, found, 1.0)


def chosen(parts: Components, components: Any) -> Components:
    """Weights, means and spread of some components."""
    weights, means, spread = parts
    return weights[components], means[components], spread[components]


def nearest(points: Floats, centres: Floats) -> Labels:
    """The number of the nearest centre of each point."""
    found: Labels = np.argmin(np.sum(centres**2, axis=1) - 2.0 * (points @ centres.T), axis=1)
    return found
