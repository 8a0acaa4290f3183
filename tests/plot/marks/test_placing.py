from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from unveil.plot.marks.placing import (
    CHARACTER,
    LINE,
    NARROW,
    Extent,
    PixelFrame,
    extent_of,
    fit_axes,
    place_labels,
)


def overlaps(frame: PixelFrame, points, texts, placed) -> int:
    spots = frame.pixels(points)
    boxes = [
        (spots[one.number] + [one.right, one.up], np.array([CHARACTER * len(texts[one.number]), LINE]) / 2)
        for one in placed
    ]
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    return sum(bool(np.all(np.abs(a[0] - b[0]) < a[1] + b[1])) for a, b in pairs)


@pytest.mark.parametrize("seed", range(5))
def test_labels_never_overlap_on_a_page_or_a_phone(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(12, 2))
    points[6:] = points[0] + 0.01 * points[6:]  # a bundle of arrows
    texts = [f"a name of column {number}" for number in range(12)]
    frame = PixelFrame((850.0, 380.0), extent_of(points), equal=False)
    placed = place_labels(points, texts, frame, range(12))
    assert len(placed) >= 6
    assert overlaps(frame, points, texts, placed) == 0
    phone = PixelFrame(NARROW, frame.extent, equal=False)
    assert overlaps(phone, points, texts, [one for one in placed if one.narrow]) == 0
    assert placed[0].number == 0  # the most important is never left out first


def test_axes_share_a_scale_unless_that_wastes_the_width() -> None:
    wide, said = fit_axes(figure := go.Figure(), Extent((0.0, 20.0), (0.0, 10.0)))
    assert wide.equal
    assert (said, figure.layout.yaxis.scaleanchor) == ("", "x")
    tall, said = fit_axes(figure := go.Figure(), Extent((0.0, 1.0), (0.0, 3.0)))
    assert not tall.equal
    assert figure.layout.yaxis.scaleanchor is None
    assert "scales of their own" in said


def test_equal_units_are_equally_long() -> None:
    frame = PixelFrame((850.0, 380.0), Extent((0.0, 20.0), (0.0, 10.0)), equal=True)
    low, right, top = frame.pixels(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert right[0] - low[0] == pytest.approx(top[1] - low[1])
