"""Probabilities of greatest likelihood where some are held, and some share one value.

For rows of probabilities, v the values of the groups, C their counts, and N (rows, groups) how often a group occurs
in a row of which the held entries leave b,

    maximise  sum_g C_g log v_g   with   N v = b.

Within one row the answer is v_g = b C_g / (n_g sum of C). Where groups bind several rows, the dual

    minimise  b . z - sum_g C_g log (N'z)_g,      v = C / N'z

is convex, smooth and has as many unknowns as there are rows: Newton's method (Boyd and Vandenberghe, Convex
Optimization, 2004, section 9.5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats, Labels
from unveil.families.held.entries import clusters

NEWTON_STEPS = 100
FULL_STEPS_BELOW = 1e-9  # what a Newton step promises, as a share of all counts, from which on full steps are safe
SHORTEST_STEP = 1e-8  # share of a Newton step that is tried
TIES_KEPT_WITHIN = 1e-8  # how far sums of probabilities may be off where ties could not be kept


class BoundRows(NamedTuple):
    """Rows bound together by groups."""

    rows: NDArray[np.intp]
    numbers: Labels  # of the groups, among all
    times: Floats  # N, (rows, groups)


def bound_rows(groups: Labels) -> list[BoundRows]:
    """The rows of a table (rows, entries) of groups, those that share one together; rows that are held are left out."""
    found = []
    for rows in clusters(groups):
        numbers = np.unique(groups[rows][groups[rows] >= 0])
        if len(numbers):
            places = [np.searchsorted(numbers, line[line >= 0]) for line in groups[rows]]
            times = np.stack([np.bincount(place, minlength=len(numbers)) for place in places])
            found.append(BoundRows(rows, numbers, times.astype(np.float64)))
    return found


def free_directions(groups: Labels) -> int:
    """In how many directions the values can move."""
    return sum(len(bound.numbers) - int(np.linalg.matrix_rank(bound.times)) for bound in bound_rows(groups))


def likeliest(
    groups: Labels, counts: Floats, current: Floats, floor: float, name: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """Probabilities (rows, entries) for these counts, and which rows had a count below `floor` as a share of the row.

    Where nothing that is bound together has a count, all stays as in `current`; what is held stays anyway.
    """
    held = groups < 0
    totals = counts.sum(axis=1, keepdims=True, where=~held)
    least = floor * np.where(totals > 0, totals, counts.sum()) * np.where(totals > 0, 1.0, current)
    raised, values = np.maximum(counts, least), current.copy()
    rest = 1.0 - np.sum(current, axis=1, where=held)
    for bound in bound_rows(groups):
        if totals[bound.rows].sum() > 0:
            here, free = groups[bound.rows], ~held[bound.rows]
            sums = np.zeros(len(bound.numbers))
            np.add.at(sums, np.searchsorted(bound.numbers, here[free]), raised[bound.rows][free])
            found = _solved(bound.times, sums, _left(rest[bound.rows], bound, name), name)
            values[bound.rows] = np.where(free, found[np.searchsorted(bound.numbers, here)], values[bound.rows])
    return values, np.any((counts < least) & ~held & (totals > 0), axis=1)


def _left(rest: Floats, bound: BoundRows, name: str) -> Floats:
    """What the held entries leave of 1, in each row."""
    if not np.all(rest > 0):
        worst = int(np.argmin(rest))
        raise ValueError(
            f"{name} that stay must leave something for the others; in row {int(bound.rows[worst])} they add up to "
            f"{1.0 - rest[worst]:.6g}"
        )
    return rest


def _solved(times: Floats, sums: Floats, rest: Floats, name: str) -> Floats:
    """Values of the groups of rows that are bound together."""
    if len(times) == 1:
        found: Floats = rest[0] * sums / (times[0] * sums.sum())
        return found
    dual = _newton(times, sums, rest)
    found = sums / (times.T @ dual)
    if not np.allclose(times @ found, rest, rtol=0, atol=TIES_KEPT_WITHIN):
        raise ValueError(
            f"tied_{name} cannot be kept: rows that are tied to each other would add up to "
            f"{np.round(times @ found + 1.0 - rest, 6).tolist()} rather than 1"
        )
    return found


def _newton(times: Floats, sums: Floats, rest: Floats) -> Floats:
    """The dual variables: downhill first, then, where rounding hides the fall, as long as the sums get closer."""
    dual = np.full(len(rest), sums.sum() / rest.sum())

    def height(at: Floats) -> float:
        slopes = times.T @ at
        return float(rest @ at - sums @ np.log(slopes)) if np.all(slopes > 0) else np.inf

    nearest = np.inf
    for _ in range(NEWTON_STEPS):
        slopes = times.T @ dual
        slope = rest - times @ (sums / slopes)
        step = -np.linalg.lstsq((times * (sums / slopes**2)) @ times.T, slope, rcond=None)[0]
        promise, share, here = -float(slope @ step), 1.0, height(dual)
        if promise < FULL_STEPS_BELOW * sums.sum():
            if not np.max(np.abs(slope)) < 0.5 * nearest:
                break
            nearest = float(np.max(np.abs(slope)))
        else:
            while share > SHORTEST_STEP and not height(dual + share * step) <= here - 1e-4 * share * promise:
                share *= 0.5
        dual = dual + share * step
    return dual
