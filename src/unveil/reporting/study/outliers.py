"""Rows that fit nowhere, and the cells that make them so.

A row's density (`placed.log_density`) is set against that of rows drawn from the model: `score` is -log10 of the share
of draws that are less likely still (with missing cells where the row has them, as many draws for each number of missing
cells). A row is listed where fewer than one row of a table of this size should be that unlikely.

How surprising a cell is given the rest of its row is -log p(x_j | x_rest): the fall of the log-density when the cell is
shown, which every model that takes missing cells can tell. Of numbers, the conditional deviations that it is away say
the same at the price of one inverse, however many columns there are. It is set against the same figure of ordinary
rows.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.numerics.missing_patterns import find_patterns
from unveil.plot.histogram import component_covariance
from unveil.reporting.study.placed import PlacedRows, handfuls
from unveil.reporting.study.rows import ModelRows

DRAWS = 20_000  # from the model, which tell apart shares down to 1 in as many
TAIL = 200  # least likely draws, from which shares beyond the last are extrapolated
MOST_LISTED = 50
CELLS_TOLD = 3  # cells that are told of per row
ORDINARY_ROWS = 400  # that tell how surprising cells of a column usually are
SURPRISE = 3.0  # of a cell: so many deviations above the usual make it worth telling


class OutlierRow(NamedTuple):
    """One row that fits nowhere."""

    row: int  # of the model's rows, from 0
    score: float  # -log10 of the share of rows that should be less likely
    cells: tuple[int, ...]  # columns that make it so, the most surprising first


class Outliers(NamedTuple):
    """Scores of all rows, the limit, and the rows beyond it, the least likely first."""

    scores: Floats
    limit: float
    rows: tuple[OutlierRow, ...]
    beyond: int  # how many rows are; at most so many are listed


def outliers(model: Any, rows: ModelRows, placed: PlacedRows, seed: int) -> Outliers:
    """All rows by how unlikely they are, those beyond the limit in detail."""
    scores = _scores(model, rows, placed.log_density, seed)
    limit = max(3.0, float(np.log10(max(rows.n_rows, 1))))
    beyond = np.flatnonzero(scores > limit)
    order = beyond[np.argsort(placed.log_density[beyond], kind="stable")][:MOST_LISTED]
    told = _telling_cells(model, rows, order, seed)
    listed = tuple(OutlierRow(int(row), float(scores[row]), cells) for row, cells in zip(order, told, strict=True))
    return Outliers(scores, limit, listed, len(beyond))


def _scores(model: Any, rows: ModelRows, density: Floats, seed: int) -> Floats:
    """-log10 of the share of draws that are less likely, by the number of missing cells."""
    drawn = _drawn(model, rows, seed)
    holes = np.isnan(rows.coded)
    missing = holes.sum(axis=1)
    scores = np.zeros(rows.n_rows)
    random = np.random.default_rng([seed, 71])
    for amount in np.unique(missing):
        here = np.flatnonzero(missing == amount)
        patterns = holes[here[random.integers(len(here), size=len(drawn))]]
        reference = np.sort(model.score_samples(_with_holes(drawn, patterns, rows)))
        scores[here] = _tail_score(density[here], reference)
    return scores


def _drawn(model: Any, rows: ModelRows, seed: int) -> Any:
    """Rows of the model's own, as it takes them."""
    from copy import copy

    told = copy(model).set_params(random_state=seed)
    drawn, component = told.sample(DRAWS)
    usual = ~handfuls(model, rows)[np.asarray(component)]
    return drawn if usual.all() else drawn[usual]


def _with_holes(drawn: Any, patterns: NDArray[np.bool_], rows: ModelRows) -> Any:
    """Draws as the model takes rows, with cells taken out as in rows of the table."""
    import pyarrow as pa

    if rows.of_numbers:
        return np.where(patterns, np.nan, drawn) if patterns.any() else drawn
    return pa.table({name: pa.array(drawn[:, j].tolist(), mask=patterns[:, j]) for j, name in enumerate(rows.names)})


