"""The choice of a number of clusters: one panel for each criterion, with what it is for and what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from unveil.plot.style import AXIS, INK, MARGIN, PAPER, RULE, TEXT, add_line, colour, faded, finish

PANEL_COLUMNS, PANEL_HEIGHT = 3, 235  # panels side by side, and pixels of one: titles still fit
CHOSEN_SHADE = "rgba(230, 159, 0, 0.22)"
NOTES = {
    "silhouette_even": "Dotted: evenly spread rows.",
    "cluster_stability": "Dots: single clusters.",
    "penalised_bic": "Last, dotted: cost + K log d.",
}
MOST_TICKS = 14  # numbers along an axis, at most
Rows = Sequence[Mapping[str, Any]]


class Panel(NamedTuple):
    """What one panel shows."""

    opinion: str  # name of the criterion whose answer is ringed
    column: str  # what is ringed
    title: str
    none: str  # the title where there is no clear answer
    draw: Callable[[Any, Rows, dict[str, int]], None]


def choice(selection: Any) -> Any:
    """Every criterion over the number of clusters; its answer is ringed, and a line marks what was chosen.

    Parameters
    ----------
    selection : Selection
        From `unveil.select`, of an estimator with `n_clusters`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> outcome = unveil.select(unveil.KMeans(random_state=0), X, {"n_clusters": range(1, 5)})
    >>> figure = unveil.plot.choice(outcome)
    >>> figure.layout.annotations[0].text
    'Inertia: elbow at 2'
    """
    if selection.choice is None:
        raise ValueError("selection must be a choice of a number of clusters: n_clusters was not in its grid")
    rows = _line(selection)
    panels = [panel for panel in PANELS if any(row.get(panel.column) is not None for row in rows)]
    said = {opinion.name: opinion.size for opinion in selection.choice.opinions}
    figure = _grid([_headline(panel, said.get(panel.opinion)) for panel in panels])
    for number, panel in enumerate(panels):
        place = {"row": 1 + number // PANEL_COLUMNS, "col": 1 + number % PANEL_COLUMNS}
        panel.draw(figure, rows, place)
        _ring(figure, rows, panel, said.get(panel.opinion), place)
        figure.add_vline(x=selection.choice.size, line={"color": CHOSEN_SHADE, "width": 11}, layer="below", **place)
    _tick(figure, [int(row["n_clusters"]) for row in rows])
    return finish(figure, _title(selection), _caption(selection, rows))


def _line(selection: Any) -> list[Mapping[str, Any]]:
    """Rows that share all other parameters with the best, by the number of clusters."""
    best = selection.table[selection.best_index_]
    others = [name for name in selection.grid if name != "n_clusters"]
    rows = [
        row
        for row in selection.table
        if row["error"] is None and all(repr(row[name]) == repr(best[name]) for name in others)
    ]
    return sorted(rows, key=lambda row: int(row["n_clusters"]))


def _grid(titles: Sequence[str]) -> Any:
    """Empty panels with tidy axes."""
    from plotly.subplots import make_subplots

    height = -(-len(titles) // PANEL_COLUMNS)
    figure = make_subplots(
        height,
        min(PANEL_COLUMNS, len(titles)),
        subplot_titles=titles,
        horizontal_spacing=0.085,
        vertical_spacing=0.3 / height,
    )
    figure.update_xaxes(**AXIS)
    figure.update_yaxes(**AXIS)
    for number in range(len(titles)):
        if number + PANEL_COLUMNS >= len(titles):
            place = {"row": 1 + number // PANEL_COLUMNS, "col": 1 + number % PANEL_COLUMNS}
            figure.update_xaxes(title={"text": "number of clusters", "font": {"size": 13}}, **place)
    figure.update_annotations(font={"size": 14, "color": INK})
    pixels = 150 + PANEL_HEIGHT * height
    figure.update_layout(template="none", font=TEXT, margin=MARGIN, **PAPER, showlegend=False, height=pixels)
    return figure


def _tick(figure: Any, sizes: list[int]) -> None:
    """The same numbers of clusters along every axis."""
    margin = 0.04 * (sizes[-1] - sizes[0]) + 0.3
    step = -(-len(sizes) // MOST_TICKS)
    figure.update_xaxes(range=[sizes[0] - margin, sizes[-1] + margin], tickvals=sizes[::step])


def _headline(panel: Panel, size: int | None) -> str:
    return panel.title.format(size) if size is not None else panel.none


def _title(selection: Any) -> str:
    size = selection.choice.size
    said = "no clusters" if size == 1 else f"{size} clusters"
    return (
        f"How many clusters? {said[0].upper()}{said[1:]}"
        if selection.decisive
        else "How many clusters? No clear answer"
    )


def _caption(selection: Any, rows: Rows) -> str:
    size, chosen = selection.choice.size, selection.criterion
    voices = [opinion for opinion in selection.choice.opinions if opinion.voice]
    agree = sum(opinion.size == size for opinion in voices)
    count = f"{agree} of {len(voices)} criteria are for {size}" if chosen == "votes" else f"Chosen by {chosen}: {size}"
    notes = [text for column, text in NOTES.items() if any(row.get(column) is not None for row in rows)]
    return " ".join([f"{count}, the shaded line. Rings: what each criterion is for.", *notes])


def _ring(figure: Any, rows: Rows, panel: Panel, size: int | None, place: dict[str, int]) -> None:
    spots = [row[panel.column] for row in rows if row["n_clusters"] == size and row.get(panel.column) is not None]
    if spots:
        ring = {"symbol": "circle-open", "size": 17, "color": INK, "line": {"width": 2.5}}
        figure.add_scatter(x=[size], y=spots, mode="markers", marker=ring, hoverinfo="skip", **place)


def _curve(figure: Any, rows: Rows, column: str, number: int, place: dict[str, int], **style: Any) -> None:
    seen = [row for row in rows if row.get(column) is not None]
    x, y = [int(row["n_clusters"]) for row in seen], [row[column] for row in seen]
    look = {"mode": "lines+markers", "marker": {"size": 6}, "hovertemplate": "%{x}: %{y:,.4~g}", "dash": "solid"}
    add_line(figure, x, y, style.pop("name", column), colour(number), **look | style | place)


def _inertia(figure: Any, rows: Rows, place: dict[str, int]) -> None:
    """The cost, and the chord that it sags under."""
    ends = [rows[0], rows[-1]]
    figure.add_scatter(
        x=[int(row["n_clusters"]) for row in ends],
        y=[row["inertia"] for row in ends],
        mode="lines",
        line={"color": RULE, "width": 1.5, "dash": "dash"},
        hoverinfo="skip",
        name="chord",
        **place,
    )
    _curve(figure, rows, "inertia", 0, place)
    figure.update_yaxes(rangemode="tozero", **place)


def _bic(figure: Any, rows: Rows, place: dict[str, int]) -> None:
    _curve(figure, rows, "bic", 1, place)


def _penalties(figure: Any, rows: Rows, place: dict[str, int]) -> None:
    _curve(figure, rows, "penalised_aic", 6, place, name="cost + 2Kd")
    _curve(figure, rows, "penalised_bic", 6, place, name="cost + K log d", dash="dot")


def _silhouette(figure: Any, rows: Rows, place: dict[str, int]) -> None:
    """The data's, and that of evenly spread rows."""
    _curve(figure, rows, "silhouette_even", 6, place, name="evenly spread rows", dash="dot")
    _curve(figure, rows, "silhouette", 2, place)


