"""Over time: the regimes that the rows go through, how they follow each other, and what comes next."""

from __future__ import annotations

import numpy as np

from unveil.certificate import Certificate
from unveil.plot.labels import plain
from unveil.plot.time.forecast import LEVELS, forecast
from unveil.plot.time.regimes import regimes
from unveil.plot.time.transitions import transitions
from unveil.reporting import words
from unveil.reporting.naming import PageNaming
from unveil.reporting.parts import Block, Fold, Section, Text, Verdicts
from unveil.reporting.sections.common import NAME_LENGTH, figure
from unveil.reporting.study.analysis import Analysis
from unveil.reporting.study.over_time import TimeStudy

COLUMNS_DRAWN = 4  # series that are drawn, those that differ most between regimes


def time(analysis: Analysis) -> Section | None:
    """Regimes, transitions and a forecast."""
    found = analysis.time
    if found is None:
        return None
    name = plain(found.name, NAME_LENGTH)
    order = _telling(found)
    blocks: list[Block] = [_series(found, order)] if order and found.lasting else []
    if found.n_states > 1:
        blocks += [
            Text(_stays(found)),
            figure("transitions", transitions(found.chain.transmat_), "Probabilities of passing from regime to regime"),
        ]
    if found.ahead is not None and order and found.lasting:
        blocks += [
            Text(
                f"The next {words.count(len(found.ahead), 'step')}, as the chain expects them, with the range of half "
                "and of 90% of outcomes:"
            ),
            _ahead(found, order[0]),
        ]
    if found.compared < found.rows.n_rows:
        blocks.append(
            Text(f"Chains were compared on the last {found.compared:,} steps; all steps were then decoded.", True)
        )
    blocks.append(Fold("Three verdicts on the chain", [Verdicts(_said(found))]))
    return Section("time", "Over time", _lead(found, name), blocks)


def _said(found: TimeStudy) -> Certificate:
    """The certificate of the chain in the names of the page; states are counted from 1 there."""
    return PageNaming((), False, found.rows.names).certificate(found.certificate)


def _lead(found: TimeStudy, name: str) -> str:
    if not found.lasting:
        return (
            f"In the order of {name} no regimes are seen: the rows take turns as they would in any other order, so "
            "which group comes next does not depend on the one before."
        )
    if found.n_states == 1:
        return f"In the order of {name} one regime describes all {found.rows.n_rows:,} steps: no change is seen."
    real = found.certificate.verdicts["real"]
    doubt = (
        "" if real == "yes" else " Whether they are regimes of their own is not certain; the verdicts below say why."
    )
    return (
        f"In the order of {name} the rows go through {words.spelled(found.n_states)} regimes (states of a hidden "
        f"Markov model: stretches of time in which the values behave alike).{doubt}"
    )


def _telling(found: TimeStudy) -> list[int]:
    """Columns of numbers and counts, those that differ most between regimes first."""
    usable = [j for j, levels in enumerate(found.rows.levels) if not levels]
    cells = found.rows.coded

    def share(j: int) -> float:
        means = [
            np.nanmean(cells[found.states == s, j])
            for s in np.unique(found.states)
            if np.isfinite(cells[found.states == s, j]).any()
        ]
        return float(np.nanstd(means) / (np.nanstd(cells[:, j]) or 1.0))

    return sorted(usable, key=share, reverse=True)


def _series(found: TimeStudy, order: list[int]) -> Block:
    chosen = order[:COLUMNS_DRAWN]
    names = [found.rows.names[j] for j in chosen]
    cells = np.column_stack([found.rows.in_units(j) for j in chosen])
    plot = regimes(found.stamps, cells, found.states, names)
    return figure("regimes", plot, "The series over time, with a band for each regime")


def _stays(found: TimeStudy) -> str:
    stays = 1.0 / np.maximum(1.0 - np.diag(found.chain.transmat_), 1e-12)
    lasts = np.minimum(stays, len(found.states)).tolist()
    share = np.bincount(found.states, minlength=found.n_states) / len(found.states)
    parts = [
        f"regime {s + 1} holds {words.percent(float(share[s]))} of the steps and lasts about "
        f"{words.count(max(round(lasts[s]), 1), 'step')} at a time"
        for s in range(found.n_states)
    ]
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}."


def _ahead(found: TimeStudy, column: int) -> Block:
    name = found.rows.names[column]
    fan = found.ahead.quantiles(list(LEVELS))[:, :, column]
    fan = np.exp(fan) if found.rows.transforms[column] == "log" else fan
    plot = forecast(found.stamps, found.rows.in_units(column), fan, name=name)
    return figure("forecast", plot, f"Forecast of {plain(name, NAME_LENGTH)}")
