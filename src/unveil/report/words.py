"""Numbers and findings in plain words."""

from __future__ import annotations

import math
import re
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


def by_group(message: str) -> str:
    """What a model says of its components, counted from 0, in terms of the groups of the page, counted from 1.

    >>> by_group("component 0 stands for only 2.5 rows")
    'group 1 stands for only 2.5 rows'
    """
    return re.sub(r"\bcomponent (\d+)", lambda found: f"group {int(found[1]) + 1}", message)


def shape_of(analysis: Analysis) -> str:
    """The covariance structure of the chosen mixture, in words."""
    word = analysis.model.covariance_type
    if len(analysis.names) > 1:
        return SHAPES[word]
    structure = lookup(STRUCTURES[word])()
    varies = structure.n_parameters(2, 1) > structure.n_parameters(1, 1)
    return "each with its own width" if varies else "all of one width"


def summary(analysis: Analysis) -> str:
    """The paragraph at the top."""
    table, k = analysis.table, len(analysis.model.weights_)
    rows = count(analysis.n_rows, "row")
    sentences = [f"{rows}, {count(len(table.names), 'column')} of numbers."]
    if k == 1:
        sentences.append("The best description is a single group: no split into several explains the rows better.")
    else:
        sentences.append(f"The best description is {spelled(k)} groups, {shape_of(analysis)}.")
        sizes = [f"{group.share:.0%}" for group in analysis.groups]
        sentences.append(f"They hold {listed(sizes, 12)} of the {'weight' if weighted(analysis) else 'rows'}.")
    sentences.append(confidence(analysis))
    if analysis.plane is not None and len(analysis.names) > 2:
        share = float(analysis.plane.share.sum())
        sentences.append(f"Two directions carry {share:.0%} of the variance of {len(analysis.names)} columns.")
    if not analysis.model.certificate_.ok:
        sentences.append("The fit needs a second look: see the certificate.")
    return " ".join(sentences)


def weighted(analysis: Analysis) -> bool:
    """Do rows count differently?"""
    return analysis.weights is not None


def confidence(analysis: Analysis) -> str:
    """How clear the choice is, in one sentence."""
    selection = analysis.selection
    standing = selection.standing
    if standing.runner_up is None:
        return "There were too few rows to compare it with other descriptions."
    other = combination(standing.runner_up)
    if standing.degenerate:
        return f"It is not to be trusted: {by_group(standing.degenerate)}."
    if standing.edges:
        return "More groups than were tried might describe the rows better still."
    if not selection.decisive:
        return f"The choice is not clear: {other} would do as well (BIC differs by {standing.lead:.1f})."
    words = selection.rule.words(standing.lead)
    return f"The evidence against the next best, {other}, is {words} (BIC differs by {standing.lead:,.1f})."


def combination(params: Mapping[str, Any]) -> str:
    """A number of groups and a structure, in words."""
    k = params["n_components"]
    return f"{spelled(k)} group{'' if k == 1 else 's'} with {said(params['covariance_type'])}"


def apart(group: RowGroup, names: tuple[str, ...]) -> str:
    """What sets a group apart, in words; names are plain text, not markup."""
    parts = [f"{_degree(value)} {plain(name)} ({value:+.1f} sd)" for name, value in told(group, names)]
    return ", ".join(parts) if parts else "close to the other rows in every column"


def _degree(value: float) -> str:
    strength = "very " if abs(value) >= 2 else ""
    return strength + ("high" if value > 0 else "low")
