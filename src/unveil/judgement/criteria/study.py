"""What the criteria of one comparison share: the rows they look at, reference sets and bootstrap samples."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.judgement.criteria.dissimilarity import distances_of, is_kmeans
from unveil.judgement.criteria.gap import Gap, References
from unveil.judgement.criteria.resampling import ByCentres, ByClones
from unveil.judgement.criteria.rows import Rows, draw
from unveil.judgement.criteria.silhouette import mean_silhouette
from unveil.judgement.criteria.stability import BOOTSTRAP_SETS, Stability, compare
from unveil.numerics.blas import single_threaded_blas


class Study:
    """The rows of a table and what was made of them; each part is there from its first use on."""

    def __init__(self, estimator: Any, X: Any, sample_weight: Floats | None, sets: int = BOOTSTRAP_SETS) -> None:
        self.estimator, self.X, self.sample_weight, self.sets = estimator, X, sample_weight, sets
        self.seed = _seed(estimator)
        self._last: tuple[Any, dict[str, Any]] = (None, {})

    @cached_property
    def rows(self) -> Rows:
        """The rows that criteria look at."""
        return draw(self.estimator, self.X, self.sample_weight, self.seed)

    @cached_property
    def references(self) -> References:
        """The sets that the gap statistic compares with."""
        return References(self.rows, self.seed, self.sets)

    @cached_property
    def resampling(self) -> ByCentres | ByClones:
        """Bootstrap samples."""
        centred = is_kmeans(self.estimator) and self.rows.dense
        return ByCentres(self.rows, self.seed, self.sets) if centred else ByClones(self.rows, self.seed)

    def labels(self, model: Any) -> NDArray[np.integer]:
        """Clusters of the rows that criteria look at."""
        known = getattr(model, "labels_", None)
        found = model.predict(self.rows.values) if known is None else np.asarray(known)[self.rows.chosen]
        return np.asarray(found)

    def silhouette(self, model: Any) -> float | None:
        """Mean silhouette."""
        labels = self.labels(model)
        with single_threaded_blas():  # the same bits on any number of threads
            return mean_silhouette(distances_of(model, self.rows), self.rows.weights, labels)

    def even_silhouette(self, model: Any) -> float | None:
        """Mean silhouette of as many clusters in rows that have none."""
        known = is_kmeans(self.estimator) and self.rows.dense
        return self.references.silhouette(len(model.cluster_centers_)) if known else None

    def gap(self, model: Any) -> Gap | None:
        """Gap statistic, computed once for a model."""
        return self._once(model, "gap", self._gap)

    def stability(self, model: Any) -> Stability | None:
        """Bootstrap stability, computed once for a model."""
        return self._once(model, "stability", self._stability)

    def _once(self, model: Any, name: str, compute: Any) -> Any:
        if self._last[0] is not model:
            self._last = (model, {})
        if name not in self._last[1]:
            self._last[1][name] = compute(model)
        return self._last[1][name]

    def _gap(self, model: Any) -> Gap | None:
        if not self.rows.dense:
            return None
        centres = np.asarray(model.cluster_centers_, dtype=np.float64)
        return self.references.gap(len(centres), centres, float(model.inertia_))

    def _stability(self, model: Any) -> Stability | None:
        labels, size = self.labels(model), int(model.n_clusters)
        if len(np.unique(labels)) < 2:
            return None
        try:
            others = self.resampling.labels(model, size)
        except ValueError:  # a sample may have too few different rows
            return None
        return compare(labels, others, self.rows.weights, int(labels.max()) + 1)


def _seed(estimator: Any) -> int:
    """A seed from the estimator's random state, which stays as it was; 0 where it has none."""
    from unveil.estimation.base import seed_of

    state = estimator.get_params().get("random_state")
    return seed_of(0 if state is None else deepcopy(state))
