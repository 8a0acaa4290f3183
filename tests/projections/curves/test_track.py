from __future__ import annotations

import numpy as np

from unveil.projections.curves.polyline import Track


def test_distinct_places_in_order() -> None:
    track = Track.of(np.array([3.0, np.nan, 1.0, 3.0, 2.0, 1.0 + 1e-12, np.nan]))
    assert track.values.tolist() == [1.0, 2.0, 3.0]
    assert track.ends.tolist() == [1.0, 1.0 + 1e-12, 3.0, 3.0]
    assert not track.is_point


def test_a_single_place() -> None:
    track = Track.of(np.array([2.0, 2.0]))
    assert track.is_point
    assert track.ends.tolist() == [2.0] * 4
    assert Track.of(np.array([5.0])).ends.tolist() == [5.0] * 4
    assert Track.of(np.array([1.0, 2.0]), 0.0).is_point


def test_even_ranks() -> None:
    track = Track.of(np.arange(11.0) ** 2)
    assert track.spread_out(3).tolist() == [0.0, 25.0, 100.0]
    assert track.spread_out(99).tolist() == track.values.tolist()
