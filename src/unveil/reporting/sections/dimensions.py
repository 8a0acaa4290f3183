"""How many dimensions matter: the variance along each principal direction, against that of shuffled columns."""

from __future__ import annotations

import numpy as np

from unveil.plot.columns.loadings import MOST_DIRECTIONS, loadings
from unveil.plot.labels import plain
from unveil.plot.variance import scree
from unveil.projections.pca.parallel import parallel_analysis
from unveil.projections.pca.pca import PCA
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
    standard = np.nan_to_num((cells[:, kept] - np.nanmean(cells[:, kept], axis=0)) / spread[kept])
    pca = PCA().fit(standard)
    null = parallel_analysis(standard, seed=analysis.settings.seed)
    share = np.cumsum(pca.explained_variance_ratio_)
    enough = int(np.searchsorted(share, 0.9)) + 1
    lead = (
        f"Of the {len(kept)} columns of numbers, each on its own scale, {words.spelled(null.n_directions)} "
        f"{'direction carries' if null.n_directions == 1 else 'directions carry'} more variance than if the columns "
        f"had nothing to do with each other; {words.spelled(enough)} carry 90% of it."
    )
    blocks: list[Block] = [
        figure("scree", scree(pca, null), "Variance along each direction, and that of shuffled columns")
    ]
    blocks.append(Text("What these directions are made of: the weight of each column in them."))
    told = min(max(null.n_directions, LEAST_DIRECTIONS), MOST_DIRECTIONS, len(pca.components_))
    plot = loadings(pca, names, n_directions=told)
    blocks.append(figure("loadings", plot, "How much each column takes part in the first directions"))
    blocks.append(_table(pca, names))
    if np.isnan(cells).any():
        blocks.append(Text("Missing cells stand in the middle of their column here.", quiet=True))
    return Section("dimensions", "How many dimensions matter", lead, blocks)


def _table(pca: PCA, names: list[str]) -> Block:
    """The loadings as numbers."""
    told = min(DIRECTIONS_TOLD, len(pca.components_))
    shares = [words.percent(float(share)) for share in pca.explained_variance_ratio_[:told]]
    heads = [Head("column"), *(Head(f"direction {d + 1} ({shares[d]})", True) for d in range(told))]
    rows = [
        [plain(name, NAME_LENGTH), *(f"{pca.components_[d, j]:+.2f}" for d in range(told))]
        for j, name in enumerate(names)
    ]
    return Fold("Loadings as a table", [TableBlock("loadings-table", heads, rows, shown=40)])
