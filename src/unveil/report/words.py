"""Numbers and findings in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from unveil.estimation.registry import STRUCTURES, lookup
from unveil.plot.labels import plain
from unveil.plot.structures import SHAPES, said
from unveil.report.analysis import Analysis
from unveil.report.groups import RowGroup, told

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(value: float) -> str:
    """A number as people write it: four digits that count, no exponent where none is needed.

    >>> number(3.48778), number(272.0), number(1234567.8), number(0.0), number(1.5e-7), number(float("nan"))
    ('3.488', '272', '1,234,568', '0', '1.5e-07', '–')
    """
    if math.isnan(value):
        return "\N{EN DASH}"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e12:
        digits = max(0, 3 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{digits}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.4g}"


def count(amount: int, one: str, many: str | None = None) -> str:
    """An amount with its noun.

    >>> count(1, "row"), count(1500, "row"), count(2, "is", "are")
    ('1 row', '1,500 rows', '2 are')
    """
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def spelled(amount: int) -> str:
    """Small amounts as words.

    >>> spelled(3), spelled(40)
    ('three', '40')
    """
    return _SMALL[amount] if amount < len(_SMALL) else f"{amount:,}"


def listed(parts: Sequence[str], most: int = 8) -> str:
    """Parts as in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    shown = list(parts) if len(parts) <= most else [*parts[: most - 1], f"{len(parts) - most + 1:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def shape_of(analysis: Analysis) -> str:
    """The covariance structure of the chosen mixture, in words."""
    word = analysis.model.covariance_type
    if len(analysis.names) > 1:
        return SHAPES[word]
    structure = lookup(STRUCTURES[word])()
    varies = structure.n_parameters(2, 1) > structure.n_parameters(1, 1)
    return "each with its own width" if varies else "all of one width"


def weighted(analysis: Analysis) -> bool:
    """Do rows count differently?"""
    return analysis.weights is not None


def combination(params: Mapping[str, Any], noun: str = "component") -> str:
    """A number of components and a structure, in words; the noun is "group" where every component is one."""
    k = params["n_components"]
    return f"{spelled(k)} {noun}{'' if k == 1 else 's'} with {said(params['covariance_type'])}"


def apart(group: RowGroup, names: tuple[str, ...]) -> str:
    """What sets a group apart, in words; names are plain text, not markup."""
    parts = [f"{_degree(value)} {plain(name)} ({value:+.1f} sd)" for name, value in told(group, names)]
    return ", ".join(parts) if parts else "close to the other rows in every column"


def _degree(value: float) -> str:
    strength = "very " if abs(value) >= 2 else ""
    return strength + ("high" if value > 0 else "low")
