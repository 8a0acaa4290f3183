"""Groups of rows with many columns, looked for along the few directions that are more than chance.

Each group costs a mixture a mean in every column. Where there are thousands of columns for some dozens of rows, BIC
asks more for a group than it can gain, however far the groups are apart: the comparison in all columns then says one
component, and says nothing of groups. So the rows are also seen along the principal directions that carry more variance
than those of shuffled columns (`parallel_analysis`), where mixtures are compared and examined as ever. Groups that are
real there begin a mixture of all columns, which takes the place of the winner if it keeps them, and if they are real in
it too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.projections.pca.parallel import parallel_analysis
from unveil.reporting.study.rows import ModelRows
from unveil.reporting.study.settings import Settings
from unveil.selection.search import select

ROWS_PER_DIRECTION = 10  # so that mixtures along the directions have rows enough
STARTS_EACH = 5
KEPT = 0.98  # of the rows that a mixture of all columns has to leave in their groups


class Directed(NamedTuple):
    """Groups that were found along some directions."""

    n_directions: int
    groups: NDArray[np.intp]  # of each row, from 0

    @property
    def n_groups(self) -> int:
        """How many there are."""
        return int(self.groups.max()) + 1

    def keeps(self, labels: NDArray[np.intp]) -> bool:
        """Whether other labels, by the same numbers, are those of nearly all rows."""
        return bool(np.mean(labels == self.groups) >= KEPT)


def along_directions(rows: ModelRows, settings: Settings) -> Directed | None:
    """Groups along the directions that stand out; None where none does, or no groups are clear there."""
    import unveil

    scores = _scores(rows, settings.seed)
    if scores is None:
        return None
    model = unveil.GaussianMixture(n_init=STARTS_EACH, random_state=settings.seed, engine=settings.engine)
    most = max(min(settings.max_components, len(scores) // ROWS_PER_DIRECTION), 1)
    grid: dict[str, Any] = {"n_components": range(1, most + 1)}
    grid["covariance_type"] = ("full", "tied", "diag", "spherical") if scores.shape[1] > 1 else ("full", "tied")
    found = select(model, scores, grid, criterion="bic", sample_weight=rows.weights)
    clusters = found.judged.certificate.clusters
    if clusters is None or found.judged.certificate.verdicts["real"] != "yes":
        return None
    _, groups = np.unique(np.asarray(clusters)[found.best_estimator_.predict(scores)], return_inverse=True)
    return Directed(scores.shape[1], groups.astype(np.intp)) if groups.any() else None


def _scores(rows: ModelRows, seed: int) -> Floats | None:
    """Rows along the principal directions of columns on one scale that stand out from those of shuffled columns.

    A missing cell is the mean of its column.
    """
    spread = np.nanstd(rows.coded, axis=0)
    cells = rows.coded[:, spread > 0]
    most = len(cells) // ROWS_PER_DIRECTION
    if not most or cells.shape[1] < 2:
        return None
    count = min(parallel_analysis(cells, seed=seed).n_directions, most)
    if not count:
        return None
    scaled = np.nan_to_num((cells - np.nanmean(cells, axis=0)) / spread[spread > 0])
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(left[:, :count] * values[:count])


def begun_from(directed: Directed, model: Any, rows: ModelRows) -> Any:
    """A mixture of all columns that begins with the groups; None where it does not keep them.

    `model` says what holds besides its number of components, whose variances are those of each column.
    """
    from sklearn.base import clone

    cells = np.where(np.isnan(rows.coded), np.nanmean(rows.coded, axis=0), rows.coded)
    counts = np.bincount(directed.groups)
    means = np.array([cells[directed.groups == group].mean(axis=0) for group in range(len(counts))])
    within = np.maximum(np.mean((cells - means[directed.groups]) ** 2, axis=0), model.reg_covar)
    start = {
        "weights_init": counts / counts.sum(),
        "means_init": means,
        "precisions_init": np.tile(1.0 / within, (len(counts), 1)),
    }
    fresh = clone(model).set_params(n_components=len(counts), covariance_type="diag", n_init=1, **start)
    found = fresh.fit(rows.model_input, sample_weight=rows.weights).set_params(**dict.fromkeys(start))
    order = np.argmin(((found.means_[:, None] - means) ** 2).sum(axis=2), axis=1)
    return found if directed.keeps(order[found.predict(rows.model_input)]) else None
