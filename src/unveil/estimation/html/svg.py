"""Small drawings as SVG: a canvas with room for two labels, a scale for each way, text that is only ever text.

Lines and letters are in the colour of the page (currentColor), so that they read on dark paper too; groups are in the
colours of Okabe and Ito (2008), which colour-blind readers can tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NamedTuple, Protocol

import numpy as np

from unveil.core.arrays import Floats
from unveil.sources.errors import one_line

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C", "#C9B500")
WIDTH, HEIGHT = 240, 140
LEFT, TOP, RIGHT, BOTTOM = 16, 6, 234, 122  # what is drawn in; names of columns stand outside
SMALL = 9.0  # size of letters


class Picture(Protocol):
    """Plain drawing data, and what it looks like."""

    @property
    def words(self) -> str:
        """What is to be seen, in a sentence."""

    def drawn(self) -> str:
        """The inside of an SVG of WIDTH by HEIGHT."""


def image(picture: Picture) -> str:
    """A picture as an SVG that stands by itself in a page."""
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    said = escape(picture.words, quote=True)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{said}">{picture.drawn()}</svg>'


def colour_of(group: int) -> str:
    """The colour of a group."""
    return PALETTE[group % len(PALETTE)]


def number(value: float) -> str:
    """A coordinate: tenths of a pixel are enough.

    >>> number(3.0), number(2.04)
    ('3', '2')
    """
    return f"{value:.1f}".removesuffix(".0")


def text(
    x: float,
    y: float,
    words: object,
    *,
    anchor: str = "start",
    longest: int = 22,
    turned: bool = False,
    ink: str = "currentColor",
) -> str:
    """Words at a place, cut to what there is room for."""
    shown = escape(one_line(words, longest, end="…"))
    turn = f' transform="rotate(-90 {number(x)} {number(y)})"' if turned else ""
    place = f'x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{turn}'
    return f'<text {place} font-size="{SMALL:g}" fill="{ink}" opacity="0.85">{shown}</text>'


def line(points: Floats, paint: str = "currentColor", *, width: float = 1.6, fill: str = "none", more: str = "") -> str:
    """A line through points, (n, 2) in pixels."""
    places = " ".join(f"{number(x)},{number(y)}" for x, y in points.tolist())
    return f'<polyline points="{places}" fill="{fill}" stroke="{paint}" stroke-width="{width:g}" {more}/>'


def axes(x_name: object = "", y_name: object = "") -> str:
    """Two faint lines, and a name beside each."""
    rule = f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="currentColor" opacity="0.3"/>'
    below = text((LEFT + RIGHT) / 2, HEIGHT - 6, x_name, anchor="middle", longest=46) if x_name else ""
    beside = text(10, (TOP + BOTTOM) / 2, y_name, anchor="middle", longest=20, turned=True) if y_name else ""
    return rule + below + beside


FARTHEST = 1e300  # of points that a picture has room for: the distance of two of them is a number


class Scales(NamedTuple):
    """From numbers to pixels, with a margin; up is up."""

    low: Floats  # (2,)
    high: Floats

    @classmethod
    def over(cls, points: Iterable[Floats], margin: float = 0.05) -> Scales:
        """That all of the points, (n, 2) each, have room in."""
        every = np.concatenate([np.atleast_2d(each) for each in points])
        every = every[(np.abs(every) < FARTHEST).all(axis=1)]
        low, high = (every.min(axis=0), every.max(axis=0)) if len(every) else (np.zeros(2), np.ones(2))
        room = np.where(high > low, margin * (high - low), np.maximum(0.5, np.abs(high)))
        return cls(low - room, high + room)

    def __call__(self, points: Floats) -> Floats:
        """Places in pixels."""
        corner, size = np.array([LEFT, BOTTOM]), np.array([RIGHT - LEFT, TOP - BOTTOM])
        with np.errstate(over="ignore", invalid="ignore"):  # of points that were left out for being too far
            share = np.clip((np.atleast_2d(points) - self.low) / (self.high - self.low), -1e3, 1e3)
            return np.asarray(corner + share * size, dtype=np.float64)
