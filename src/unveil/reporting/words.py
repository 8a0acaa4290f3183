"""Numbers and findings in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from unveil.estimation.registry import STRUCTURES, lookup
from unveil.plot.labels import plain
from unveil.plot.structures import SHAPES, said
from unveil.reporting.study.groups import Difference
from unveil.reporting.study.rows import ModelRows
from unveil.reporting.study.rules import Condition, GroupRule

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
LEVEL_LENGTH = 24  # letters of a level that are shown
TRUTHS = (("false", "true"), ("0", "1"))  # levels of a column of yes or no


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


def percent(share: float) -> str:
    """A share, with a digit behind the point where it is small or nearly all.

    >>> percent(0.64), percent(0.004), percent(1.0), percent(0.9996)
    ('64%', '0.4%', '100%', '99.96%')
    """
    if share in (0.0, 1.0) or 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{share:.1%}" if share < 0.999 else f"{share:.2%}"


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


def shape_of(model: Any, n_numbers: int) -> str:
    """The covariance structure of a mixture, in words; empty where it has none."""
    word = getattr(model, "covariance_type", None)
    if word is None or n_numbers == 0:
        return ""
    if n_numbers > 1:
        return SHAPES[word]
    structure = lookup(STRUCTURES[word])()
    varies = structure.n_parameters(2, 1) > structure.n_parameters(1, 1)
    return "each with its own width" if varies else "all of one width"


def combination(params: Mapping[str, Any], noun: str = "component") -> str:
    """A number of components and a structure, in words; the noun is "group" where every component is one."""
    k = params["n_components"]
    size = f"{spelled(k)} {noun}{'' if k == 1 else 's'}"
    return f"{size} with {said(params['covariance_type'])}" if "covariance_type" in params else size


def level_of(rows: ModelRows, column: int, level: int) -> str:
    """A level of a category, as plain text; of truth values and of 0 and 1 that are taken for them, yes or no."""
    if rows.levels[column] in TRUTHS:
        return ("no", "yes")[level]
    return plain(rows.levels[column][level], LEVEL_LENGTH)


def difference(one: Difference, rows: ModelRows) -> str:
    """How a group differs in one column, in words; names are plain text, not markup."""
    name = plain(rows.names[one.column])
    if one.level >= 0:
        verb = "is" if one.inside >= one.outside else "is never" if one.inside == 0 else "is seldom"
        level = level_of(rows, one.column, one.level)
        return f"{name} {verb} {level} ({percent(one.inside)} against {percent(one.outside)})"
    strength = "very " if abs(one.size) >= 2 else ""
    return f"{strength}{'high' if one.size > 0 else 'low'} {name} ({one.size:+.1f} sd)"


def apart(differences: Sequence[Difference], rows: ModelRows) -> str:
    """What sets a group apart."""
    return ", ".join(difference(one, rows) for one in differences) or "close to the other rows in every column"


def rule(found: GroupRule, rows: ModelRows) -> str:
    """A rule, in words."""
    return " and ".join(_condition(one, rows) for one in found.conditions)


def _condition(one: Condition, rows: ModelRows) -> str:
    name = plain(rows.names[one.column])
    if one.level >= 0:
        return f"{name} is {'' if one.above else 'not '}{level_of(rows, one.column, one.level)}"
    if math.isinf(one.threshold):
        return f"{name} is {'missing' if one.above else 'known'}"
    return f"{name} {'>' if one.above else chr(0x2264)} {number(one.threshold)}"


def kinds_of(rows: ModelRows) -> str:
    """What columns there are, counted by kind: numbers first, categories last."""
    words = {"number": "numbers", "count": "counts", "yes/no": "yes or no", "category": "categories"}
    counts = {kind: rows.kinds.count(kind) for kind in words if kind in rows.kinds}
    if len(counts) == 1:
        return f"{'all ' if len(rows.kinds) > 1 else ''}of {words[rows.kinds[0]]}"
    return listed([f"{spelled(amount)} of {words[kind]}" for kind, amount in counts.items()])