def _gap(figure: Any, rows: Rows, place: dict[str, int]) -> None:
    errors = [row["gap_error"] for row in rows if row.get("gap") is not None]
    _curve(figure, rows, "gap", 3, place, error_y={"type": "data", "array": errors, "color": faded(3, 0.8)})


def _stability(figure: Any, rows: Rows, place: dict[str, int]) -> None:
    """The whole, and each cluster as a dot."""
    seen = [row for row in rows if row.get("cluster_stability") is not None]
    figure.add_scatter(
        x=[int(row["n_clusters"]) for row in seen for _ in row["cluster_stability"]],
        y=[value for row in seen for value in row["cluster_stability"]],
        mode="markers",
        marker={"size": 5, "color": faded(4, 0.55)},
        hovertemplate="a cluster of %{x}: %{y:.2f}",
        name="each cluster",
        **place,
    )
    _curve(figure, rows, "stability", 4, place)
    figure.update_yaxes(range=[0, 1.06], **place)


PANELS = (
    Panel("elbow", "inertia", "Inertia: elbow at {}", "Inertia: no clear elbow", _inertia),
    Panel("silhouette", "silhouette", "Silhouette: {}", "Silhouette: no clear answer", _silhouette),
    Panel("gap", "gap", "Gap statistic: {}", "Gap statistic: no clear answer", _gap),
    Panel("stability", "stability", "Bootstrap stability: {}", "Bootstrap stability: no clear answer", _stability),
    Panel("bic", "bic", "BIC as a mixture: {}", "BIC as a mixture: no clear answer", _bic),
    Panel("penalised_aic", "penalised_aic", "Cost + 2Kd: {}", "Cost + 2Kd: no clear answer", _penalties),
)
