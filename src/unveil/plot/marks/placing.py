"""Where things come to lie in pixels: whether two axes can share a scale, and labels that never overlap.

A figure does not know how wide it will be shown, so it is thought of twice: on a page, and on a phone. Labels are
placed greedily, the most important first, each at the first of a ring of places about its point at which it overlaps
nothing; one that has no such place is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats

WIDE, NARROW = (850.0, 380.0), (310.0, 310.0)  # pixels between the axes, on a page and on a phone
TALLEST = 500.0  # pixels that a figure may take up so that its axes share a scale
WASTE = 1.0 / 3.0  # of the frame that equal scales may leave empty
AROUND = 140  # pixels of titles and ticks above and below the frame
CHARACTER, LINE = 7.4, 17.0  # pixels of a letter and of a line at 13 points, with some air
MOST_DETOURS = 12  # places that a label gives up on a page so as to have room on a phone too: all around and more
FLAT = 1e-9  # of the other way: so small a spread is a matter of rounding
RINGS = (4.0, 16.0, 30.0, 46.0)  # pixels between a point and its label, from near to far


class Extent(NamedTuple):
    """Ends of the two axes."""

    x: tuple[float, float]
    y: tuple[float, float]

    @property
    def aspect(self) -> float:
        """Width over height, in units of the data."""
        return (self.x[1] - self.x[0]) / (self.y[1] - self.y[0])


def extent_of(points: Floats, room: float = 0.06) -> Extent:
    """Ends that hold all points, with a share of `room` around; a way in which nothing spreads is as wide as the other.

    >>> extent_of(np.array([[-5.0, 1e-17], [5.0, -1e-17]]), 0.1)
    Extent(x=(-6.0, 6.0), y=(-5.0, 5.0))
    """
    finite = points[np.isfinite(points).all(axis=1)]
    low, high = (finite.min(axis=0), finite.max(axis=0)) if len(finite) else (np.zeros(2), np.ones(2))
    span = high - low
    flat = span <= FLAT * max(float(span.max()), float(np.abs([low, high]).max()))
    margin = np.where(flat, 0.5 * (float(span.max()) if not flat.all() else 2.0), room * span)
    (left, bottom), (right, top) = (low - margin).tolist(), (high + margin).tolist()
    return Extent((left, right), (bottom, top))


def extent_with(points: Floats, outlines: Sequence[Floats]) -> Extent:
    """Ends that hold all points, and outlines as far as these do not reach far beyond them."""
    wide = extent_of(points, 0.2)
    low, high = np.array([wide.x[0], wide.y[0]]), np.array([wide.x[1], wide.y[1]])
    return extent_of(np.concatenate([points, *(np.clip(outline, low, high) for outline in outlines)]), 0.04)


class PixelFrame(NamedTuple):
    """A frame of pixels over an extent; with `equal`, a unit is as long across as it is up."""

    size: tuple[float, float]
    extent: Extent
    equal: bool

    def pixels(self, points: Floats) -> Floats:
        """Where points lie, from the lower left corner."""
        low = np.array([self.extent.x[0], self.extent.y[0]])
        span = np.array([self.extent.x[1], self.extent.y[1]]) - low
        unit = np.array(self.size) / span
        if self.equal:
            unit = np.full(2, unit.min())
        spare = np.array(self.size) - unit * span
        return np.asarray((points - low) * unit + spare / 2.0)


def fit_axes(figure: Any, extent: Extent) -> tuple[PixelFrame, str]:
    """Set both axes to an extent, on one scale unless that wastes the width; the frame, and what the caption says."""
    height = float(np.clip(WIDE[0] / extent.aspect, 300.0, TALLEST))
    used = extent.aspect * height / WIDE[0]
    equal = min(used, 1.0 / used) >= 1.0 - WASTE
    size = (WIDE[0], height if equal else WIDE[1])
    figure.update_xaxes(range=list(extent.x), automargin=False)
    figure.update_yaxes(range=list(extent.y), automargin=False)
    if equal:
        figure.update_yaxes(scaleanchor="x", scaleratio=1)
    small = int(np.clip(NARROW[0] / extent.aspect, 230.0, NARROW[1])) if equal else int(NARROW[1])
    figure.update_layout(height=int(size[1]) + AROUND, meta={"narrow": {"height": small + AROUND // 2}})
    words = "" if equal else "The axes have scales of their own, so that the width is used."
    return PixelFrame(size, extent, equal), words


class PlacedLabel(NamedTuple):
    """A label and how many pixels its middle is from its point; `narrow` where it also has room on a phone."""

    number: int
    right: float
    up: float
    narrow: bool


def place_labels(points: Floats, texts: Sequence[str], frame: PixelFrame, order: Sequence[int]) -> list[PlacedLabel]:
    """Places for labels of points, the first of `order` first; those that have none are left out."""
    frames = [frame, PixelFrame(NARROW, frame.extent, frame.equal)]
    taken: list[list[Floats]] = [[], []]
    spots = [one.pixels(points) for one in frames]
    middle = frame.pixels(np.zeros((1, 2)))[0]
    out: list[PlacedLabel] = []
    for number in order:
        half = np.array([CHARACTER * len(texts[number]) + 6.0, LINE]) / 2.0
        fitting = [
            (shift, _is_free(spots[1][number] + shift, half, taken[1], NARROW))
            for shift in _shifts(spots[0][number] - middle, half)
            if _is_free(spots[0][number] + shift, half, taken[0], frame.size)
        ]
        if not fitting:
            continue
        shift, narrow = next((one for one in fitting[:MOST_DETOURS] if one[1]), fitting[0])
        for spot, own, seen in zip(spots, taken, (True, narrow), strict=True):
            own += [np.concatenate([spot[number] + shift, half])] if seen else []
        out.append(PlacedLabel(number, float(shift[0]), float(shift[1]), narrow))
    return out


def _shifts(outward: Floats, half: Floats) -> list[Floats]:
    """Places of the middle of a label about its point: near before far, outward before inward."""
    length = float(np.hypot(*outward))
    direction = outward / length if length > 0 else np.array([1.0, 0.0])
    turns = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    rays = sorted((np.array([np.cos(turn), np.sin(turn)]) for turn in turns), key=lambda ray: -float(ray @ direction))
    outer, inner = rays[:9], rays[9:]  # within a quarter turn of the way outward, and beyond
    return [ray * (half + ring) for side in (outer, inner) for ring in RINGS for ray in side]


def _is_free(middle: Floats, half: Floats, taken: list[Floats], size: tuple[float, float]) -> bool:
    if np.any(middle - half < 0) or np.any(middle + half > np.array(size)):
        return False
    return all(np.any(np.abs(middle - box[:2]) >= half + box[2:]) for box in taken)
