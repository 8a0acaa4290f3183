"""Combinations of a grid that are one model: it is compared once, and the table says so.

With one component there is nothing for components to share, and of one column of numbers a covariance is a variance: a
"full" and a "tied" structure are then the same model. Structures that are so have equally many parameters, and those
that are not do not: a matrix, a variance for each column, and one for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from unveil.selection.verdict import combination

SHAPE = "covariance_type"


def identity(model: Any, params: Mapping[str, Any]) -> Hashable | None:
    """What combinations of one model have in common; None where each is a model of its own."""
    if SHAPE not in params or not hasattr(model, "_mixture"):
        return None
    fitted = model._mixture()
    groups = fitted.model.family.within.ellipses(fitted.params.components)
    if len(fitted.params.weights) > 1 and any(len(group.columns) > 1 for group in groups):
        return None
    others = repr({name: value for name, value in params.items() if name != SHAPE})
    return others, int(model.n_parameters())


def tell_equals(table: Sequence[dict[str, Any]], known: Sequence[Hashable | None], best: int, names: Any) -> None:
    """Say in ``same_as`` of every row which other combination is the same model: the best, or the first of them."""
    first: dict[Hashable, int] = {}
    for place in (best, *range(len(table))):
        key = known[place]
        if key is None or first.setdefault(key, place) == place:
            continue
        table[place]["same_as"] = combination({name: table[first[key]][name] for name in names})
