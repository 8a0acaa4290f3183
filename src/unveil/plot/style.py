"""What all figures share: colours that colour-blind readers can tell apart, tidy axes, a title and a caption.

The palette is Okabe and Ito's (Color Universal Design, 2008) with grey for its black, so that it also reads on dark
paper. Groups differ by marker too, so colour never carries meaning alone.
"""

from __future__ import annotations

from textwrap import wrap
from typing import Any

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C", "#C9B500")
MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon", "hexagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
INK, RULE = "#3A4450", "rgba(128, 140, 155, 0.25)"
DEEP_INK = "#14191F"  # of words on coloured cells
HALO = "rgba(246, 248, 250, 0.82)"  # behind text that lies on points
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
TEXT, MARGIN = {"family": FONT, "size": 13, "color": INK}, {"l": 60, "r": 20, "t": 70, "b": 55}
AXIS = {"showgrid": True, "gridcolor": RULE, "zeroline": False, "linecolor": RULE, "ticks": "", "automargin": True}
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"}
PLACE = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 14}}
CAPTION_LINE, ABOVE = 20, 45  # pixels of a line of the caption, and of labels above the axes
CAPTION_LETTERS = 105  # in a line of a caption below a title
CLEAR = "rgba(0,0,0,0)"
PAPER: dict[str, Any] = {"paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "hoverlabel": {"font": {"family": FONT}}}


def colour(index: int) -> str:
    """Colour of group or line number `index`."""
    return PALETTE[index % len(PALETTE)]


def marker(index: int) -> str:
    """Marker of group number `index`."""
    return MARKERS[index % len(MARKERS)]


def faded(index: int, alpha: float) -> str:
    """Colour number `index`, transparent."""
    red, green, blue = (int(colour(index)[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha})"


def new_figure(x_title: str, y_title: str) -> Any:
    """An empty figure with tidy axes."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.update_layout(
        template="none",
        font=TEXT,
        xaxis={**AXIS, "title": {"text": x_title, "standoff": 10}},
        yaxis={**AXIS, "title": {"text": y_title}},
        margin=MARGIN,
        legend=LEGEND,
        **PAPER,
        height=460,
    )
    return figure


def add_line(figure: Any, x: Any, y: Any, name: str, paint: str, *, dash: str | None = None, **look: Any) -> None:
    """A line through points, as wide as all are."""
    line = {"color": paint, "width": 2.2} | ({} if dash is None else {"dash": dash})
    figure.add_scatter(**{"x": x, "y": y, "mode": "lines", "name": name, "line": line} | look)


def finish(figure: Any, title: str, caption: str) -> Any:
    """Set the title, and the caption below it; both are also kept in ``figure.layout.meta`` for pages of their own.

    ``figure.layout.meta["narrow"]["height"]``, where there is one, is the height that suits a phone, ``meta["head"]``
    what a caption of several lines adds to the height, which a page that has the caption elsewhere takes off again.

    `title` and `caption` must hold no text from the data that has not passed through `unveil.plot.labels.label`.
    """
    lines = wrap(caption, CAPTION_LETTERS, break_long_words=False, break_on_hyphens=False)
    text = "<br>".join([title, *(f"<sub>{line}</sub>" for line in lines)])
    above = figure.layout.xaxis.side == "top"  # labels, and perhaps a title, between caption and axes
    head = CAPTION_LINE * max(len(lines) - 1, 0) + (ABOVE if above else 0)
    figure.update_layout(
        title={"text": text, "font": {"size": 17}, **PLACE},
        margin={"t": 110 + head},
        height=(figure.layout.height or 460) + head,
        meta={**(figure.layout.meta or {}), "title": title, "caption": caption, "head": head},
    )
    return figure
