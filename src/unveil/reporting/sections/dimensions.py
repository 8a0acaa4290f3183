"""How many dimensions matter: the variance along each principal direction, against that of shuffled columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.information.association import correlation_matrix
from unveil.plot.columns.loadings import MOST_DIRECTIONS, loadings
from unveil.plot.labels import plain
from unveil.plot.plane import oriented
from unveil.plot.variance import scree
from unveil.projections.pca.parallel import parallel_analysis
from unveil.reporting import words
from unveil.reporting.parts import Block, Fold, Head, Section, TableBlock, Text
from unveil.reporting.sections.common import NAME_LENGTH, figure
from unveil.reporting.study.analysis import Analysis

LEAST_COLUMNS, LEAST_ROWS = 3, 10
ROWS_ENOUGH = 5_000  # for eigenvalues of shuffled columns
DIRECTIONS_TOLD = 4
LEAST_DIRECTIONS = 2  # whose weights are drawn, though fewer stand out


def dimensions(analysis: Analysis) -> Section | None:
    """PCA of the columns of numbers on one scale; nothing for fewer than three, or hardly any complete row."""
    rows = analysis.rows.sample(ROWS_ENOUGH, analysis.settings.seed)
    cells = rows.coded[:, rows.numeric]
    spread = np.nanstd(cells, axis=0) if len(rows.numeric) else np.empty(0)
    if np.sum(spread > 0) < LEAST_COLUMNS or len(cells) < LEAST_ROWS:
        return None
    kept = np.flatnonzero(spread > 0)
    names = [rows.model_names[rows.numeric[j]] for j in kept]
    pca = PairwiseDirections.of(cells[:, kept])
    null = parallel_analysis(cells[:, kept], seed=analysis.settings.seed)
    share = np.cumsum(pca.explained_variance_ratio_)
    enough = min(int(np.searchsorted(share, 0.9)) + 1, len(kept))
    first = "the first carries" if enough == 1 else f"the first {words.spelled(enough)} carry"
    carried = f"{first} {words.percent(float(share[enough - 1]))} of all variance"
    if enough == len(kept):
        carried = "fewer than all of them carry less than 90% of all variance"
    lead = (
        f"Of the {words.spelled(len(kept))} columns of numbers, each on its own scale, "
        f"{words.spelled(null.n_directions)} {'direction carries' if null.n_directions == 1 else 'directions carry'} "
        f"more variance than if the columns had nothing to do with each other; {carried}."
    )
    blocks: list[Block] = [
        figure("scree", scree(pca, null), "Variance along each direction, and that of shuffled columns")
    ]
    told = min(max(null.n_directions, LEAST_DIRECTIONS), MOST_DIRECTIONS, len(pca.components_))
    which = "these directions are" if told == null.n_directions else f"the first {words.spelled(told)} directions are"
    blocks.append(Text(f"What {which} made of: the weight of each column in them."))
    plot = loadings(pca, names, n_directions=told)
    blocks.append(figure("loadings", plot, "How much each column takes part in the first directions"))
    blocks.append(_table(pca, names))
    if np.isnan(cells).any():
        blocks.append(Text("Where cells are missing, each pair of columns counts by the rows that have both.", True))
    return Section("dimensions", "How many dimensions matter", lead, blocks)


class PairwiseDirections(NamedTuple):
    """Principal directions of columns that are put on one scale, and the share of the variance along each."""

    components_: Floats
    explained_variance_ratio_: Floats

    @classmethod
    def of(cls, cells: Floats) -> PairwiseDirections:
        """Those of the correlations, each of which is taken over the rows that have both cells.

        >>> cells = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0], [np.nan, 7.0]])
        >>> PairwiseDirections.of(cells).explained_variance_ratio_
        array([1., 0.])
        """
        values, vectors = np.linalg.eigh(np.nan_to_num(correlation_matrix(cells)))
        share, most = np.maximum(values[::-1], 0.0), min(cells.shape)  # fewer rows than columns span fewer directions
        return cls(oriented(vectors.T[::-1])[:most], share[:most] / share.sum())


def _table(pca: PairwiseDirections, names: list[str]) -> Block:
    """The loadings as numbers."""
    told = min(DIRECTIONS_TOLD, len(pca.components_))
    shares = [words.percent(float(share)) for share in pca.explained_variance_ratio_[:told]]
    heads = [Head("column"), *(Head(f"direction {d + 1} ({shares[d]})", True) for d in range(told))]
    rows = [
        [plain(name, NAME_LENGTH), *(f"{pca.components_[d, j]:+.2f}" for d in range(told))]
        for j, name in enumerate(names)
    ]
    return Fold("Loadings as a table", [TableBlock("loadings-table", heads, rows, shown=40)])
