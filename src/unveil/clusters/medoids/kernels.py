"""The loops of FasterPAM: what a swap of a medoid for another row would gain, and the swap itself.

Every row remembers its nearest and its second nearest medoid. With `near` and `far` the dissimilarities to the two,
taking medoid m away costs Σ (far - near) over its rows, whatever comes in its place. A candidate c then gains over a
row only where d(row, c) < far, which is rare: such rows are collected without a branch, and the sums go over them
alone (Schubert and Rousseeuw, "Fast and eager k-medoids clustering", 2021, algorithm 3).

Matrices are turned: row c of `toward` holds the dissimilarities of all rows to c. They stay in the precision they came
in; sums are float64.

All of a search is one kernel, into which each part is pasted once: every kernel that calls another is compiled with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from unveil.numerics.jit import inlined, kernel
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

LANES = 8  # rows that are looked at together
FEW_MEDOIDS = 8  # up to which all rows are
PARTIAL_SUMS = 8  # independent partial sums: the processor need not wait for one addition before the next
GAIN_ROUNDING = 1e-12  # a gain below this share of the loss is rounding; to take it could go round in circles


@inlined
def rank(toward: Any, medoids: Any, first: Any, second: Any, near: Any, far: Any) -> None:
    """Each row's nearest and second nearest medoid, and how far they are; of equals the first is the nearest."""
    for i in range(len(near)):
        near[i], far[i], first[i], second[i] = np.inf, np.inf, -1, -1
    for place in range(len(medoids)):
        for i in range(len(near)):
            here = toward[medoids[place], i]
            if here < near[i]:
                far[i], second[i] = near[i], first[i]
                near[i], first[i] = here, place
            elif here < far[i]:
                far[i], second[i] = here, place


@inlined
def removals(first: Any, near: Any, far: Any, weights: Any, out: Any) -> float:
    """The loss, and into `out` by how much it would grow without each medoid."""
    loss = 0.0
    for place in range(len(out)):
        out[place] = 0.0
    for i in range(len(weights)):
        loss += weights[i] * np.float64(near[i])
        out[first[i]] += weights[i] * (np.float64(far[i]) - np.float64(near[i]))
    return loss


@inlined
def exchange(
    toward: Any, medoids: Any, place: Any, candidate: int, first: Any, second: Any, near: Any, far: Any
) -> None:
    """Put `candidate` in the place of a medoid, and bring the ranks up to date."""
    medoids[place] = candidate
    for i in range(len(near)):
        here, anew = toward[candidate, i], False
        if first[i] == place:
            anew = not here < far[i]
            near[i], first[i] = (far[i], second[i]) if anew else (here, first[i])
        elif here < near[i]:
            far[i], second[i] = near[i], first[i]
            near[i], first[i] = here, place
        elif second[i] == place and here > far[i]:
            anew = True
        elif second[i] == place or here < far[i]:
            far[i], second[i] = here, place
        if anew:  # the second nearest may be any
            far[i], second[i] = np.inf, -1
            for other in range(len(medoids)):
                there = toward[medoids[other], i]
                if other != first[i] and there < far[i]:
                    far[i], second[i] = there, other


@inlined
def gains(
    toward: Any, candidate: int, first: Any, near: Any, far: Any, weights: Any, removal: Any, closer: Any, changes: Any
) -> float:
    """Into `changes` what the loss changes by for each medoid that leaves for a candidate; return what it does for any.

    The sum of the two is the change of the loss.
    """
    count, shared = 0, 0.0
    for i in range(len(weights)):
        closer[count] = i
        count += toward[candidate, i] < far[i]
    for place in range(len(changes)):
        changes[place] = removal[place]
    for t in range(count):
        i = closer[t]
        here, nearest, next_nearest = np.float64(toward[candidate, i]), np.float64(near[i]), np.float64(far[i])
        shared += weights[i] * (here - nearest if here < nearest else 0.0)
        changes[first[i]] += weights[i] * ((here if here > nearest else nearest) - next_nearest)
    return shared


