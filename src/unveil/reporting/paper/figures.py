"""Plotly figures as the plain values that the page draws: no title, no template, plain arrays of short numbers.

Title and caption of a figure stand in the page, where they can be read aloud and selected. What depends on the reader
(width, colours of the scheme, frame of a replay) is left to the page's script.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from unveil.plot.style import PAPER, RULE, TEXT
from unveil.reporting.paper.rounding import rounded

HEIGHT = 460  # of a figure that does not say its own, in pixels
_HISTOGRAMS = ("histogram", "histogram2d", "histogram2dcontour")
TRACES = frozenset({"bar", "box", "contour", "heatmap", "image", "pie", "scatter", "violin", *_HISTOGRAMS})
"""What the plotting library of the page can draw."""

_LINES = {"gridcolor": RULE, "zerolinecolor": RULE, "linecolor": RULE}  # that can be seen on light and dark paper
_META = ("narrow", "steps")  # what a figure says of itself on a phone, and of its frames
_FRAME_PARTS = ("data", "traces", "layout")
_TITLE_ROOM, _TOP = 22, 24  # above the axes, in pixels: for headings of panels, and for all
_BOTTOM = 12  # below axes that have no title there, in pixels


def plain_figure(plot: Any) -> dict[str, Any]:
    """Data, layout and, where there are some, frames of a figure (or of a dict in its form)."""
    given = plot if isinstance(plot, dict) else json.loads(plot.to_json(validate=False))
    if unknown := {trace.get("type", "scatter") for trace in given.get("data", [])} - TRACES:
        known = ", ".join(sorted(TRACES))
        raise ValueError(f"plot has traces of the type {', '.join(sorted(unknown))}; a page draws {known}")
    layout = given.get("layout", {})
    figure = {"data": given.get("data", []), "layout": _layout(layout)}
    figure |= {part: value for part, value in (layout.get("meta") or {}).items() if part in _META}
    frames = [{part: frame[part] for part in _FRAME_PARTS if frame.get(part)} for frame in given.get("frames") or ()]
    if frames:
        figure["frames"] = frames
    plain: dict[str, Any] = rounded(_decoded(figure))
    return plain


def height_of(figure: dict[str, Any]) -> int:
    """Pixels that a figure takes from top to bottom."""
    return int(figure["layout"].get("height", HEIGHT))


def steps_of(figure: dict[str, Any]) -> list[str]:
    """What a figure calls its frames; nothing where it does not."""
    return [step["label"] if isinstance(step, dict) else str(step) for step in figure.get("steps", ())]


def _layout(given: dict[str, Any]) -> dict[str, Any]:
    """A layout for the page: the margin above is for headings of panels alone."""
    layout = {name: part for name, part in given.items() if name not in ("title", "meta", "template", "width")}
    headed = any(note.get("yref") == "paper" and note.get("y", 0) >= 1 for note in layout.get("annotations", ()))
    axes = {name: _LINES | layout.get(name, {}) for name in ("xaxis", "yaxis", *filter(_is_axis, layout))}
    margin = {"l": 60, "r": 16, "b": 55} | layout.get("margin", {})
    bottom = {} if any(map(_titled_below, axes.items())) else {"b": _BOTTOM}
    layout["margin"] = margin | {"t": _TOP + (_TITLE_ROOM if headed else 0)} | bottom
    head = (given.get("meta") or {}).get("head", 0)  # of the caption, which stands in the page
    return {**PAPER, "font": TEXT, **layout, "height": layout.get("height", HEIGHT) - head, **axes}


def _titled_below(axis: tuple[str, dict[str, Any]]) -> bool:
    """Has it a title below the figure? Labels alone make room for themselves."""
    name, look = axis
    fixed = look.get("automargin") is not True
    return name.startswith("x") and look.get("side") != "top" and (fixed or bool(_words_of(look.get("title"))))


def _words_of(title: Any) -> str:
    return str(title.get("text") or "") if isinstance(title, dict) else str(title or "")


def _is_axis(name: str) -> bool:
    return name.startswith(("xaxis", "yaxis"))


def _decoded(value: Any) -> Any:
    """Arrays that plotly writes as base64 of their bytes, as lists."""
    if isinstance(value, list):
        return [_decoded(part) if isinstance(part, dict | list) else part for part in value]
    if not isinstance(value, dict):
        return value
    if "bdata" not in value:
        return {name: _decoded(part) for name, part in value.items()}
    array = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]).newbyteorder("<"))
    if "shape" in value:
        array = array.reshape([int(size) for size in str(value["shape"]).split(",")])
    return array.tolist()
