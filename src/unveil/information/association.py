r"""How strongly two columns go together, whatever kinds they are of: one number for each pair of columns.

Two columns of numbers: Pearson's correlation, or Spearman's, from -1 to 1. A column of numbers and one of categories:
the correlation ratio, the share of the variance between the categories,

.. math:: \eta^2 = 1 - \frac{SS_{within}}{SS_{total}}, \qquad \epsilon^2 = 1 - (1 - \eta^2) \frac{n - 1}{n - k},

of which epsilon, free of what k categories explain by chance, is taken (Kelley, An unbiased correlation ratio measure,
PNAS 21, 1935). Two columns of categories: Cramer's V with Bergsma's correction for chance (J. Korean Stat. Soc. 42,
2013). The last two are from 0 to 1. Each pair uses the rows that have both cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats

NUMBERS = ("number", "count")  # kinds whose values have an order and distances; codes of all others are mere names


def association_matrix(columns: Sequence[ArrayLike], kinds: Sequence[str], *, ranks: bool = False) -> Floats:
    """Association of every two columns, with 1 on the diagonal; NaN where a pair has none, as with a constant.

    Parameters
    ----------
    columns : sequence of arrays of shape (n,)
        Numbers, or codes from 0 for categories; missing cells are NaN.
    kinds : sequence of str
        "number" or "count" for numbers; any other word is for codes of categories.
    ranks : bool, default=False
        Compare numbers by their ranks (Spearman), which outliers and skew leave alone.

    Returns
    -------
    array of shape (d, d)

    Examples
    --------
    >>> from unveil.information.association import association_matrix
    >>> columns = [[1.0, 2, 3, 4], [2.0, 4, 6, 9], [0, 0, 1, 1]]
    >>> association_matrix(columns, ["number", "number", "category"]).round(2).tolist()
    [[1.0, 0.99, 0.84], [0.99, 1.0, 0.8], [0.84, 0.8, 1.0]]
    """
    if len(columns) != len(kinds):
        raise ValueError(f"kinds must hold a word for each of {len(columns)} columns, got {len(kinds)}")
    values = [np.asarray(column, dtype=np.float64) for column in columns]
    found = np.full((len(values), len(values)), np.nan)
    numeric = np.array([kind in NUMBERS for kind in kinds], dtype=bool)
    own, named = np.flatnonzero(numeric), np.flatnonzero(~numeric)
    if len(own):
        table = np.column_stack([values[j] for j in own])
        found[np.ix_(own, own)] = correlation_matrix(_ranked(table) if ranks else table)
        for j in named:
            found[j, own] = found[own, j] = _ratios(table, values[j])
    for place, i in enumerate(named):
        for j in named[place + 1 :]:
            found[i, j] = found[j, i] = cramers_v(values[i], values[j])
    np.fill_diagonal(found, 1.0)
    return found


def correlation_matrix(table: Floats) -> Floats:
    """Of every two columns over the rows that have both cells: sums by products of matrices, on centred columns."""
    there = ~np.isnan(table)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = np.where(there, table, 0.0).sum(axis=0) / there.sum(axis=0)
        spread = np.sqrt((np.where(there, table - middle, 0.0) ** 2).sum(axis=0) / there.sum(axis=0))
        scaled = np.where(there, (table - middle) / np.where(spread > 0, spread, 1.0), 0.0)
        seen = there.astype(np.float64)
        n, sums = seen.T @ seen, scaled.T @ seen  # sums[i, j]: of column i where j is there too
        squares = (scaled * scaled).T @ seen - sums * sums / n
        found = (scaled.T @ scaled - sums * sums.T / n) / np.sqrt(squares * squares.T)
    constant = squares <= 1e-12 * np.maximum(n, 1.0)
    return np.where(constant | constant.T | (n < 2), np.nan, np.clip(found, -1.0, 1.0))


def _ranked(table: Floats) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(table, axis=0, nan_policy="omit"), dtype=np.float64)


def _ratios(table: Floats, codes: Floats) -> Floats:
    """Kelley's epsilon of each column of numbers on a column of categories."""
    kept = ~np.isnan(codes)
    _, own = np.unique(codes[kept], return_inverse=True)
    return np.array([_ratio(column[kept], own) for column in table.T])


def _ratio(values: Floats, own: np.ndarray) -> float:
    there = ~np.isnan(values)
    values, own = values[there], own[there]
    n, counts = len(values), np.bincount(own)
    k = int(np.count_nonzero(counts))
    if k < 2 or n <= k:
        return np.nan
    values = values - values.mean()
    total = float(values @ values)
    if total <= 0:
        return np.nan
    sums = np.bincount(own, values)
    between = float(np.sum(sums[counts > 0] ** 2 / counts[counts > 0]))
    return float(np.sqrt(np.clip(1.0 - (1.0 - between / total) * (n - 1) / (n - k), 0.0, 1.0)))


def cramers_v(one: ArrayLike, other: ArrayLike) -> float:
    """Cramer's V of two columns of codes, corrected for chance; NaN where a column has a single value.

    >>> cramers_v([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    there = ~(np.isnan(a) | np.isnan(b))
    (first, i), (second, j) = (np.unique(column[there], return_inverse=True) for column in (a, b))
    n, r, c = int(there.sum()), len(first), len(second)
    if min(r, c) < 2 or n < 2:
        return np.nan
    counts = np.bincount(i * c + j, minlength=r * c).reshape(r, c)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    phi = float(((counts - expected) ** 2 / expected).sum()) / n
    phi = max(0.0, phi - (r - 1) * (c - 1) / (n - 1))
    rows, columns = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    most = min(rows, columns) - 1
    return float(np.sqrt(min(phi / most, 1.0))) if most > 0 else np.nan
