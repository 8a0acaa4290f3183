"""Arrows of the columns on a principal plane, with names that keep clear of each other.

The arrow of column j is (A_1j, A_2j), the loadings of the two directions on it: rows that lie far along an arrow have
large values in that column (Gabriel, The biplot graphic display of matrices, Biometrika 58, 1971).
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.plot.labels import column_labels, label
from unveil.plot.marks.placing import PixelFrame, PlacedLabel, place_labels
from unveil.plot.plane import Plane
from unveil.plot.style import HALO, INK

MOST_ARROWS = 12  # more arrows hide each other
LONGEST_ARROW_LABEL = 32  # letters
NEAR = 9.0  # pixels of air between an arrow and its label beyond which a thin line joins them
WIDE_ONLY = "arrow label, wide"  # name of labels that overlap others on a phone, where a page leaves them out


def arrow_heads(plane: Plane, points: Floats) -> Floats:
    """Heads of the arrows of all columns, as far out as the cloud of rows reaches along either axis, (d, 2)."""
    arrows = plane.axes.T
    widest = np.abs(arrows).max(axis=0)
    cloud = np.abs(points[np.isfinite(points).all(axis=1)]).max(axis=0, initial=0.0)
    reach = [1.1 * wide / long for wide, long in zip(cloud, widest, strict=True) if wide > 0 and long > 0]
    return np.asarray(arrows * min(reach, default=1.0))


def longest_arrows(heads: Floats) -> list[int]:
    """Those that are drawn, the longest first."""
    order = np.argsort(-np.linalg.norm(heads, axis=1), kind="stable")
    return [int(number) for number in order[:MOST_ARROWS]]


def add_arrows(figure: Any, plane: Plane, heads: Floats, frame: PixelFrame) -> int:
    """Draw the longest arrows and name them where there is room; returns how many names were left out."""
    kept = longest_arrows(heads)
    names = column_labels(plane.names, len(heads)) if plane.names is None else list(plane.names)
    texts = [label(name, LONGEST_ARROW_LABEL) or f"column {number + 1}" for number, name in enumerate(names)]
    for number in sorted(kept):
        x, y = (float(value) for value in heads[number])
        head = {"x": x, "y": y, "xref": "x", "yref": "y", "showarrow": True, "arrowhead": 2, "arrowcolor": INK}
        figure.add_annotation(**head, ax=0, ay=0, axref="x", ayref="y", arrowwidth=1.6, text="", name="arrow")
    shown = [html.unescape(text) for text in texts]  # an entity is one letter wide
    placed = place_labels(heads, shown, frame, kept)
    for one in placed:
        _add_label(figure, heads[one.number], texts[one.number], one, len(shown[one.number]))
    return len(kept) - len(placed)


def _add_label(figure: Any, head: Floats, text: str, place: PlacedLabel, letters: int) -> None:
    """Beside the head of its arrow, or farther away with a thin line to it."""
    away = max(abs(place.up) - 8.5, abs(place.right) - 3.7 * letters - 3.0)
    far = away > NEAR
    where = {"ax": place.right, "ay": -place.up} if far else {"xshift": place.right, "yshift": place.up}
    line = {"arrowhead": 0, "arrowwidth": 0.8, "arrowcolor": INK, "standoff": 2} if far else {}
    figure.add_annotation(
        x=float(head[0]),
        y=float(head[1]),
        text=text,
        showarrow=far,
        xanchor="center",
        yanchor="middle",
        font={"size": 13},
        bgcolor=HALO,
        borderpad=0,
        name="arrow label" if place.narrow else WIDE_ONLY,
        **where,
        **line,
    )
