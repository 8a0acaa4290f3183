"""Rows of a table as a clustering or a projection sees them: dense numbers, of a large table a sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from unveil.core.arrays import Floats, Indices
from unveil.estimation.input import rows_in
from unveil.judgement.case import Case
from unveil.sources.rows import sample_rows

MOST_CELLS = 1 << 22  # of a table that is looked at: 32 megabytes


class Seen(NamedTuple):
    """Rows without missing cells, their weights, and their places in the table."""

    rows: Floats
    weights: Floats
    places: Indices
    n_rows: int  # of the whole table

    @property
    def effective(self) -> float:
        """Rows that equal weights would make as sure."""
        return float(self.weights.sum() ** 2 / np.sum(self.weights**2))


def seen_rows(case: Case) -> Seen:
    """Those that are looked at; rows with missing cells or without weight are left out."""
    if issparse(case.X):
        return _of_sparse(case)
    source = rows_in(case.model, case.X, case.sample_weight, reset=False, missing=True)
    chosen = _chosen(case, source.n_rows, source.n_columns)
    rows, weights = [], []
    for block in source.read():
        first, last = np.searchsorted(chosen, (block.start, block.start + len(block.rows)))
        here = chosen[first:last] - block.start
        rows.append(np.asarray(block.rows[here], dtype=np.float64))
        weights.append(np.ones(len(here)) if block.weights is None else np.asarray(block.weights[here], np.float64))
    return _complete(np.concatenate(rows), np.concatenate(weights), chosen, source.n_rows)


def _of_sparse(case: Case) -> Seen:
    table: Any = case.X.tocsr()
    chosen = _chosen(case, *table.shape)
    whole = np.ones(table.shape[0]) if case.sample_weight is None else np.asarray(case.sample_weight, np.float64)
    return _complete(np.asarray(table[chosen].toarray(), np.float64), whole[chosen], chosen, table.shape[0])


def _chosen(case: Case, n_rows: int, n_columns: int) -> Indices:
    most = min(n_rows, case.most_rows, max(MOST_CELLS // n_columns, 256))
    return np.asarray(sample_rows(n_rows, most, case.seed))


def _complete(rows: Floats, weights: Floats, chosen: Indices, n_rows: int) -> Seen:
    kept = (weights > 0) & ~np.isnan(rows).any(axis=1)
    return Seen(rows[kept], weights[kept], chosen[kept], n_rows)


def covariance(seen: Seen) -> Floats:
    """Weighted, over the weight less one row."""
    centred = seen.rows - np.average(seen.rows, axis=0, weights=seen.weights)
    total = float(seen.weights.sum())
    shares = seen.weights / total
    return np.asarray((centred * shares[:, None]).T @ centred / max(1.0 - float(np.sum(shares**2)), 1e-12))
