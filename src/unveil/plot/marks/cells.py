"""A table of coloured cells, with numbers in them where there is room.

Colours run from clear to deep, so that they read on light and dark paper alike; words in deep cells are white, in
others of the colour of ink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.plot.style import DEEP_INK

# Okabe and Ito's blue and vermilion, darker, so that white reads on them.
RISING = [[0.0, "rgba(0, 88, 140, 0.03)"], [1.0, "rgba(0, 88, 140, 1)"]]
BOTH_WAYS = [
    [0.0, "rgba(163, 66, 0, 1)"],
    [0.4999, "rgba(163, 66, 0, 0.02)"],
    [0.5, "rgba(0, 88, 140, 0.02)"],
    [1.0, "rgba(0, 88, 140, 1)"],
]
WHITE_FROM = 0.78  # depth of a cell from which white reads better than ink, on white paper
MOST_WORDED = 6  # columns of cells that have room for numbers on a phone
FEW_CELLS = 20  # rows or columns up to which cells are large
CELL_HEIGHT, DENSE_HEIGHT = 24, 16  # pixels of a row of cells, where there are few and where there are many


def add_cells(
    figure: Any,
    depth: Floats,
    across: Sequence[str],
    down: Sequence[str],
    *,
    ends: tuple[float, float] = (0.0, 1.0),
    texts: Sequence[Sequence[str]] | None = None,
    **look: Any,
) -> None:
    """Cells of `depth`, (rows, columns), the first row on top; `look` is of the heatmap (hover, customdata, bar)."""
    scale = BOTH_WAYS if ends[0] < 0 else RISING
    z = [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in np.asarray(depth)]
    ground = {"colorscale": scale, "zmin": ends[0], "zmax": ends[1], "hoverongaps": False}
    ground |= {"xgap": 1, "ygap": 1} if len(across) <= FEW_CELLS else {}
    figure.add_heatmap(**{"x": list(across), "y": list(down), "z": z} | ground | look)
    if texts is not None and len(across) <= MOST_WORDED:
        share = np.abs(np.nan_to_num(np.asarray(depth, dtype=np.float64))) / max(abs(ends[0]), abs(ends[1]))
        for deep, paint in ((True, "#FFFFFF"), (False, DEEP_INK)):
            _add_words(figure, texts, across, down, (share >= WHITE_FROM) == deep, paint)
    low, wide = len(down) - 0.5, len(across) - 0.5  # words would make axes longer than the cells
    figure.update_yaxes(range=[low, -0.5], showgrid=False, type="category", title={"standoff": 12})
    figure.update_xaxes(range=[-0.5, wide], showgrid=False, type="category")


def two_digits(value: float) -> str:
    """A share or a correlation in a cell; nothing where there is none.

    >>> two_digits(-0.001), two_digits(float("nan"))
    ('0.00', '')
    """
    return "" if np.isnan(value) else f"{round(float(value), 2) + 0.0:.2f}"


def _add_words(
    figure: Any, texts: Sequence[Sequence[str]], across: Sequence[str], down: Sequence[str], chosen: Any, paint: str
) -> None:
    places = np.argwhere(chosen)
    figure.add_scatter(
        x=[across[column] for _, column in places],
        y=[down[row] for row, _ in places],
        text=[texts[row][column] for row, column in places],
        mode="text",
        textfont={"color": paint, "size": 11},
        hoverinfo="skip",
        showlegend=False,
    )


def set_height(figure: Any, n_rows: int, extra: int = 190) -> None:
    """As high as so many rows of cells need, on a page and on a phone; `extra` is for what stands around them."""
    few = n_rows <= FEW_CELLS
    height = int(max(extra + (CELL_HEIGHT if few else DENSE_HEIGHT) * n_rows, 240))
    figure.update_yaxes(dtick=1, tickfont={"size": 12 if few else 10})
    figure.update_layout(height=height, meta={"narrow": {"height": height}})
