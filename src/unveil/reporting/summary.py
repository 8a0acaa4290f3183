"""What was found, as data: the object that `summary.json` holds. docs/report.md has its schema."""

from __future__ import annotations

from typing import Any

import unveil
from unveil.reporting import words
from unveil.reporting.headline import headline, imputed, naming, rests_on
from unveil.reporting.study.analysis import Analysis
from unveil.reporting.study.groups import GroupRows, told

SCHEMA_VERSION = 1
OUTLIERS_LISTED = 50


def summary_of(analysis: Analysis) -> dict[str, Any]:
    """Everything that a program may want to know, in JSON's own types."""
    prepared, judged = analysis.prepared, analysis.found.judged
    found: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "unveil": unveil.__version__,
        "title": prepared.table.title,
        "headline": headline(analysis),
        "rests_on": rests_on(analysis),
        "reading": list(prepared.table.said),
        "columns": [
            {"name": role.name, "role": role.role, "used": role.used, "why": role.why, "alerts": list(role.alerts)}
            for role in prepared.roles
        ],
        "rows": {"read": prepared.table.n_rows, "used": analysis.rows.n_rows, "imputed": imputed(analysis)},
        "model": {"class": type(analysis.model).__name__, "parameters": _parameters(analysis.model)},
        "components": len(analysis.model.weights_),
        "clusters": judged.n_clusters,
        "verdicts": dict(judged.certificate.verdicts),
        "findings": [_finding(one, analysis) for one in judged.certificate.findings],
        "groups": [_group(one, analysis) for one in analysis.grouping.groups],
        "outliers": _outliers(analysis),
        "cut": list(analysis.settings.clock.cut),
        "seed": analysis.settings.seed,
    }
    return found | _label(analysis) | _time(analysis)


def _parameters(model: Any) -> dict[str, Any]:
    """Arguments of the constructor, as far as JSON has words for them."""
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else dict(value) if isinstance(value, dict) else repr(value)
        for name, value in model.get_params(deep=False).items()
    }


def _finding(finding: Any, analysis: Analysis) -> dict[str, Any]:
    say = naming(analysis).say
    shown = {"question": finding.question, "kind": finding.kind, "severity": finding.severity}
    return shown | {"message": say(finding.message), "remedy": say(finding.remedy)}


def _group(group: GroupRows, analysis: Analysis) -> dict[str, Any]:
    rule = analysis.rules.get(group.number)
    rows = analysis.rows
    return {
        "name": f"{'group' if analysis.grouped else 'component'} {group.number + 1}",
        "rows": group.rows,
        "share": group.share,
        "surely_placed": group.sure,
        "apart": [words.difference(one, rows) for one in told(group.apart)],
        "rule": None if rule is None else words.rule(rule, rows),
        "typical_rows": [analysis.row_number(row) for row in group.typical],
    }


def _outliers(analysis: Analysis) -> list[dict[str, Any]] | None:
    if analysis.outliers is None:
        return None
    names = analysis.rows.names
    return [
        {"row": analysis.row_number(one.row), "score": one.score, "cells": [names[j] for j in one.cells]}
        for one in analysis.outliers.rows[:OUTLIERS_LISTED]
    ]


def _label(analysis: Analysis) -> dict[str, Any]:
    label = analysis.label
    if label is None:
        return {}
    return {"label": {"name": label.name, "classes": list(label.classes), "agreement": label.agreement}}


def _time(analysis: Analysis) -> dict[str, Any]:
    time = analysis.time
    if time is None:
        return {}
    return {"time": {"name": time.name, "regimes": time.n_states, "verdicts": dict(time.certificate.verdicts)}}
