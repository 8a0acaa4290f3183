"""A short rule for each group, such as "proline > 755": the best leaf of a small decision tree, in words.

A tree of depth two (CART, Breiman et al. 1984) tells the group from all other rows; the leaf whose F1 is highest is the
rule. A threshold is the roundest number between the two values that it parts.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.reporting.study.rows import ModelRows

DEPTH = 2
LEAST_LEAF = 0.01  # of the rows: a rule for fewer is an anecdote


class Condition(NamedTuple):
    """One condition of a rule."""

    column: int
    level: int  # of a category or yes/no; -1 for numbers
    above: bool  # greater than the threshold; for a level, whether it is that level
    threshold: float  # in the units of the table; infinite: above it, the cell is missing


class GroupRule(NamedTuple):
    """Conditions that all hold, the share of the group that they hold for, and the share of those rows in the group."""

    conditions: tuple[Condition, ...]
    covers: float
    correct: float


def rules(rows: ModelRows, group: NDArray[np.intp], groups: list[int], seed: int) -> dict[int, GroupRule]:
    """The rule of each group, where there are several."""
    if len(groups) < 2:
        return {}
    features, meanings = _features(rows)
    return {g: _rule(rows, features, meanings, group == g, seed) for g in groups}


def _features(rows: ModelRows) -> tuple[Floats, list[tuple[int, int]]]:
    """Numbers as they are and a column for each level; what each column stands for."""
    columns, meanings = [], []
    for j, levels in enumerate(rows.levels):
        cells = rows.coded[:, j]
        if not levels:
            columns.append(cells)
            meanings.append((j, -1))
            continue
        for level in range(len(levels)) if len(levels) > 2 else (1,):
            columns.append(np.where(np.isnan(cells), np.nan, cells == level))
            meanings.append((j, level))
    return np.column_stack(columns), meanings


def _rule(
    rows: ModelRows, features: Floats, meanings: list[tuple[int, int]], inside: NDArray[np.bool_], seed: int
) -> GroupRule:
    from sklearn.tree import DecisionTreeClassifier

    least = max(2, int(LEAST_LEAF * len(inside)))
    made = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=least, class_weight="balanced", random_state=seed)
    tree = made.fit(features, inside, sample_weight=rows.weights)
    leaf = tree.apply(features.astype(np.float32))
    weights = np.ones(len(inside)) if rows.weights is None else rows.weights
    own = np.bincount(leaf, weights * inside, minlength=tree.tree_.node_count)
    every = np.bincount(leaf, weights, minlength=tree.tree_.node_count)
    with np.errstate(divide="ignore", invalid="ignore"):
        f1 = np.nan_to_num(2 * own / (every + own.sum()))
    best = int(np.argmax(f1))
    path = _path(tree.tree_, best)
    conditions = tuple(_condition(rows, features, meanings[column], column, *step) for column, *step in path)
    total = float(np.sum(weights * inside))
    return GroupRule(_simplified(conditions), float(own[best] / total), float(own[best] / max(every[best], 1e-300)))


def _path(tree: Any, leaf: int) -> list[tuple[int, bool, float]]:
    """Column, side and threshold of every split on the way to a leaf."""
    parents = {int(child): node for node in range(tree.node_count) for child in _children(tree, node)}
    path, node = [], leaf
    while node in parents:
        parent = parents[node]
        path.append(
            (int(tree.feature[parent]), int(tree.children_right[parent]) == node, float(tree.threshold[parent]))
        )
        node = parent
    return path[::-1]


def _children(tree: Any, node: int) -> tuple[int, ...]:
    pair = (int(tree.children_left[node]), int(tree.children_right[node]))
    return () if pair[0] < 0 else pair


def _condition(
    rows: ModelRows, features: Floats, meaning: tuple[int, int], column: int, above: bool, threshold: float
) -> Condition:
    j, level = meaning
    if level >= 0:
        return Condition(j, level, above, math.nan)
    if not math.isfinite(threshold):  # the tree splits by whether the cell is there at all
        return Condition(j, -1, above, math.inf)
    cells = features[:, column]
    cells = cells[~np.isnan(cells)]
    below = cells[cells <= threshold]
    beyond = cells[cells > threshold]
    low = float(below.max()) if len(below) else threshold
    high = float(beyond.min()) if len(beyond) else threshold
    return Condition(j, -1, above, round_between(rows.shown(j, low), rows.shown(j, high)))


def _simplified(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Two bounds of one column on the same side are one, and a level that is asked for leaves no other to exclude."""
    kept: dict[tuple[int, bool, bool], Condition] = {}
    for one in conditions:
        key = (one.column, one.above, one.level >= 0 and not one.above)
        other = kept.get(key)
        tighter = other is None or (one.threshold > other.threshold) == one.above
        if other is not None and one.level >= 0 and one.level != other.level:
            key = (one.column, one.above, True)
        if tighter or one.level >= 0:
            kept[key] = one
    named = {one.column for one in kept.values() if one.level >= 0 and one.above}
    return tuple(one for one in kept.values() if not (one.level >= 0 and not one.above and one.column in named))


def round_between(low: float, high: float) -> float:
    """The number with the fewest digits that is at least `low` and less than `high`, nearest to their middle.

    >>> round_between(754.0, 760.0), round_between(2.31, 2.4), round_between(5.0, 5.0), round_between(-0.3, 0.2)
    (755.0, 2.35, 5.0, 0.0)
    """
    if not high > low:
        return low
    if low < 0 < high:
        return 0.0
    middle = (low + high) / 2
    for digits in range(-int(math.floor(math.log10(max(abs(low), abs(high))))), 18):
        for step in (10.0**-digits, 10.0**-digits / 2):
            value = round(round(middle / step) * step, digits + 1)
            if low <= value < high:
                return value
    return middle
