"""Everything that the sections are written from, found in order.

Parts that take long are left out where a time limit would be passed, and `Clock.cut` says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.judgement.criteria.silhouette import silhouettes
from unveil.plot.groups.table_plane import plane_numbers
from unveil.plot.marks.frame import plot_columns
from unveil.reporting.study.against_label import LabelStudy, label_study
from unveil.reporting.study.drift import without_drift
from unveil.reporting.study.groups import Grouping, grouping
from unveil.reporting.study.modelling import Modelled, modelled
from unveil.reporting.study.outliers import Outliers, outliers
from unveil.reporting.study.over_time import TimeStudy, time_study
from unveil.reporting.study.placed import PlacedRows, placed
from unveil.reporting.study.rows import ModelRows, model_rows
from unveil.reporting.study.rules import GroupRule, rules
from unveil.reporting.study.settings import Settings
from unveil.reporting.words import count
from unveil.sources.errors import DataError
from unveil.tables.prepared import Prepared

SHOWN_ROWS = 2_000  # that figures draw
DESCRIBED_ROWS = 20_000  # that trees and silhouettes look at
SILHOUETTE_ROWS = 2_048  # each is compared with all others
LEAST_ROWS = 2


@dataclass(frozen=True)
class Analysis:
    """All that the sections are written from."""

    prepared: Prepared
    settings: Settings
    found: Modelled
    clusters: NDArray[np.intp]  # group of each component
    placed: PlacedRows
    grouping: Grouping
    rules: dict[int, GroupRule]
    outliers: Outliers | None
    label: LabelStudy | None
    time: TimeStudy | None

    @property
    def rows(self) -> ModelRows:
        """The rows as the model sees them."""
        return self.found.rows

    @property
    def model(self) -> Any:
        """The chosen mixture, fitted to all rows."""
        return self.found.model

    @property
    def grouped(self) -> bool:
        """Are there groups, and are they those of the mixture?"""
        return is_grouped(self.found)

    @property
    def n_groups(self) -> int:
        """Groups that rows are put in; components where there are no groups."""
        return int(self.clusters.max()) + 1

    @cached_property
    def shown(self) -> NDArray[np.intp]:
        """Rows that figures draw."""
        from unveil.sources.rows import sample_rows

        n = self.rows.n_rows
        return np.arange(n) if n <= SHOWN_ROWS else np.asarray(sample_rows(n, SHOWN_ROWS, self.settings.seed))

    @cached_property
    def silhouettes(self) -> Floats:
        """Of the first of the rows that figures draw; empty where there is one group."""
        chosen = self.shown[:SILHOUETTE_ROWS]
        group = self.placed.group[chosen]
        if len(np.unique(group)) < 2:
            return np.empty(0)
        cells = _on_one_scale(self.rows.taken(chosen))
        squares = (cells**2).sum(axis=1)

        def distances(part: slice) -> Floats:
            return np.asarray(np.sqrt(np.maximum(squares[part, None] + squares - 2 * cells[part] @ cells.T, 0.0)))

        weights = np.ones(len(cells)) if self.rows.weights is None else self.rows.weights[chosen]
        return silhouettes(distances, weights, group)

    def row_number(self, row: int) -> int:
        """Number of one of the model's rows in the table, from 1."""
        return int(self.rows.places[row]) + 1


def _on_one_scale(rows: ModelRows) -> Floats:
    """Places that have distances: numbers by their deviations, levels by their shares; holes in the middle."""
    cells, owners = plane_numbers(plot_columns(rows.frame))
    middle, spread = np.nanmean(cells, axis=0), np.nanstd(cells, axis=0)
    numeric = np.array([not rows.levels[owner] for owner in owners])
    scale = np.where(numeric & (spread > 0), spread, 1.0)
    return np.asarray(np.nan_to_num((cells - middle) / scale))


def is_grouped(found: Modelled) -> bool:
    """Whether groups are real, and are those of the mixture."""
    clusters, judged = found.judged.certificate.clusters, found.judged
    real = judged.certificate.verdicts["real"] == "yes"
    return real and clusters is not None and len(set(clusters)) == judged.n_clusters


def analyse(prepared: Prepared, settings: Settings) -> Analysis:
    """Everything, in order."""
    rows = model_rows(prepared)
    _check_rows(prepared, rows)
    found = judged_mixture(prepared, rows, settings)
    clock, seed = settings.clock, settings.seed
    clusters = homes(found) if is_grouped(found) else np.arange(len(found.model.weights_))
    settings.tell("describing the groups")
    where = placed(found.model, found.rows, clusters)
    n_groups = int(clusters.max()) + 1
    groups = grouping(found.rows, where, n_groups)
    some = found.rows.sample(DESCRIBED_ROWS, seed)
    chosen = where.group[np.searchsorted(found.rows.places, some.places)]
    simple = rules(some, chosen, [one.number for one in groups.groups], seed)
    far = None
    if clock.allows(0.1, "rows that fit nowhere were not looked for"):
        settings.tell("looking for rows that fit nowhere")
        far = outliers(found.model, found.rows, where, seed)
    label = None if prepared.label is None else label_study(*prepared.label, found.rows, where.group, n_groups)
    return Analysis(
        prepared, settings, found, clusters, where, groups, simple, far, label, _time(prepared, found.rows, settings)
    )


def judged_mixture(prepared: Prepared, rows: ModelRows, settings: Settings) -> Modelled:
    """The mixture of a table; its groups are doubted where rows merely wander in time."""
    found = modelled(rows, settings)
    stamps = None if prepared.time is None else prepared.time.values
    return found._replace(judged=without_drift(found.judged, found.model, found.rows, stamps))


def homes(found: Modelled) -> NDArray[np.intp]:
    """Group of each component, groups counted in the order of their first components."""
    clusters = found.judged.certificate.clusters or ()
    order = list(dict.fromkeys(clusters))
    return np.array([order.index(cluster) for cluster in clusters], dtype=np.intp)


def _time(prepared: Prepared, rows: ModelRows, settings: Settings) -> TimeStudy | None:
    if prepared.time is None or not settings.clock.allows(0.15, "regimes over time were not looked for"):
        return None
    settings.tell("looking for regimes over time")
    return time_study(prepared.time.name, prepared.time.values, rows, settings)


def _check_rows(prepared: Prepared, rows: ModelRows) -> None:
    """Errors for tables in which there is nothing to find."""
    title, found = prepared.table.title, prepared.table.n_rows
    if found < LEAST_ROWS:
        raise DataError(f"{title}: {count(found, 'row')}; a report needs at least {LEAST_ROWS}")
    if not rows.names:
        parts = [f"{role.name!r} ({role.role})" for role in prepared.roles[:10]]
        raise DataError(
            f"{title}: no column is left to model; the columns are {', '.join(parts)}: "
            "roles={'name': 'number'} or --roles name=number says otherwise"
        )
    if rows.n_rows < LEAST_ROWS:
        raise DataError(
            f"{title}: {rows.n_rows} of {found:,} rows hold something in the columns that are modelled; "
            f"a report needs at least {LEAST_ROWS}"
        )
