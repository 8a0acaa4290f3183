"""What the report finds: the principal plane, the best mixture by BIC, three verdicts on it, its groups.

Up to 20,000 rows everything is fitted to all of them. Beyond, the comparison of models runs on a reproducible sample
and the winner is then fitted to all rows, from where the sample left it, and examined again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Source
from unveil.judgement.examine import examine
from unveil.plot.plane import Plane, scale_of
from unveil.report.groups import RowGroup, find_groups
from unveil.report.naming import PageNaming, naming_of
from unveil.report.profile import ColumnProfile, Usable, describe, usable
from unveil.report.table import Table
from unveil.report.view import View
from unveil.selection.judged import STRONG, Judged, number_of_groups
from unveil.selection.outcome import Selection
from unveil.selection.search import select
from unveil.sources.array import ArraySource
from unveil.sources.rows import sample_rows

ROWS_PER_GROUP = 5  # there are never so many groups that fewer rows than this are left for each
STARTS_EACH = 5  # of a model, the best of which counts: a single one ends in a poor optimum too often
VARIANCE_FLOOR = 1e-10  # of the variance of the narrowest column: small, so that groups far apart may still be narrow
STRUCTURES = ("full", "tied", "diag", "spherical")
LINE_STRUCTURES = ("full", "tied")  # of one column; the others coincide with these


class ReportProgress(NamedTuple):
    """What callbacks are shown."""

    words: str
    done: int
    total: int


Progress = ReportProgress  # what `unveil.report` calls it
Callback = Callable[[ReportProgress], None]


class Settings(NamedTuple):
    """What the user settled."""

    max_components: int
    seed: int
    engine: Any
    callbacks: tuple[Callback, ...] = ()
    covariance_types: tuple[str, ...] | None = None  # what to compare; a few that differ most where it is None
    sample_rows: int = 20_000  # on which models are compared: dozens of fits take seconds

    def tell(self, words: str, done: int, total: int) -> None:
        """Show the callbacks how far it is."""
        for callback in self.callbacks:
            callback(ReportProgress(words, done, total))


@dataclass(frozen=True)
class Analysis:
    """All that the sections are written from."""

    table: Table
    settings: Settings
    columns: list[ColumnProfile]
    n_rows: int
    usable: Usable
    rows: NDArray[np.float64]  # the sample
    weights: NDArray[np.float64] | None  # of the sample
    pca: Any  # None for a single column
    plane: Plane | None
    selection: Selection
    model: Any
    judged: Judged  # of the model
    groups: list[RowGroup]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that the model uses."""
        return tuple(self.table.names[column] for column in self.usable.columns)

    @cached_property
    def naming(self) -> PageNaming:
        """What the page calls components, clusters and columns."""
        return naming_of(self.judged, len(self.model.weights_), self.names)

    @property
    def sampled(self) -> bool:
        """Did the comparison run on a sample?"""
        return len(self.rows) < self.usable.n_rows


def analyse(table: Table, settings: Settings) -> Analysis:
    """Everything, in order."""
    settings.tell("reading the table", 0, 1)
    columns, n_rows = describe(table)
    useful = usable(table.source, columns)
    view = View(table.source, useful.columns, useful.n_rows)
    rows, weights = _sample(view, settings)
    data: Source = view if len(rows) < useful.n_rows else ArraySource(rows, weights)
    settings.tell("finding the principal plane", 0, 1)
    names = tuple(table.names[column] for column in useful.columns)
    pca, plane = _plane(data, useful, names, settings)
    outcome = _compare(rows, weights, float(useful.deviation.min()), settings)
    settings.tell("fitting the best model to all rows", 0, 1)
    model, verdicts = outcome.best_estimator_, outcome.judged
    if data is view:
        model = _refitted(model, data)
        verdicts = _judged(model, data, verdicts)
    settings.tell("describing the groups", 0, 1)
    groups = find_groups(model, data, useful)
    found = (outcome, model, verdicts, groups)
    return Analysis(table, settings, columns, n_rows, useful, rows, weights, pca, plane, *found)


def _sample(view: View, settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """All rows, or a fixed sample of a large table, and their weights."""
    chosen = sample_rows(view.n_rows, min(view.n_rows, settings.sample_rows), settings.seed)
    rows, weights = [], []
    for block in view.read():
        first, last = np.searchsorted(chosen, (block.start, block.start + len(block.rows)))
        here = chosen[first:last] - block.start
        rows.append(np.asarray(block.rows[here], dtype=np.float64))
        weights += [] if block.weights is None else [block.weights[here]]
    return np.concatenate(rows), np.concatenate(weights) if weights else None


def _plane(data: Source, useful: Usable, names: tuple[str, ...], settings: Settings) -> tuple[Any, Plane | None]:
    """PCA of all rows, on one scale where spreads are uneven; nothing for a single column."""
    from unveil.projections.pca.pca import PCA

    if data.n_columns < 2:
        return None, None
    scale = scale_of(useful.deviation)
    every = tuple(range(data.n_columns))
    pca = PCA(engine=settings.engine).fit(View(data, every, useful.n_rows, useful.mean, scale))
    return pca, Plane.from_pca(pca, useful.mean, scale, names)


def _compare(
    rows: NDArray[np.float64], weights: NDArray[np.float64] | None, narrowest: float, settings: Settings
) -> Selection:
    """Mixtures of every size and structure that the rows can carry."""
    from unveil.mixtures.gaussian import GaussianMixture

    most = max(1, min(settings.max_components, len(np.unique(rows, axis=0)) // ROWS_PER_GROUP))
    structures = settings.covariance_types or (STRUCTURES if rows.shape[1] > 1 else LINE_STRUCTURES)
    model = GaussianMixture(
        reg_covar=VARIANCE_FLOOR * narrowest**2,
        tol=1e-5,
        max_iter=500,
        n_init=STARTS_EACH,
        random_state=settings.seed,
        engine=settings.engine,
    )
    grid = {"n_components": range(1, most + 1), "covariance_type": structures}
    total, done = most * len(structures), count(1)

    def tell(row: dict[str, Any]) -> None:
        settings.tell("comparing mixtures", next(done), total)

    return select(model, rows, grid, criterion="bic", sample_weight=weights, callbacks=[tell])


def _judged(model: Any, data: Source, before: Judged) -> Judged:
    """The model of all rows, examined; a kind that is clearly better keeps its say in how many groups there are."""
    certificate = examine(model, data)
    model.clusters_ = np.array(certificate.clusters, dtype=np.intp)
    if before.alternatives and before.alternatives[0].gain > STRONG:
        return before._replace(certificate=certificate)
    return before._replace(certificate=certificate, n_clusters=number_of_groups(certificate))


def _refitted(best: Any, data: Source) -> Any:
    """The winner fitted to all rows, from where the sample left it."""
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    from unveil.certificate import FitWarning

    model = clone(best).set_params(
        n_init=1, weights_init=best.weights_, means_init=best.means_, precisions_init=best.precisions_
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate, which the report shows, says it
        warnings.simplefilter("ignore", FitWarning)
        return model.fit(data)
