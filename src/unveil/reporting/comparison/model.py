"""The mixture of the old table that new rows are held against: of the kind that its columns ask for, best by BIC."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SHAPES = ("full", "tied", "diag", "spherical")
WORDS = {"category", "yes/no"}


class TableMixture(NamedTuple):
    """A fitted mixture, and the rows that it takes."""

    model: Any
    groups: NDArray[np.intp]  # of each component
    clear: bool  # are the groups real, or are they no more than parts of a density?

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1


def rows_for(prepared: Any) -> Any:
    """What the mixture of a table takes: an array of numbers, or columns of several kinds as Arrow has them."""
    return prepared.numbers if set(prepared.kinds) <= {"number"} else prepared.frame


def picked(rows: Any, numbers: NDArray[np.intp]) -> Any:
    """Some of the rows, by number."""
    return rows.take(numbers) if hasattr(rows, "column_names") else rows[numbers]


def best_mixture(prepared: Any, rows: Any, most: int, seed: int) -> TableMixture:
    """The best by BIC of mixtures of up to `most` components, and the groups that its components form."""
    from unveil.selection.search import select

    estimator, grid = _asked_for(prepared, seed)
    grid["n_components"] = range(1, max(1, min(most, len(rows) // 10)) + 1)
    with quiet():
        outcome = select(estimator, rows, grid)
    best = outcome.best_estimator_
    groups = np.asarray(getattr(best, "clusters_", np.arange(best.n_components)), dtype=np.intp)
    if outcome.n_clusters == 1:
        groups = np.zeros(len(groups), dtype=np.intp)
    return TableMixture(best, groups, outcome.n_clusters is not None and outcome.n_clusters > 1)


def _asked_for(prepared: Any, seed: int) -> tuple[Any, dict[str, Any]]:
    """A mixture of the kind that the columns ask for, and what else of it is compared."""
    from unveil.mixtures.categorical import CategoricalMixture
    from unveil.mixtures.gaussian import GaussianMixture
    from unveil.mixtures.mixed import MixedMixture

    kinds = set(prepared.kinds)
    if kinds <= {"number"}:
        return GaussianMixture(random_state=seed), {"covariance_type": SHAPES}
    if kinds <= WORDS:
        return CategoricalMixture(random_state=seed), {}
    families = [(kind, [place]) for place, kind in enumerate(prepared.kinds)]
    return MixedMixture(families=families, covariance_type="diag", random_state=seed), {}


def refitted(mixture: TableMixture, rows: Any) -> Any:
    """The same mixture fitted to other rows."""
    from sklearn.base import clone

    with quiet():
        return clone(mixture.model).fit(rows)


@contextmanager
def quiet() -> Iterator[None]:
    """Fits that are made to compare with are none of the user's: what they warn of is not said."""
    logger = logging.getLogger("unveil")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
