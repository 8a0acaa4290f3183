"""All criteria of a comparison of mixtures or chains in one picture: where each is best, and by how much.

Criteria have scales of their own, so each is drawn by how far a model is behind the best in it, D: at D / (D + m) of
the height, with m the median of D. The best is at 0, the usual model at a half, and hopeless ones flatten nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.plot.scores import AXIS_TITLES, axes_of, plotted
from unveil.plot.style import DASHES, add_line, colour, finish, marker, new_figure

GLOSSES = {
    "bic": ("BIC", -1, "BIC weighs how well a model fits against how many numbers it needs, and asks most of each."),
    "aic": ("AIC", -1, "AIC does so more leniently, for predicting, and so tends to more components."),
    "icl": ("ICL", -1, "ICL is BIC that also wants components to be well apart, as groups are."),
    "held_out": ("held-out rows", 1, "Held-out rows are predicted by models that never saw them."),
}
"""Of each criterion: what it is called, 1 where larger is better, and what it is, in a sentence."""


class CriterionLine(NamedTuple):
    """A criterion over the sizes: the best value of each, and how far that is behind, from 0 to 1."""

    name: str
    sizes: list[Any]
    values: Floats
    behind: Floats


def criteria(selection: Any) -> Any:
    """Every criterion over the number of components; the best of each is marked.

    Where models differ in more than their size, the best of each size is drawn.

    Parameters
    ----------
    selection : Selection
        From `unveil.select`, of an estimator with a likelihood; or anything with its `table` and `grid`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.concatenate([np.linspace(0, 1, 50), np.linspace(9, 10, 50)])[:, None]
    >>> outcome = unveil.select(unveil.GaussianMixture(random_state=0), X, {"n_components": [1, 2, 3]})
    >>> [trace.name for trace in unveil.plot.criteria(outcome).data]
    ['BIC: best at 2', 'AIC: best at 3', 'ICL: best at 2']
    """
    across, _ = axes_of(selection.grid)
    lines = criterion_lines(selection.table, across)
    if not lines:
        raise ValueError(f"selection must have one of the criteria {', '.join(GLOSSES)} for a model that was fitted")
    title = AXIS_TITLES.get(across, across)
    figure = new_figure(title, "behind the best (0 is best)")
    for number, line in enumerate(lines):
        _add_line(figure, number, line)
    if all(isinstance(value, int) for value in selection.grid[across]):
        figure.update_xaxes(dtick=1 if len(selection.grid[across]) <= 20 else None)
    figure.update_yaxes(range=[-0.07, 1.03], showticklabels=False)
    answers = [line.sizes[int(np.argmin(line.behind))] for line in lines]
    agree = len(set(map(str, answers))) == 1
    said = f"All {len(lines)} are for {answers[0]}." if agree and len(lines) > 1 else ""
    glosses = " ".join(GLOSSES[line.name][2] for line in lines)
    caption = f"The lower, the better; the best of each is filled. {said} {glosses}"
    return finish(figure, "What each criterion is for", " ".join(caption.split()))


def criterion_lines(table: Sequence[Mapping[str, Any]], across: str) -> list[CriterionLine]:
    """The criteria that the models of a table have, each over the values of one parameter."""
    fitted = [row for row in table if row.get("error") is None and not row.get("degenerate")]
    fitted = fitted or [row for row in table if row.get("error") is None]
    lines = []
    for name, (_, sign, _) in GLOSSES.items():
        best: dict[Any, float] = {}
        for row in fitted:
            value = row.get(name)
            if value is None or not np.isfinite(value):
                continue
            key = plotted(row[across])
            best[key] = max(best.get(key, -np.inf), sign * float(value))
        if best:
            sizes = sorted(best, key=lambda key: (isinstance(key, str), key))
            merit = np.array([best[size] for size in sizes])
            lines.append(CriterionLine(name, sizes, sign * merit, _behind(merit)))
    return lines


def _behind(merit: Floats) -> Floats:
    away = merit.max() - merit
    usual = float(np.median(away[away > 0])) if np.any(away > 0) else 1.0
    return np.asarray(away / (away + usual))


def _add_line(figure: Any, number: int, line: CriterionLine) -> None:
    best = int(np.argmin(line.behind))
    word = GLOSSES[line.name][0]
    symbol = marker(number)
    symbols = [symbol if place == best else f"{symbol}-open" for place in range(len(line.sizes))]
    sizes = [max(20 - 5 * number, 8) if place == best else 8 for place in range(len(line.sizes))]
    look = {"mode": "lines+markers", "marker": {"symbol": symbols, "size": sizes, "line": {"width": 1.5}}}
    text = f"{word}: best at {line.sizes[best]}"
    add_line(
        figure,
        line.sizes,
        np.round(line.behind, 4).tolist(),
        text,
        colour(number),
        dash=DASHES[number % len(DASHES)],
        customdata=np.round(line.values, 3).tolist(),
        hovertemplate=f"%{{x}}: {word} %{{customdata:,.1f}}<extra></extra>",
        **look,
    )
