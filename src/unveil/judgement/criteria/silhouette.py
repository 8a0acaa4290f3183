r"""How much nearer a row is to its own cluster than to the next: the silhouette.

.. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

with :math:`a_i` the mean distance to the other rows of its cluster and :math:`b_i` the least mean distance to the rows
of another one; 0 for a row that is alone (Rousseeuw, J. Comp. Appl. Math. 20, 1987). A row of weight two is two rows,
one of which is the other's neighbour; a row of a weight below one is not its own neighbour at all. One cluster has no
silhouette.

The words for its mean are those of Kaufman and Rousseeuw (Finding groups in data, 1990, table 4). They were made for
tables of several columns: rows spread evenly over a line have 0.6 whatever K is. So the mean must also be more than
evenly spread rows have, where that is known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.judgement.criteria.opinions import Line, Opinion, at_edge, known

Distances = Callable[[slice], Floats]  # of the rows of a slice to all rows
DISTANCE_ROWS = 512  # rows whose distances are held at a time
NO_STRUCTURE = 0.25  # up to here, there is no substantial structure,
WEAK_STRUCTURE = 0.5  # and up to here it is weak and may be artificial
CHANCE_LEAD = 0.05  # of the silhouette of evenly spread rows: less than that may be chance
STRUCTURE_WORDS = (
    (NO_STRUCTURE, "no substantial structure"),
    (WEAK_STRUCTURE, "weak structure"),
    (0.7, "reasonable structure"),
)


def silhouettes(distances: Distances, weights: Floats, labels: NDArray[np.integer]) -> Floats:
    """The silhouette of every row.

    >>> rows = np.array([0.0, 1.0, 9.0])
    >>> silhouettes(lambda part: abs(rows[part, None] - rows), np.ones(3), np.array([0, 0, 1])).round(3).tolist()
    [0.889, 0.875, 0.0]
    """
    present, own = np.unique(labels, return_inverse=True)
    shares = np.where(own[:, None] == np.arange(len(present)), weights[:, None], 0.0)
    counts = shares.sum(axis=0)
    out = np.zeros(len(labels))
    for first in range(0, len(labels), DISTANCE_ROWS):
        part = slice(first, min(first + DISTANCE_ROWS, len(labels)))
        out[part] = _of_block(distances(part) @ shares, counts, own[part], weights[part])
    return out


def _of_block(sums: Floats, counts: Floats, own: NDArray[np.intp], weights: Floats) -> Floats:
    """Silhouettes from the summed distances of some rows to each cluster."""
    each = np.arange(len(own))
    others = counts[own] - np.minimum(weights, 1.0)
    alone = others <= 1e-12 * counts[own]
    inner = sums[each, own] / np.where(alone, 1.0, others)
    means = sums / counts
    means[each, own] = np.inf
    outer = means.min(axis=1)
    widest = np.maximum(inner, outer)
    flat = alone | (widest <= 0.0)
    return np.where(flat, 0.0, (outer - inner) / np.where(flat, 1.0, widest))


def mean_silhouette(distances: Distances, weights: Floats, labels: NDArray[np.integer]) -> float | None:
    """The mean over all rows; None for a single cluster, or where every row is one of its own."""
    found = len(np.unique(labels[weights > 0]))
    if found < 2 or found >= weights.sum():
        return None
    return float(weights @ silhouettes(distances, weights, labels) / weights.sum())


def strength(value: float) -> str:
    """What a mean silhouette stands for, in words."""
    return next((words for limit, words in STRUCTURE_WORDS if value <= limit), "strong structure")


def opine(line: Line) -> Opinion:
    """The largest mean silhouette, if rows spread evenly would not have it too."""
    values = known(line, "silhouette")
    if not values:
        return Opinion("silhouette", "silhouette", None, "no silhouette: it takes two clusters")
    size, best = max(values, key=lambda pair: pair[1])
    even = dict(known(line, "silhouette_even")).get(size)
    said = f"silhouette ({best:.2f}: {strength(best)})"
    if best <= NO_STRUCTURE or (even is not None and best < even + CHANCE_LEAD):
        less = f", where evenly spread rows have {even:.2f}" if even is not None else ""
        return Opinion("silhouette", "silhouette", None, f"{said} at {size}{less}", structure=False)
    if even is None and best <= WEAK_STRUCTURE:
        return Opinion("silhouette", "silhouette", None, f"{said} at {size}")
    if at_edge(size, line):
        return Opinion("silhouette", "silhouette", None, f"{said} is best at {size}, the edge of what was tried")
    return Opinion("silhouette", "silhouette", size, said)
