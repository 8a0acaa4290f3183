"""The same mixture fitted again to four fifths of the rows, five times, each time without another fifth.

What a fit says of rows that it has not seen is free of its luck with those that it has. And groups that are there are
found again: the Jaccard index of a cluster with what its components have become says how much of it comes back
(Hennig, Cluster-wise assessment of cluster stability, 2007).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.core.protocols import Block
from unveil.judgement.case import quietly
from unveil.judgement.real.axes import Axes

FOLDS = 5


class Refit(NamedTuple):
    """One of them."""

    unseen: NDArray[np.bool_]  # which rows it has not seen
    labels: NDArray[np.intp]  # of all rows, by the components of the first fit that its own correspond to
    matches: dict[int, int]  # of components of the first fit to its own, one to one
    axes: Axes


class Refits:
    """Made when they are first asked for."""

    def __init__(self, model: Any, rows: Floats, joint: Floats, random: np.random.Generator) -> None:
        self.model, self.rows, self.shares, self.random = model, rows, softmax(joint, axis=1), random

    @cached_property
    def all(self) -> list[Refit]:
        """As many as could be fitted."""
        folds = self.random.permutation(len(self.rows)) % FOLDS
        return [again for fold in range(FOLDS) if (again := self._refit(folds == fold, fold)) is not None]

    def _refit(self, unseen: NDArray[np.bool_], seed: int) -> Refit | None:
        shown = self.model._emission().rows.shown(self.model, self.rows)
        weights = np.where(unseen, 0.0, 1.0)  # rows stay, so that all values of a column are known
        again = self.model._alike().set_params(random_state=seed, verbose=0)
        try:
            quietly(again.fit, shown, sample_weight=weights)
        except (ValueError, ArithmeticError):
            return None
        fitted = again._mixture()
        joint = fitted.model.log_joint(fitted.plan, Block(0, 0, self.rows))
        together = self.shares.T @ softmax(joint, axis=1)
        matches = dict(zip(*(map(int, side) for side in linear_sum_assignment(-together)), strict=True))
        labels = np.argmax(together, axis=0)[np.argmax(joint, axis=1)]
        return Refit(unseen, labels, matches, Axes(fitted, self.rows))

    def places(
        self, one: int, other: int, homes: NDArray[np.intp], random: np.random.Generator
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Where rows that a refit has not seen lie from `one` to `other`, and which of them are the other's."""
        places, second = [np.empty(0)], [np.empty(0, dtype=np.bool_)]
        for again in self.all:
            labels = homes[again.labels]
            rows = np.flatnonzero(again.unseen & ((labels == one) | (labels == other)))
            if one in again.matches and other in again.matches and len(rows):
                own = again.matches[one], again.matches[other]
                others = labels[rows] == other
                found = _scaled(again.axes.between(*own, rows, random), others)
                if found is not None:
                    places.append(found)
                    second.append(others)
        return np.concatenate(places), np.concatenate(second)

    def stability(self, clusters: NDArray[np.intp]) -> Floats:
        """Mean Jaccard index of each cluster with what its components have become."""
        before = clusters[np.argmax(self.shares, axis=1)]
        names = np.unique(clusters)
        if not self.all:
            return np.full(len(names), np.nan)
        found = [[_jaccard(before == name, clusters[again.labels] == name) for name in names] for again in self.all]
        return np.asarray(np.mean(found, axis=0))


def _scaled(places: Floats, second: NDArray[np.bool_]) -> Floats | None:
    """Places with the middle of the first group at 0 and of the second at 1; None where these are not in order."""
    if second.all() or not second.any():
        return None
    first, last = (float(np.median(places[each])) for each in (~second, second))
    return (places - first) / (last - first) if first < last else None


def _jaccard(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    either = np.count_nonzero(one | other)
    return float(np.count_nonzero(one & other) / either) if either else 1.0
