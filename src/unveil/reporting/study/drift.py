"""Are groups of rows that follow each other in time more than slow drift?

Whether groups are real is judged as if rows knew nothing of each other. Rows of a series that wanders do: it stays for
a while wherever it is, and the places where it happened to linger look like groups. Regimes are another matter: within
each, steps are as good as independent. So the autocorrelation of neighbouring steps *within* groups,

    rho = sum e_t e_{t+1} / sum e_t²,   e the deviation from the mean of the group,

tells the two apart: with it, n steps are worth about n (1 - rho) / (1 + rho) independent rows.

Where no column says when, rows may still come in the order of time, as stock prices do. More is asked there, and a
table that somebody sorted by one of its columns does not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.certificate import Certificate, Finding
from unveil.core.arrays import Floats
from unveil.reporting.study.rows import ModelRows
from unveil.selection.judged import Judged, number_of_groups

WANDERING = 0.7  # autocorrelation from which on six steps are worth about one row
WANDERING_UNTOLD = 0.9  # the same where nobody says that the order of the rows means anything
SORTED = 0.8  # share of the steps of a column that go one way, where rows were sorted by it
SPREAD_SHARE = 0.1  # of a column's variance that lies between groups: with less it does not tell them apart


def without_drift(judged: Judged, model: Any, rows: ModelRows, stamps: NDArray[Any] | None) -> Judged:
    """The verdicts on a mixture, with a doubt of its groups where the rows wander in time, or else in their order."""
    clusters = judged.certificate.clusters
    if judged.certificate.verdicts["real"] != "yes" or clusters is None:
        return judged
    group = np.concatenate([np.asarray(clusters)[np.asarray(model.predict(here))] for _, here in rows.blocks()])
    told = stamps is not None
    order = np.argsort(np.asarray(stamps)[rows.places], kind="stable") if told else np.arange(rows.n_rows)
    cells = rows.coded[order]
    rho = within_groups(cells, group[order])
    if rho < (WANDERING if told else WANDERING_UNTOLD) or not (told or wander(cells)):
        return judged
    doubt = Finding(
        "drift",
        "doubt",
        f"rows follow each other closely in {'time' if told else 'their order'} (autocorrelation {rho:.2f} within "
        "groups): places where a series lingers look like groups",
        rho,
        question="real",
        remedy="try differences from step to step"
        + (", or look at the regimes over time" if told else ", or name the column of time"),
    )
    certificate = Certificate((*judged.certificate.findings, doubt), clusters=clusters)
    return judged._replace(certificate=certificate, n_clusters=number_of_groups(certificate))


def wander(cells: Floats) -> bool:
    """Do all columns go up and down, so that the rows were not sorted by one of them?

    >>> wander(np.cumsum(np.random.default_rng(0).normal(size=(200, 2)), axis=0)), wander(np.arange(9.0)[:, None])
    (True, False)
    """
    steps = np.diff(cells, axis=0)
    up, down = (steps > 0).sum(axis=0), (steps < 0).sum(axis=0)
    return bool(np.all(np.maximum(up, down) < SORTED * np.maximum(up + down, 1)))


def within_groups(cells: Floats, group: NDArray[np.intp]) -> float:
    """Autocorrelation of neighbouring rows about the means of their groups, in the columns that tell groups apart.

    >>> noise, group = np.random.default_rng(0).normal(size=(400, 1)), np.repeat([0, 1], 200)
    >>> abs(within_groups(noise + 9.0 * group[:, None], group)) < 0.2
    True
    """
    found, weights = [], []
    for column in cells.T:
        there = ~np.isnan(column)
        if there.sum() < 3 or np.ptp(column[there]) == 0:
            continue
        away = np.full(len(column), np.nan)
        for number in np.unique(group[there]):
            own = there & (group == number)
            away[own] = column[own] - column[own].mean()
        within = float(np.nanmean(away**2))
        between = 1.0 - within / float(np.var(column[there]))
        pairs = away[:-1] * away[1:] * (group[:-1] == group[1:])
        if between >= SPREAD_SHARE and within > 0 and np.isfinite(pairs).any():
            found.append(float(np.nanmean(pairs)) / within)
            weights.append(between)
    return float(np.average(found, weights=weights)) if found else 0.0
