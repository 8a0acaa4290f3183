"""The loops of FasterPAM: what a swap of a medoid for another row would gain, and the swap itself.

Every row remembers its nearest and its second nearest medoid. With `near` and `far` the dissimilarities to the two,
taking medoid m away costs Σ (far - near) over its rows, whatever comes in its place. A candidate c then gains over a
row only where d(row, c) < far, which is rare: such rows are collected without a branch, and the sums go over them
alone (Schubert and Rousseeuw, "Fast and eager k-medoids clustering", 2021, algorithm 3).

Matrices are turned: row c of `toward` holds the dissimilarities of all rows to c. They stay in the precision they came
in; sums are float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.numerics.jit import kernel

PARTIAL_SUMS = 8  # independent partial sums: the processor need not wait for one addition before the next
GAIN_ROUNDING = 1e-12  # a gain below this share of the loss is rounding; to take it could go round in circles


class Ranks(NamedTuple):
    """For each row its nearest medoid, the second nearest, and how far they are."""

    first: Any  # place among the medoids
    second: Any
    near: Any  # dissimilarity to the first
    far: Any


@kernel
def rank(toward: Any, medoids: Any, ranks: Any) -> None:
    """Fill `ranks` from scratch; of equals the first medoid is the nearest."""
    ranks.near[:], ranks.far[:] = np.inf, np.inf
    ranks.first[:], ranks.second[:] = -1, -1
    for place in range(len(medoids)):
        row = toward[medoids[place]]
        for i in range(len(row)):
            if row[i] < ranks.near[i]:
                ranks.far[i], ranks.second[i] = ranks.near[i], ranks.first[i]
                ranks.near[i], ranks.first[i] = row[i], place
            elif row[i] < ranks.far[i]:
                ranks.far[i], ranks.second[i] = row[i], place


@kernel
def removals(ranks: Any, weights: Any, out: Any) -> float:
    """The loss, and into `out` by how much it would grow without each medoid."""
    loss = 0.0
    out[:] = 0.0
    for i in range(len(weights)):
        near = np.float64(ranks.near[i])
        loss += weights[i] * near
        out[ranks.first[i]] += weights[i] * (np.float64(ranks.far[i]) - near)
    return loss


@kernel
def _second(toward: Any, medoids: Any, ranks: Any, i: int) -> None:
    """Find the second nearest medoid of row `i` anew."""
    first = ranks.first[i]
    far, second = np.inf, -1
    for place in range(len(medoids)):
        there = toward[medoids[place], i]
        if place != first and there < far:
            far, second = there, place
    ranks.far[i], ranks.second[i] = far, second


@kernel
def exchange(toward: Any, medoids: Any, place: Any, candidate: int, ranks: Any) -> None:
    """Put `candidate` in the place of a medoid, and bring the ranks up to date."""
    medoids[place] = candidate
    row, first, second, near, far = toward[candidate], ranks.first, ranks.second, ranks.near, ranks.far
    for i in range(len(row)):
        here = row[i]
        if first[i] == place:
            if here < far[i]:
                near[i] = here
            else:
                near[i], first[i] = far[i], second[i]
                _second(toward, medoids, ranks, i)
        elif here < near[i]:
            far[i], second[i] = near[i], first[i]
            near[i], first[i] = here, place
        elif second[i] == place and here > far[i]:
            _second(toward, medoids, ranks, i)
        elif second[i] == place or here < far[i]:
            far[i], second[i] = here, place


@kernel
def _gains(row: Any, ranks: Any, weights: Any, closer: Any, changes: Any) -> float:
    """Add to `changes` what depends on the medoid that leaves; return what does not."""
    count, shared = 0, 0.0
    for i in range(len(row)):
        closer[count] = i
        count += row[i] < ranks.far[i]
    for t in range(count):
        i = closer[t]
        here, near, far = np.float64(row[i]), np.float64(ranks.near[i]), np.float64(ranks.far[i])
        shared += weights[i] * min(here - near, 0.0)
        changes[ranks.first[i]] += weights[i] * (max(here, near) - far)
    return shared


@kernel
def sweep(
    toward: Any, weights: Any, medoids: Any, taken: Any, ranks: Any, removal: Any, loss: float, idle: int
) -> tuple[float, int, int]:
    """One round of candidates in order, each swapped in at once if that lowers the loss.

    Ends early once `idle`, the number of candidates in a row that were of no use, reaches all rows. Returns the loss,
    that number and the number of swaps.
    """
    changes, closer, swaps = np.empty_like(removal), np.empty(len(weights) + 1, np.int32), 0
    for candidate in range(len(weights)):
        if idle >= len(weights):
            break
        idle += 1
        if taken[candidate]:
            continue
        changes[:] = removal
        shared = _gains(toward[candidate], ranks, weights, closer, changes)
        place = np.argmin(changes)
        if changes[place] + shared < -GAIN_ROUNDING * loss:
            gone = medoids[place]
            exchange(toward, medoids, place, candidate, ranks)
            after = removals(ranks, weights, removal)
            if after < loss:
                taken[gone], taken[candidate] = False, True
                loss, idle, swaps = after, 0, swaps + 1
            else:  # a gain that rounding feigned, as where nothing is left of the loss: it would never end
                exchange(toward, medoids, place, gone, ranks)
                removals(ranks, weights, removal)
    return loss, idle, swaps


@kernel
def iterate(toward: Any, weights: Any, medoids: Any, ranks: Any, places: Any, rows: Any, losses: Any) -> None:
    """Perturb the medoids, descend, and keep what is better: once for each row of `places` and `rows`.

    A perturbation puts `rows` in the `places` of medoids, but for rows that are medoids already. `losses` holds the
    loss to begin with, and gets the best loss after each perturbation.
    """
    taken, removal = np.zeros(len(weights), np.bool_), np.empty(len(medoids))
    for kick in range(len(places)):
        trial = medoids.copy()
        taken[:] = False
        taken[trial] = True
        for t in range(places.shape[1]):
            place, row = places[kick, t], rows[kick, t]
            if not taken[row]:
                taken[trial[place]], taken[row] = False, True
                trial[place] = row
        rank(toward, trial, ranks)
        loss, idle = removals(ranks, weights, removal), 0
        while idle < len(weights):
            loss, idle, _ = sweep(toward, weights, trial, taken, ranks, removal, loss, idle)
        best = losses[kick]
        losses[kick + 1] = best
        if loss < best - GAIN_ROUNDING * best:
            losses[kick + 1] = loss
            medoids[:] = trial


@kernel
def potentials(toward: Any, near: Any, weights: Any, out: Any) -> None:
    """What the loss would be with each candidate besides the medoids that `near` tells of: Σ w min(near, d)."""
    whole = len(near) // PARTIAL_SUMS * PARTIAL_SUMS
    sums = np.empty(PARTIAL_SUMS)
    for c in range(len(out)):
        row = toward[c]
        sums[:] = 0.0
        for first in range(0, whole, PARTIAL_SUMS):
            for lane in range(PARTIAL_SUMS):
                i = first + lane
                sums[lane] += weights[i] * np.float64(min(row[i], near[i]))
        for i in range(whole, len(near)):
            sums[0] += weights[i] * np.float64(min(row[i], near[i]))
        out[c] = sums.sum()
