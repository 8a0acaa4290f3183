"""Clusterings of bootstrap samples, for one number of clusters after the other."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.kmeans.lloyd import LloydOutcome
from unveil.judgement.criteria.rows import RESAMPLED_ROWS, Rows
from unveil.judgement.criteria.small import grown, squares
from unveil.judgement.criteria.stability import BOOTSTRAP_SETS, Labels, bootstrap
from unveil.numerics.blas import single_threaded_blas

CLONED_SETS, CLONED_MEMBERS = 10, 1024  # for estimators that have to be fitted themselves, at their own pace,
CLONED_STARTS = 1  # whatever was asked for the whole table: several may each be perturbed a hundred times


def draws(rows: Rows, seed: int, sets: int, members: int) -> list[NDArray[np.intp]]:
    """Row numbers of each bootstrap sample."""
    size = rows.resampled(members)
    return [bootstrap(rows.weights, size, np.random.default_rng([seed, 2, number])) for number in range(sets)]


class ByCentres:
    """K-means of bootstrap samples, each grown from one number of clusters to the next."""

    def __init__(self, rows: Rows, seed: int, sets: int = BOOTSTRAP_SETS) -> None:
        centre = rows.weights @ rows.values / rows.weights.sum()
        self.rows = rows.values - centre
        self.samples = [self.rows[drawn] for drawn in draws(rows, seed, sets, RESAMPLED_ROWS)]
        self.streams = [np.random.default_rng([seed, 3, number]) for number in range(sets)]
        self.grown: list[LloydOutcome | None] = [None] * sets
        self.found: dict[int, list[Labels]] = {}

    def labels(self, model: Any, size: int) -> list[Labels]:
        """All rows by the clusters of each sample; the same for any K-means of that size."""
        if size not in self.found:
            with single_threaded_blas():
                self.grown = [
                    grown(sample, np.ones(len(sample)), last, size, stream)
                    for sample, last, stream in zip(self.samples, self.grown, self.streams, strict=True)
                ]
                self.found[size] = [
                    np.argmin(squares(self.rows, last.centres), axis=0) for last in self.grown if last is not None
                ]
        return self.found[size]


class ByClones:
    """Clones of the model itself, fitted to bootstrap samples."""

    def __init__(self, rows: Rows, seed: int, sets: int = CLONED_SETS) -> None:
        self.rows = rows
        self.draws = draws(rows, seed, sets, CLONED_MEMBERS)

    def labels(self, model: Any, size: int) -> list[Labels]:
        """All rows by the clusters of each sample."""
        from sklearn.base import clone

        found: list[Labels] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # samples repeat rows, and how their fits went is nobody's concern
            for drawn in self.draws:
                again = _quick(clone(model)).fit(self.rows.values[drawn])
                found.append(np.asarray(again.predict(self.rows.values)))
        return found


def _quick(model: Any) -> Any:
    """`model` with few starts, where it can have several."""
    starts = model.get_params().get("n_init", 1)
    return model.set_params(n_init=CLONED_STARTS) if isinstance(starts, str) or starts > CLONED_STARTS else model
