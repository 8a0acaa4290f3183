"""What each group of rows is like, column by column, and what sets it apart from all other rows and from its neighbour.

For numbers and counts, means in pooled standard deviations (Cohen's d, 1988):

    d = (mean inside - mean outside) / s,   s² = (W_in s_in² + W_out s_out²) / (W_in + W_out)

For a level of a category with shares p and q, Cohen's h = 2 asin √p - 2 asin √q, which is on the same scale: .2 is
small, .5 plain to see, .8 large. Rows count for the group they most likely belong to; missing cells for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.reporting.study.placed import PlacedRows
from unveil.reporting.study.rows import ModelRows

SURE_PROBABILITY = 0.9  # a row whose likeliest group has at least this probability is placed surely
LEAST_DIFFERENCE = 0.5  # differences below this are not told
COLUMNS_TOLD = 3  # columns told of per group
TYPICAL_ROWS = 3  # rows that stand for a group
BORDERLINE_ROWS = 10  # rows between groups that are listed, over all groups
FLAT = 1e-12  # of the column's variance: a group may be a single value, and rounding must not make d infinite


TIE = 1e-6  # between a value that a group has and one that it has not
TINY = float(np.finfo(np.float64).tiny)


class Difference(NamedTuple):
    """How a group differs from other rows in one column."""

    column: int
    level: int  # of a category or yes/no, the one that differs most; -1 for numbers
    size: float  # Cohen's d or h
    inside: float  # mean, or share of the level
    outside: float


class ColumnProfile(NamedTuple):
    """One column, by group."""

    weight: Floats  # (groups,) of the cells that are there
    mean: Floats  # (groups,) of numbers and counts, as the model sees them
    deviation: Floats  # (groups,)
    shares: Floats  # (groups, levels) of categories and yes/no; no levels for numbers


class GroupRows(NamedTuple):
    """One group of rows."""

    number: int  # from 0
    rows: int
    share: float  # of the weight
    sure: float  # share of its weight that is placed surely
    apart: tuple[Difference, ...]  # from all other rows, every column, the largest first
    nearest: int  # the group that is most like it; itself where there is no other
    apart_from_nearest: tuple[Difference, ...]
    typical: tuple[int, ...]  # rows of the table, from 0


class Grouping(NamedTuple):
    """All groups, the columns by group, and the rows that lie between groups."""

    groups: tuple[GroupRows, ...]
    profiles: tuple[ColumnProfile, ...]
    borderline: tuple[int, ...]  # rows of the model's rows, from 0, the least sure first


def grouping(rows: ModelRows, placed: PlacedRows, n_groups: int) -> Grouping:
    """Groups in order; those without rows are left out."""
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    profiles = tuple(
        _discrete(rows.coded[:, j], weights, placed.group, n_groups, len(levels))
        if levels
        else _continuous(rows.coded[:, j], weights, placed.group, n_groups)
        for j, levels in enumerate(rows.levels)
    )
    total = np.bincount(placed.group, weights, minlength=n_groups)
    sure = np.bincount(placed.group, weights * (placed.probability >= SURE_PROBABILITY), minlength=n_groups)
    counts = np.bincount(placed.group, minlength=n_groups)
    there = [int(g) for g in np.flatnonzero(counts)]
    found = []
    for g in there:
        rest = np.array([h for h in there if h != g], dtype=np.intp)
        apart = _differences(profiles, g, rest)
        near = {int(h): _differences(profiles, g, np.array([h])) for h in rest}
        nearest = min(near, key=lambda h: _distance(near[h]), default=g)
        shares = (float(total[g] / total.sum()), float(sure[g] / max(total[g], 1e-300)))
        typical = _typical(placed, g, rows)
        found.append(GroupRows(g, int(counts[g]), *shares, apart, nearest, near.get(nearest, ()), typical))
    return Grouping(tuple(found), profiles, _borderline(placed, len(there)))


def _continuous(cells: Floats, weights: Floats, group: NDArray[np.intp], n_groups: int) -> ColumnProfile:
    """Means and spreads, about the mean of all cells so that no digits are lost."""
    there = ~np.isnan(cells)
    cells, mass, group = cells[there], weights[there], group[there]
    centre = np.average(cells, weights=mass) if len(cells) else 0.0
    weight = np.bincount(group, mass, minlength=n_groups).astype(np.float64)
    safe = np.where(weight > 0, weight, 1.0)
    mean = np.bincount(group, mass * (cells - centre), minlength=n_groups) / safe
    squares = np.bincount(group, mass * (cells - centre - mean[group]) ** 2, minlength=n_groups) / safe
    mean = np.where(weight > 0, mean + centre, np.nan)
    return ColumnProfile(weight, mean, np.sqrt(squares), np.empty((n_groups, 0)))


def _discrete(cells: Floats, weights: Floats, group: NDArray[np.intp], n_groups: int, n_levels: int) -> ColumnProfile:
    there = ~np.isnan(cells)
    place = group[there] * n_levels + cells[there].astype(np.intp)
    counts = np.bincount(place, weights[there], minlength=n_groups * n_levels).astype(np.float64)
    table = counts.reshape(n_groups, n_levels)
    weight = table.sum(axis=1)
    shares = table / np.where(weight > 0, weight, 1.0)[:, None]
    nothing = np.full(n_groups, np.nan)
    return ColumnProfile(weight, nothing, nothing, shares)


def _differences(profiles: tuple[ColumnProfile, ...], g: int, others: NDArray[np.intp]) -> tuple[Difference, ...]:
    """Of group `g` from `others` taken together, the largest first; columns nobody has a cell of are left out."""
    if not len(others):
        return ()
    found = []
    for column, profile in enumerate(profiles):
        outside = profile.weight[others]
        if profile.weight[g] <= 0 or outside.sum() <= 0:
            continue
        share = outside / outside.sum()
        differ = _of_levels if profile.shares.shape[1] else _of_means
        found.append(differ(column, profile, g, others, share))
    return tuple(sorted(found, key=lambda one: -abs(one.size)))


def _of_means(column: int, profile: ColumnProfile, g: int, others: NDArray[np.intp], share: Floats) -> Difference:
    means = np.nan_to_num(profile.mean[others])
    outside = float(share @ means)
    spread = float(share @ (profile.deviation[others] ** 2 + (means - outside) ** 2))
    inside, own = profile.weight[g], float(profile.deviation[g] ** 2)
    rest = float(profile.weight[others].sum())
    share_inside = inside / (inside + rest)
    between = share_inside * (1.0 - share_inside) * (float(profile.mean[g]) - outside) ** 2
    pooled_square = share_inside * own + (1.0 - share_inside) * spread
    pooled = np.sqrt(max(pooled_square, FLAT * (pooled_square + between), TINY))
    return Difference(column, -1, float((profile.mean[g] - outside) / pooled), float(profile.mean[g]), outside)


def _of_levels(column: int, profile: ColumnProfile, g: int, others: NDArray[np.intp], share: Floats) -> Difference:
    inside, outside = profile.shares[g], share @ profile.shares[others]
    sizes = 2.0 * (np.arcsin(np.sqrt(np.clip(inside, 0, 1))) - np.arcsin(np.sqrt(np.clip(outside, 0, 1))))
    extent = np.abs(sizes) + np.where(sizes > 0, TIE, 0.0)  # of two values, that which it has says more
    level = int(np.argmax(extent))
    return Difference(column, level, float(sizes[level]), float(inside[level]), float(outside[level]))


def _distance(differences: tuple[Difference, ...]) -> float:
    return float(np.sqrt(sum(one.size**2 for one in differences)))


def told(differences: tuple[Difference, ...]) -> list[Difference]:
    """Those worth telling of."""
    return [one for one in differences[:COLUMNS_TOLD] if abs(one.size) >= LEAST_DIFFERENCE]


def _typical(placed: PlacedRows, g: int, rows: ModelRows) -> tuple[int, ...]:
    """The likeliest rows of a group."""
    members = np.flatnonzero(placed.group == g)
    density = placed.log_density[members] + np.log(np.maximum(placed.probability[members], 1e-300))
    complete = ~np.isnan(rows.coded[members]).any(axis=1)
    if complete.sum() >= TYPICAL_ROWS:  # the density of a row with holes is of fewer cells
        members, density = members[complete], density[complete]
    best = members[np.argsort(-density, kind="stable")[:TYPICAL_ROWS]]
    return tuple(int(row) for row in best)


def _borderline(placed: PlacedRows, n_groups: int) -> tuple[int, ...]:
    """Rows that might as well belong to another group."""
    if n_groups < 2:
        return ()
    unsure = np.flatnonzero(placed.probability < SURE_PROBABILITY)
    order = unsure[np.argsort(placed.probability[unsure], kind="stable")[:BORDERLINE_ROWS]]
    return tuple(int(row) for row in order)