@vector_code(types.float64)
def few_gains(
    code: Code, toward: Flat, begin: Value, first: Flat, near: Flat, far: Flat, weights: Flat, removal: Flat,
    changes: Flat,
) -> Value:  # fmt: skip
    """As `gains` for the candidate whose line begins at a place, for few medoids: all rows, without a question.

    Where medoids are few many rows gain, and it takes less time to look at all of them, eight at a time, with a sum
    for each medoid in a register (three medoids half of the time, five two thirds).
    """
    rows, nothing = weights.length, weights.full(0.0, LANES)
    whole, rest, shared = (rows >> 3) << 3, Variable(code.number(0.0)), Variable(nothing)

    def weigh(here: Value, nearest: Value, next_nearest: Value, weight: Value) -> tuple[Value, Value]:
        kept = here.larger(nearest) - next_nearest
        return weight * (here - nearest).smaller(0.0), weight * kept.smaller(0.0)

    def run(count: int) -> None:
        sums = [Variable(nothing) for _ in range(count)]
        with code.loop(0, whole, LANES) as i:
            places = (toward, begin + i), (near, i), (far, i), (weights, i)
            any_way, own = weigh(*(table.load(at, LANES).double() for table, at in places))
            shared.set(shared.value + any_way)
            labels = first.load(i, LANES)
            for place, total in enumerate(sums):
                total.set(total.value + labels.equals(place).choose(own, 0.0))
        for place, total in enumerate(sums):
            changes.store(place, removal[place] + total.value.fold(Value.__add__))

    code.switch(changes.length, range(2, FEW_MEDOIDS), run, lambda: run(FEW_MEDOIDS))
    with code.loop(whole, rows) as i:
        places = (toward, begin + i), (near, i), (far, i), (weights, i)
        any_way, own = weigh(*(table[at].double() for table, at in places))
        rest.set(rest.value + any_way)
        to = first[i].long()
        changes.store(to, changes[to] + own)
    return rest.value + shared.value.fold(Value.__add__)


@kernel
def search(
    toward: Any, weights: Any, medoids: Any, trial: Any, taken: Any, first: Any, second: Any, near: Any, far: Any,
    removal: Any, changes: Any, closer: Any, places: Any, rows: Any, rounds: int, resumed: bool, idle: int, losses: Any,
) -> int:  # fmt: skip
    """Swap medoids while that lowers the loss: candidates in order, each swapped in at once if it does.

    Descends from `medoids`, at most so many `rounds` of all candidates, and goes on where it was if it is `resumed`;
    the last `idle` candidates were then of no use.
    Where there are `places`, for each row of them and of `rows`: perturb the medoids, descend, keep what is better. A
    perturbation puts rows in the places of medoids, but for rows that are medoids already. `losses` begins with the
    loss and gets the best after each perturbation; without any, it is the loss. Returns the number of candidates in a
    row that were of no use: all rows, if the descent is at its end.
    """
    n = len(weights)
    for kick in range(max(len(places), 1)):
        candidate, place, incoming, gone, loss = 0, -1, -1, -1, np.inf
        if not resumed:
            idle = 0
            for i in range(n):
                taken[i] = False
            for p in range(len(medoids)):
                trial[p] = medoids[p]
                taken[medoids[p]] = True
            for t in range(places.shape[1] if len(places) > 0 else 0):
                if not taken[rows[kick, t]]:
                    taken[trial[places[kick, t]]], taken[rows[kick, t]] = False, True
                    trial[places[kick, t]] = rows[kick, t]
            rank(toward, trial, first, second, near, far)
        while True:
            if incoming >= 0:
                exchange(toward, trial, place, incoming, first, second, near, far)
            after = removals(first, near, far, weights, removal)
            if place < 0 or after < loss:
                loss = after
                if place >= 0:
                    taken[gone], taken[incoming], idle = False, True, 0
            elif incoming != gone:  # a gain that rounding feigned, as where nothing is left of the loss: back again
                incoming = gone
                continue
            incoming = -1
            while incoming < 0 and idle < n and candidate < rounds * n:
                idle += 1
                now = candidate % n
                candidate += 1
                if not taken[now]:
                    if 1 < len(changes) <= FEW_MEDOIDS:
                        shared = few_gains(toward, now * n, first, near, far, weights, removal, changes)
                    else:
                        shared = gains(toward, now, first, near, far, weights, removal, closer, changes)
                    place = 0
                    for other in range(1, len(changes)):
                        place = other if changes[other] < changes[place] else place
                    if changes[place] + shared < -GAIN_ROUNDING * loss:
                        incoming, gone = now, trial[place]
            if incoming < 0:
                break
        better = len(places) == 0 or loss < losses[kick] - GAIN_ROUNDING * losses[kick]
        for p in range(len(medoids) if better else 0):
            medoids[p] = trial[p]
        losses[min(kick + 1, len(losses) - 1)] = loss if better else losses[kick]
    return idle


@kernel
def potentials(toward: Any, near: Any, weights: Any, sums: Any, out: Any) -> None:
    """What the loss would be with each candidate besides the medoids that `near` tells of: Σ w min(near, d).

    There is room for partial `sums`.
    """
    for c in range(len(out)):
        for lane in range(PARTIAL_SUMS):
            sums[lane] = 0.0
        for begin in range(0, len(near) // PARTIAL_SUMS * PARTIAL_SUMS, PARTIAL_SUMS):
            for lane in range(PARTIAL_SUMS):
                i = begin + lane
                here = toward[c, i] if toward[c, i] < near[i] else near[i]
                sums[lane] += weights[i] * np.float64(here)
        out[c] = 0.0
        for i in range(len(near) // PARTIAL_SUMS * PARTIAL_SUMS, len(near)):
            out[c] += weights[i] * np.float64(toward[c, i] if toward[c, i] < near[i] else near[i])
        for lane in range(PARTIAL_SUMS):
            out[c] += sums[lane]