def _tail_score(values: Floats, reference: Floats) -> Floats:
    """-log10 P(draw <= value) by rank; beyond the least likely draws by an exponential tail, as that of a Gaussian."""
    n = len(reference)
    rank = np.searchsorted(reference, values, side="right")
    score = -np.log10(np.maximum(rank, 1) / n)
    tail = reference[: min(TAIL, n)]
    edge = float(tail[-1])
    scale = max(edge - float(tail.mean()), 1e-12)
    beyond = values < edge
    score[beyond] = -np.log10(len(tail) / n) + (edge - values[beyond]) / scale / np.log(10)
    return np.asarray(score)


def _telling_cells(model: Any, rows: ModelRows, order: NDArray[np.intp], seed: int) -> list[tuple[int, ...]]:
    """Cells that stand out in each of some rows."""
    if not len(order):
        return []
    if len(rows.names) == 1:
        return [(0,) for _ in order]
    measure = partial(_residuals, handfuls(model, rows)) if rows.of_numbers else _surprise
    usual = np.random.default_rng([seed, 73]).choice(rows.n_rows, min(ORDINARY_ROWS, rows.n_rows), replace=False)
    own, others = measure(model, rows.taken(order)), measure(model, rows.taken(usual))
    middle = np.nanmedian(others, axis=0)
    spread = np.nanpercentile(others, 84, axis=0) - middle
    standing = (own - middle) / np.where(spread > 1e-9, spread, 1.0)
    found = []
    for line in np.nan_to_num(standing, nan=-np.inf):
        best = np.argsort(-line, kind="stable")[:CELLS_TOLD]
        found.append(tuple(int(j) for j in best if line[j] >= SURPRISE) or (int(best[0]),))
    return found


def _residuals(few: NDArray[np.bool_], model: Any, rows: ModelRows) -> Floats:
    """|x_j - E[x_j | the rest]| in conditional deviations, in the nearest component that stands for more than a `few`.

    For models of numbers: P (x - mean) over the root of P's diagonal, where P is the precision of the cells that are
    known. NaN where a cell is missing.
    """
    found, nearest = np.full_like(rows.coded, np.nan), np.full(rows.n_rows, np.inf)
    patterns = find_patterns(rows.coded)
    groups = [(there, here) for there, (_, here) in zip(patterns.present, patterns, strict=True)]
    for k in np.flatnonzero(~few):
        precision = np.asarray(np.linalg.pinv(component_covariance(model, int(k)), hermitian=True))
        away = rows.coded - np.asarray(model.means_)[k]
        for known, here in groups:
            told = np.asarray(away[np.ix_(here, known)])
            pulled, diagonal = _known_precision(precision, known, told)
            distance = np.einsum("ni,ni->n", told, pulled)
            closer = distance < nearest[here]
            nearest[here[closer]] = distance[closer]
            found[np.ix_(here[closer], known)] = (np.abs(pulled) / np.sqrt(np.maximum(diagonal, 1e-300)))[closer]
    return found


def _known_precision(precision: Floats, known: NDArray[np.bool_], away: Floats) -> tuple[Floats, Floats]:
    """Rows times the precision of their known cells, and its diagonal.

    That of some cells of a Gaussian, the others unknown, is a Schur complement of the precision of all, P_oo - P_om
    P_mm^-1 P_mo: as cheap as few cells are missing, however many columns there are.
    """
    inner, missing = precision[np.ix_(known, known)], ~known
    pulled, diagonal = away @ inner, np.diag(inner)
    if known.all():
        return pulled, diagonal
    across = precision[np.ix_(missing, known)]
    solved = np.linalg.pinv(precision[np.ix_(missing, missing)], hermitian=True) @ across
    return pulled - (away @ across.T) @ solved, diagonal - np.einsum("mi,mi->i", across, solved)


def _surprise(model: Any, rows: ModelRows) -> Floats:
    """-log p(cell | the rest of its row), (rows, columns), for columns of any kind; NaN where a cell is missing."""
    import pyarrow as pa

    whole = model.score_samples(rows.frame)
    surprise = np.empty((rows.n_rows, len(rows.names)))
    for j, name in enumerate(rows.names):
        without = rows.frame.set_column(j, name, pa.nulls(rows.n_rows, rows.frame.schema.field(j).type))
        surprise[:, j] = np.where(np.isnan(rows.coded[:, j]), np.nan, model.score_samples(without) - whole)
    return surprise
