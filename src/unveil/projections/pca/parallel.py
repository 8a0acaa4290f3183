"""Parallel analysis: which principal directions are more than chance.

Columns that are shuffled, each by itself, have nothing to do with each other, and yet one of their directions is the
widest. A direction counts if its variance is above the 95% quantile of that of shuffled columns, and so do all before
it (Horn, A rationale and test for the number of factors in factor analysis, 1965; Buja and Eyuboglu, Remarks on
parallel analysis, 1992).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.information.association import correlation_matrix
from unveil.sources.rows import sample_rows

SHUFFLED_CELLS = 1_500_000  # of larger tables a fixed sample of rows is shuffled
LEVEL = 0.95


class ParallelAnalysis(NamedTuple):
    """Variances along the principal directions, falling; what they have to exceed; how many do; rows and draws."""

    variances: Floats
    limits: Floats
    n_directions: int
    n_rows: int
    draws: int


def parallel_analysis(X: ArrayLike, draws: int = 20, seed: int = 0, *, scale: bool = True) -> ParallelAnalysis:
    """How many principal directions stand out from those of shuffled columns.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Missing cells are NaN; correlations are then those of the rows that have both cells.
    draws : int, default=20
        Times that the columns are shuffled.
    seed : int, default=0
        Of the random numbers.
    scale : bool, default=True
        Put columns on one scale first, as a PCA of correlations does. Without it, columns of large numbers raise the
        bar for all directions, and fewer stand out.

    Returns
    -------
    ParallelAnalysis

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.projections.pca.parallel import parallel_analysis
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 1)) + 0.5 * random.normal(size=(200, 4))
    >>> parallel_analysis(X).n_directions
    1
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 3:
        raise ValueError(f"X must have at least 3 rows, got shape {rows.shape}")
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    most = max(SHUFFLED_CELLS // max(rows.shape[1], 1), 100)
    rows = rows[sample_rows(len(rows), min(len(rows), most), seed=seed)]
    random = np.random.default_rng(seed)
    own = direction_variances(rows, scale)
    null = [direction_variances(shuffled(rows, random), scale) for _ in range(draws)]
    limits = np.quantile(null, LEVEL, axis=0)
    below = np.flatnonzero(own <= limits)
    return ParallelAnalysis(own, limits, int(below[0]) if len(below) else len(own), len(rows), draws)


def direction_variances(rows: Floats, scale: bool) -> Floats:
    """Variances along all principal directions, falling; of constant columns they are 0."""
    there = ~np.isnan(rows)
    if there.all():
        centred = rows - rows.mean(axis=0)
        spread = centred.std(axis=0)
        scaled = centred / np.where(spread > 0, spread, 1.0) if scale else centred
        wide = scaled.shape[1] > len(scaled)
        small = scaled @ scaled.T if wide else scaled.T @ scaled
        return np.maximum(np.linalg.eigvalsh(small)[::-1], 0.0) / len(rows)
    matrix = np.nan_to_num(correlation_matrix(rows))
    if not scale:
        spread = np.sqrt(np.nan_to_num(np.nanvar(np.where(there, rows, np.nan), axis=0)))
        matrix = matrix * spread * spread[:, None]
    return np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0.0)


def shuffled(rows: Floats, random: np.random.Generator) -> Floats:
    """Each column in an order of its own; missing cells stay where they are."""
    if not np.isnan(rows).any():
        return random.permuted(rows, axis=0)
    out = rows.copy()
    for column in out.T:
        there = ~np.isnan(column)
        column[there] = random.permutation(column[there])
    return out
