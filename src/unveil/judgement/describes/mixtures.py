"""Does a mixture describe the rows? By columns, along them, from the centres, in pairs and all together.

All tests share one calibration (see `calibration`): the chance that any of them speaks where the model is true is 5%.
What is said is *no* only where a misfit costs enough to matter, too (see `words`): with very many rows everything is
significant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unveil.certificate import Finding
from unveil.core.arrays import Floats, Indices
from unveil.judgement.case import Answer, Case
from unveil.judgement.describes.density.battery import MOST_COLUMNS, Sheet, Test, battery_of
from unveil.judgement.describes.density.calibration import DRAWS, Described, calibrated, drawn, is_refitted
from unveil.judgement.describes.density.remedies import Remedies
from unveil.judgement.describes.density.shapes import kind_of, kind_of_radius
from unveil.judgement.describes.density.ties import discrete_columns
from unveil.judgement.describes.density.transforms import margin, uniforms
from unveil.judgement.describes.words import column_name, said, severity_of

PURPOSE = 14  # of the random numbers drawn here
CELLS = 1 << 15  # components times columns times rows that a pass over all tests looks at
MORE = 3  # times as many draws, and cells, of a thorough examination: nine times the work
LEAST_LOOKED_AT = 512  # rows, where there are as many
FEWEST_ROWS = 20  # of which something can be said
PATTERNS = 16  # of missing cells that are looked at, at most
LEAST_EFFECT = 0.003  # nats a row: for less no alternative is fitted


class Misfit(NamedTuple):
    """A test that speaks."""

    test: Test
    p_value: float
    effect: float  # nats a row, beyond chance
    sign: float


def examine_mixture(case: Case) -> Answer:
    """All tests of a mixture."""
    described, whole = _described(case)
    if described is None:
        return Answer((said("description", "note", f"fewer than {FEWEST_ROWS} rows say nothing of a description"),))
    family = described.model.family
    smooth = [
        column
        for column in range(described.rows.shape[1])
        if not family.is_lattice(column) and family.n_levels(column) is None
    ]
    found = discrete_columns(case.model, described.rows, described.weights, smooth)
    if found:  # all else follows from it
        return Answer(tuple(found))
    tests, misfits, smallest = misfits_of(case, described, whole)
    findings = _findings(case.model, described, misfits)
    if any(finding.severity != "note" for finding in findings):
        return Answer(tuple(findings))
    words = f"no misfit that matters in {len(tests)} tests of margins, tails, dependence and distance"
    return Answer((*findings, said("description", "fine", words, smallest)))


def _described(case: Case) -> tuple[Described | None, bool]:
    """The table and the mixture, and whether it is all that the mixture was fitted to."""
    rows, weights = case.rows
    counts = np.ones(len(rows)) if weights is None else weights
    there = (counts > 0) & ~np.isnan(rows).all(axis=1)
    rows, counts = rows[there], counts[there]
    if len(rows) < FEWEST_ROWS:
        return None, False
    fitted = case.model._mixture()
    each = fitted.model.n_components * min(rows.shape[1], MOST_COLUMNS)
    most = max(CELLS * (MORE if case.thorough else 1) // each, LEAST_LOOKED_AT)
    whole = len(rows) <= most and len(case.rows[0]) < case.most_rows
    if len(rows) > most:
        chosen = np.sort(case.random(PURPOSE, 0).choice(len(rows), most, replace=False))
        rows, counts = rows[chosen], counts[chosen]
    kept = _common(rows) if fitted.model.family.framing(rows.shape[1]).any() else np.arange(len(rows))
    return Described(fitted.model, fitted.params, rows[kept], counts[kept]), whole and len(kept) == len(rows)


def _common(rows: Floats) -> Indices:
    """Rows of the commonest patterns of missing cells: each takes a factor of a matrix."""
    there = ~np.isnan(rows)
    if there.all():
        return np.arange(len(rows))
    masks, places, counts = np.unique(there, axis=0, return_inverse=True, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:PATTERNS]
    return np.flatnonzero(np.isin(places.ravel(), common)) if len(masks) > PATTERNS else np.arange(len(rows))


def misfits_of(case: Case, described: Described, whole: bool) -> tuple[list[Test], list[Misfit], float]:
    """The tests, those that speak, and the smallest p-value."""
    battery = battery_of(described, case.random(PURPOSE, 1))
    tests, sheet = battery.measure(described, case.random(PURPOSE, 2))
    refit = whole and is_refitted(described)
    draws: list[Sheet] = []
    for number in range(DRAWS * (MORE if case.thorough else 1)):
        # measured by the random numbers that the rows are measured by: what these do to a figure they do to all alike
        draw = drawn(described, case.random(PURPOSE, 3, number), refit)
        draws.append(battery.measure(draw, case.random(PURPOSE, 2))[1])
    chance = calibrated(sheet.values, _stacked(one.values for one in draws), _stacked(one.effects for one in draws))
    effects = np.maximum(sheet.effects - chance.by_chance, 0.0)
    misfits = [
        Misfit(tests[place], float(chance.p_values[place]), float(effects[place]), float(sheet.signs[place]))
        for place in range(len(tests))
        if severity_of(chance.p_values[place], effects[place]) != "fine"
    ]
    return tests, misfits, float(chance.p_values.min())


def _stacked(rows: Iterable[Floats]) -> Floats:
    return np.array(list(rows))


def _findings(model: Any, case: Described, misfits: list[Misfit]) -> list[Finding]:
    """The worst of every kind, and how many others there are."""
    kinds: dict[str, list[tuple[Misfit, str]]] = {}
    for misfit in sorted(misfits, key=lambda one: -one.effect):
        kind, words = told(model, case, misfit)
        kinds.setdefault(kind, []).append((misfit, words))
    remedies = Remedies(model, case)
    return _once([_said(kind, group, remedies) for kind, group in kinds.items()])


def _once(findings: list[Finding]) -> list[Finding]:
    """The same advice is given once."""
    given = [finding.remedy for finding in findings]
    return [
        replace(finding, remedy="") if finding.remedy in given[:place] else finding
        for place, finding in enumerate(findings)
    ]


def _said(kind: str, group: list[tuple[Misfit, str]], remedies: Remedies) -> Finding:
    """One finding; what an alternative is known to gain a row, the model loses."""
    worst, words = group[0]
    more = "" if len(group) == 1 else f" (and {len(group) - 1} more)"
    remedy, gain = remedies.words(kind, max(worst.test.column, 0)) if worst.effect >= LEAST_EFFECT else ("", 0.0)
    effect = max(worst.effect, gain / float(remedies.case.weights.sum()))
    message = f"{words}: {worst.effect:.2g} nats a row are lost{more}"
    return said(kind, severity_of(worst.p_value, effect), message, effect, remedy)


def told(model: Any, case: Described, misfit: Misfit) -> tuple[str, str]:
    """The kind of a misfit, and where it is."""
    test, name = misfit.test, column_name(model, max(misfit.test.column, 0))
    more = misfit.sign > 0
    match test.what:
        case "margin" | "tails" if case.model.family.is_lattice(test.column):
            return "margin", f"values of {name} are not as often as the model says"
        case "margin" | "tails" if case.model.family.n_levels(test.column) is not None:
            return "margin", f"categories of {name} are not as often as the model says"
        case "margin" | "tails":
            return _of_column(case, test, name)
        case "turn":
            return "shape", f"{name} given the columns before it is not as the model says"
        case "radius" | "radius tails":
            return _of_component(case, test.component)
        case "pair":
            other = column_name(model, test.other)
            return "dependence", f"{name} and {other} depend on each other otherwise than the model says"
        case "dispersion":
            spread = "overdispersed" if more else "underdispersed"
            return "dispersion", f"counts in {name} are {spread}"
        case "zeros":
            return "zeros", f"{name} has {'more' if more else 'fewer'} zeros than the model says"
    return "distance", "rows of the data and of the model are further apart than two samples of one distribution"


def _of_component(case: Described, component: int) -> tuple[str, str]:
    """What is the matter with the distances from a centre."""
    told = uniforms(case, np.random.default_rng(PURPOSE))
    assert told.radius is not None
    kind = kind_of_radius(told.radius[component], case.weights * told.responsibilities[component])
    words = {
        "tails": f"component {component} has heavier tails than the model",
        "bounded": f"component {component} ends sooner than the model says, its tails are light",
        "shape": f"component {component} is not of the shape that the model gives it",
    }
    return kind, words[kind]


def _of_column(case: Described, test: Test, name: str) -> tuple[str, str]:
    """What is the matter with a column of numbers."""
    kind, side = kind_of(margin(case, test.column, case.framed[test.column]), case.weights)
    end = "upper" if side > 0 else "lower"
    words = {
        "skew": f"{name} is skewed: the {end} tail is too long",
        "tails": f"{name} has heavier tails than the model",
        "bounded": f"{name} ends sooner than the model says, its tails are light",
        "margin": f"{name} has several peaks that the model has not",
    }
    return kind, words[kind]
