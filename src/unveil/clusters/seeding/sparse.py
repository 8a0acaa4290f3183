"""Seeds among compressed sparse rows: the rules of the seedings for dense rows, distances by sparse products.

k-means++ draws each next seed in proportion to weight times the squared distance to the nearest seed so far, and keeps
the best of several candidates (Arthur and Vassilvitskii, 2007); furthest-first takes the row furthest from all seeds so
far (Gonzalez, 1985); random rows are drawn in proportion to their weights, copies passed over (Efraimidis and Spirakis,
2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import final

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.sparse_kernels import make_sheet, squared_distances
from unveil.clusters.seeding.tiles import Share
from unveil.core.arrays import Floats, Indices
from unveil.numerics.sparse_rows import Compressed


@final
@dataclass(frozen=True)
class SparsePlusPlus:
    """Draw seeds far from each other.

    Parameters
    ----------
    trials : int or None, default=None
        Candidates at each step; None takes 2 + log(K).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from unveil.numerics.sparse_rows import Compressed
    >>> from unveil.clusters.seeding.sparse import SparsePlusPlus
    >>> rows = Compressed.of(sparse.csr_array([[0.0, 1.0], [0.0, 1.1], [9.0, 0.0], [9.1, 0.0]]))
    >>> sorted((SparsePlusPlus()(rows, None, 2, np.random.default_rng(0)) // 2).tolist())
    [0, 1]
    """

    trials: int | None = None

    def __call__(
        self,
        rows: Compressed,
        weights: Floats | None,
        n_clusters: int,
        generator: np.random.Generator,
        share: Share = map,
    ) -> Indices:
        """Numbers of `n_clusters` different rows. `share` goes unused."""
        check(rows, n_clusters)
        weights = np.ones(len(rows)) if weights is None else weights
        trials = 2 + int(log(n_clusters)) if self.trials is None else self.trials
        closest, odds, seeds = np.full(len(rows), np.inf), weights, list[int]()
        while len(seeds) < n_clusters and np.any(odds > 0):
            chosen = drawn(odds, trials if seeds else 1, generator)
            nearer = np.minimum(distances_to(rows, chosen), closest[:, None])
            best = int(np.argmin(weights @ nearer))
            closest = np.ascontiguousarray(nearer[:, best])
            odds = weights * closest
            seeds.append(int(chosen[best]))
        return completed(rows, seeds, weights, n_clusters)


@final
@dataclass(frozen=True)
class SparseFurthest:
    """Take the row furthest from all seeds so far, the lowest number of equals.

    Parameters
    ----------
    first : int or None, default=None
        Number of the first row; None draws it in proportion to the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from unveil.numerics.sparse_rows import Compressed
    >>> from unveil.clusters.seeding.sparse import SparseFurthest
    >>> rows = Compressed.of(sparse.csr_array([[0.0], [4.0], [1.0], [9.0]]))
    >>> SparseFurthest(first=0)(rows, None, 3, np.random.default_rng(0)).tolist()
    [0, 3, 1]
    """

    first: int | None = None

    def __call__(
        self,
        rows: Compressed,
        weights: Floats | None,
        n_clusters: int,
        generator: np.random.Generator,
        share: Share = map,
    ) -> Indices:
        """Numbers of `n_clusters` different rows; those without weight come last. `share` goes unused."""
        check(rows, n_clusters)
        weights = np.ones(len(rows)) if weights is None else weights
        closest = np.where(weights > 0, np.inf, 0.0)
        seeds = list[int]() if self.first is None else [self.first]
        if self.first is None and np.any(weights > 0):
            seeds = drawn(weights, 1, generator).tolist()
        while seeds and len(seeds) < n_clusters:
            closest = np.minimum(closest, distances_to(rows, np.array(seeds[-1:]))[:, 0])
            furthest = int(np.argmax(closest))
            if not closest[furthest] > 0:
                break
            seeds.append(furthest)
        return completed(rows, seeds, weights, n_clusters)


@final
@dataclass(frozen=True)
class SparseRandom:
    """Draw different rows at random.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from unveil.numerics.sparse_rows import Compressed
    >>> from unveil.clusters.seeding.sparse import SparseRandom
    >>> rows = Compressed.of(sparse.csr_array([[0.0], [0.0], [7.0], [9.0]]))
    >>> sorted(SparseRandom()(rows, np.array([0.0, 5.0, 2.0, 0.0]), 2, np.random.default_rng(0)).tolist())
    [1, 2]
    """

    def __call__(
        self,
        rows: Compressed,
        weights: Floats | None,
        n_clusters: int,
        generator: np.random.Generator,
        share: Share = map,
    ) -> Indices:
        """Numbers of `n_clusters` different rows. `share` goes unused."""
        check(rows, n_clusters)
        weights = np.ones(len(rows)) if weights is None else weights
        with np.errstate(divide="ignore", over="ignore"):
            keys = generator.standard_exponential(len(rows)) / weights
        order = np.lexsort((keys, weights <= 0))
        rank = np.lexsort((repeated(rows[order]), weights[order] <= 0))  # a stable sort
        return np.asarray(order[rank[:n_clusters]])


def check(rows: Compressed, n_clusters: int) -> None:
    """An error if there are fewer rows than seeds."""
    if n_clusters > len(rows):
        raise ValueError(f"n_clusters={n_clusters} seeds need as many rows; there are {len(rows)}")


def distances_to(rows: Compressed, chosen: Indices) -> Floats:
    """Squared distance of every row to a few of them, (rows, chosen): zero for copies."""
    return squared_distances(rows, make_sheet(rows[chosen].dense()))


def drawn(odds: Floats, size: int, generator: np.random.Generator) -> Indices:
    """Rows drawn in proportion to `odds`, not all of them zero. A row with odds zero is never drawn."""
    tops = np.cumsum(odds)
    last = np.searchsorted(tops, tops[-1], side="left")  # the row at which the total is reached
    draws = generator.random(size) * tops[-1]
    return np.minimum(np.searchsorted(tops, draws, side="right"), last).astype(np.intp)


def completed(rows: Compressed, seeds: list[int], weights: Floats, n_clusters: int) -> Indices:
    """`seeds`, and after them rows that are left: those with weight first, new values before copies, in order."""
    chosen = np.array(seeds, dtype=np.intp)
    if len(chosen) >= n_clusters:
        return chosen
    left = np.setdiff1d(np.arange(len(weights)), chosen)
    copies = repeated(rows[np.concatenate([chosen, left])])[len(chosen) :]
    return np.concatenate([chosen, left[np.lexsort((copies, weights[left] <= 0))]])[:n_clusters]


def repeated(rows: Compressed) -> NDArray[np.bool_]:
    """Which rows are copies of an earlier one."""
    copies, seen = np.zeros(len(rows), np.bool_), set[tuple[bytes, bytes]]()
    for number in range(len(rows)):
        cells = slice(rows.indptr[number], rows.indptr[number + 1])
        data, indices = rows.data[cells], rows.indices[cells]
        value = data[data != 0].tobytes(), indices[data != 0].tobytes()  # a zero may have been stored
        copies[number] = value in seen
        seen.add(value)
    return copies
