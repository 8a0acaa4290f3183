r"""Do the same clusters come back when the rows are drawn again?

Each of B bootstrap samples is clustered, and all rows are put to its clusters. How well that agrees with the
clustering of the data is measured twice. As a whole, by the adjusted Rand index (Hubert and Arabie, J. Classification
2, 1985): 1 for the same clusters, 0 for chance. And for each cluster by the largest Jaccard index with one that came
back,

.. math:: \gamma(C, D) = \frac{|C \cap D|}{|C \cup D|}

whose mean over the samples is Hennig's clusterwise stability (Computational Statistics and Data Analysis 52, 2007):
from 0.75 on a cluster is valid, from 0.85 on highly stable; below 0.6 it should not be trusted. The largest K of which
all clusters are highly stable is the answer. One cluster always comes back, which says nothing. Stability is no proof
of clusters: with many rows, cutting one lump in two can be stable too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.judgement.criteria.opinions import Line, Opinion

Labels = NDArray[np.integer]
BOOTSTRAP_SETS = 20  # the mean of so many Jaccard indices is known to a few hundredths
STABLE_RAND = 0.9  # adjusted Rand index from which on a clustering is stable
STABLE_JACCARD = 0.85  # Jaccard index from which on a cluster is highly stable


class Stability(NamedTuple):
    """Agreement of the whole, and of each cluster."""

    rand: float
    jaccard: Floats


def bootstrap(weights: Floats, size: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Numbers of `size` rows, drawn with replacement in proportion to their weights, in order.

    Ordered uniform numbers are looked up on the scale of added weights: a row of weight two is two rows side by side.
    """
    total = np.cumsum(weights)
    places = np.searchsorted(total, np.sort(random.random(size)) * total[-1], side="right")
    return np.minimum(places, len(weights) - 1)


def contingency(one: Labels, other: Labels, weights: Floats) -> Floats:
    """Weight of the rows in each pair of clusters."""
    width = int(other.max()) + 1
    held = np.bincount(one.astype(np.intp) * width + other, weights, (int(one.max()) + 1) * width)
    return held.reshape(-1, width).astype(np.float64)


def adjusted_rand(table: Floats) -> float:
    """Agreement of two clusterings beyond chance; weights count rows.

    >>> adjusted_rand(np.array([[3.0, 0.0], [0.0, 2.0]]))
    1.0
    """
    total = _pairs(table.sum(keepdims=True))
    rows, columns, both = _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0)), _pairs(table)
    chance, most = (rows * columns / total if total > 0 else 0.0), (rows + columns) / 2.0
    return 1.0 if most == chance else (both - chance) / (most - chance)


def _pairs(counts: Floats) -> float:
    """Pairs of rows within groups of so many."""
    return float((counts * (counts - 1.0)).sum() / 2.0)


def best_jaccard(table: Floats) -> Floats:
    """For each cluster of the rows of `table`, the largest Jaccard index with one of the columns."""
    union = table.sum(axis=1)[:, None] + table.sum(axis=0) - table
    return np.asarray(np.max(table / np.where(union > 0, union, 1.0), axis=1))


def compare(labels: Labels, others: Sequence[Labels], weights: Floats, size: int) -> Stability:
    """Stability of a clustering against those of bootstrap samples."""
    tables = [contingency(labels, other, weights) for other in others]
    found = np.zeros(size)
    found[: len(tables[0])] = np.mean([best_jaccard(table) for table in tables], axis=0)
    return Stability(float(np.mean([adjusted_rand(table) for table in tables])), found)


def opine(line: Line) -> Opinion:
    """The largest number of clusters of which all come back."""
    seen = [row for row in line if row.get("stability") is not None]
    if not seen:
        return Opinion("stability", "stability", None, "no stability: it takes two clusters")
    stable = [
        row for row in seen if row["stability"] >= STABLE_RAND and min(row["cluster_stability"]) >= STABLE_JACCARD
    ]
    if not stable:
        best = max(seen, key=lambda row: float(row["stability"]))
        words = f"no clusters come back in bootstrap samples (at best {best['stability']:.2f}, at {best['n_clusters']})"
        return Opinion("stability", "stability", None, words, structure=False)
    chosen = stable[-1]
    size = int(chosen["n_clusters"])
    if chosen is line[-1] and len(line) > 1:
        return Opinion("stability", "stability", None, f"clusters are stable up to {size}, the last tried")
    return Opinion("stability", "stability", size, f"stability ({chosen['stability']:.2f})")
