r"""The gap statistic: is the cost lower than it would be without clusters?

.. math:: \mathrm{Gap}(K) = \mathrm{E}^* \log W_K^* - \log W_K

where W is the cost of K clusters, and the star stands for rows spread evenly over a box along the principal axes of
the data. With the standard deviation of log W over B such reference sets, :math:`s_K = \mathrm{sd}_K \sqrt{1 + 1/B}`,
the answer is the smallest K with

.. math:: \mathrm{Gap}(K) \ge \mathrm{Gap}(K + 1) - s_{K + 1}

(Tibshirani, Walther and Hastie, J. Royal Stat. Soc. B 63, 2001). One cluster is a possible answer: no clusters.
Of a large table, both sides of the gap are measured on `RESAMPLED_ROWS` rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.kmeans.lloyd import LloydOutcome
from unveil.core.arrays import Floats
from unveil.judgement.criteria.opinions import Line, Opinion
from unveil.judgement.criteria.rows import RESAMPLED_ROWS, Rows
from unveil.judgement.criteria.silhouette import mean_silhouette
from unveil.judgement.criteria.small import grown, settled
from unveil.numerics.blas import single_threaded_blas

REFERENCE_SETS = 20  # the factor of the error is then 1.02: more would hardly lower it
SILHOUETTE_SETS, SILHOUETTE_ROWS = 5, 512  # reference sets, and rows of them, whose silhouette is taken


class Gap(NamedTuple):
    """The gap and its standard error."""

    value: float
    error: float


class Box(NamedTuple):
    """A box along the principal axes of some rows."""

    centre: Floats
    axes: Floats  # (r, d)
    low: Floats
    high: Floats


def box_of(values: Floats, weights: Floats) -> Box:
    """The smallest box that holds the rows, turned as they lie."""
    centre = weights @ values / weights.sum()
    gaps = values - centre
    scaled = gaps * np.sqrt(weights)[:, None]
    if values.shape[1] <= len(values):
        axes = np.linalg.eigh(scaled.T @ scaled)[1].T
    else:
        axes = np.linalg.svd(scaled, full_matrices=False)[2]
    turned = gaps @ axes.T
    return Box(centre, axes, turned.min(axis=0), turned.max(axis=0))


class References:
    """Reference sets and their clusters, grown as larger numbers of clusters are asked for."""

    def __init__(self, rows: Rows, seed: int, sets: int = REFERENCE_SETS) -> None:
        self.rows = rows
        with single_threaded_blas():
            box = box_of(rows.values, rows.weights)
        size = rows.resampled()
        self.streams = [np.random.default_rng([seed, 1, number]) for number in range(sets)]
        self.sets = [box.low + (box.high - box.low) * stream.random((size, len(box.low))) for stream in self.streams]
        self.box, self.weights = box, np.ones(size)
        self.grown: list[LloydOutcome | None] = [None] * sets
        self.logs: dict[int, Floats] = {}
        self.silhouettes: dict[int, float | None] = {}

    def expected(self, size: int) -> Floats:
        """Log cost per row of `size` clusters in each reference set."""
        if size not in self.logs:
            with single_threaded_blas():
                self.grown = [
                    grown(rows, self.weights, last, size, stream)
                    for rows, last, stream in zip(self.sets, self.grown, self.streams, strict=True)
                ]
                self.silhouettes[size] = self._silhouette()
            costs = np.array([0.0 if last is None else last.cost for last in self.grown])
            with np.errstate(divide="ignore"):
                self.logs[size] = np.log(costs / len(self.weights))
        return self.logs[size]

    def silhouette(self, size: int) -> float | None:
        """Mean silhouette of `size` clusters in rows that have none."""
        self.expected(size)
        return self.silhouettes[size]

    def _silhouette(self) -> float | None:
        """The mean over some of the sets, and some of their rows."""
        known = [last for last in self.grown[:SILHOUETTE_SETS] if last is not None]
        seen = [
            _sight(rows[:SILHOUETTE_ROWS], last.labels[:SILHOUETTE_ROWS])
            for rows, last in zip(self.sets, known, strict=False)
        ]
        some = [value for value in seen if value is not None]
        return float(np.mean(some)) if some else None

    def observed(self, centres: Floats, cost: float) -> float:
        """Log cost per row of the data: of all rows if they are few, else of a sample at its own best centres."""
        rows = self.rows
        few = rows.whole and len(rows.weights) <= RESAMPLED_ROWS
        if not few:
            part = slice(0, None, max(len(rows.weights) // len(self.weights), 1))
            weights = rows.weights[part]
            with single_threaded_blas():
                cost = settled(rows.values[part] - self.box.centre, weights, centres - self.box.centre).cost
            return math.log(cost / weights.sum()) if cost > 0 else -math.inf
        return math.log(cost * rows.scale / rows.total) if cost > 0 else -math.inf

    def gap(self, size: int, centres: Floats, cost: float) -> Gap | None:
        """The gap of a clustering; None where nothing is left of the cost."""
        logs, own = self.expected(size), self.observed(centres, cost)
        if not (np.isfinite(logs).all() and math.isfinite(own)):
            return None
        return Gap(float(logs.mean() - own), float(logs.std() * math.sqrt(1.0 + 1.0 / len(logs))))


def _sight(rows: Floats, labels: NDArray[np.intp]) -> float | None:
    """The mean silhouette of a few rows."""
    from scipy.spatial.distance import cdist

    return mean_silhouette(lambda part: np.asarray(cdist(rows[part], rows)), np.ones(len(rows)), labels)


def first_within_error(gaps: Sequence[Gap]) -> int | None:
    """The position of the first gap that the next one does not beat by more than its error; None where all do.

    >>> first_within_error([Gap(0.1, 0.02), Gap(0.5, 0.02), Gap(0.51, 0.02)])
    1
    """
    for place, (here, after) in enumerate(pairwise(gaps)):
        if here.value >= after.value - after.error:
            return place
    return None


def opine(line: Line) -> Opinion:
    """The one-standard-error rule's answer."""
    said = partial(Opinion, "gap", "gap statistic")
    seen = [row for row in line if row.get("gap") is not None]
    gaps = [Gap(float(row["gap"]), float(row["gap_error"])) for row in seen]
    if len(gaps) < 2:
        return said(None, "no gap statistic: it takes two numbers of clusters and all cells of dense rows")
    place = first_within_error(gaps)
    if place is None:
        return said(None, f"the gap still grows at {seen[-1]['n_clusters']}, the last tried")
    size, value = int(seen[place]["n_clusters"]), gaps[place].value
    if size == seen[0]["n_clusters"] > 1:
        return said(None, f"the gap does not grow from {size} on; fewer clusters were not tried")
    return said(size, f"gap statistic ({value:.2f}{_later(seen, gaps, place)})")


def _later(seen: Line, gaps: Sequence[Gap], place: int) -> str:
    """Whether a later gap is larger by more than its error: then there may be clusters within clusters."""
    top = max(range(len(gaps)), key=lambda number: gaps[number].value)
    if top <= place or gaps[top].value - gaps[top].error <= gaps[place].value:
        return ""
    return f", but {gaps[top].value:.2f} at {seen[top]['n_clusters']}"
