from __future__ import annotations

import numpy as np

from unveil.plot.marks.sample import MOST_POINTS, drawn, quotas, spread_sample


def test_small_groups_and_outliers_are_kept_and_places_stay_as_dense_as_they_are() -> None:
    random = np.random.default_rng(0)
    points = random.normal(size=(40_000, 2))
    groups = np.zeros(len(points), dtype=int)
    groups[:25] = 1
    points[100] = [40.0, 0.0]
    rows = spread_sample(points, groups)
    assert len(rows) == MOST_POINTS
    assert (np.diff(rows) > 0).all()
    assert set(range(25)) <= set(rows.tolist())
    assert 100 in rows
    quarter = np.mean((points[rows] > 0).all(axis=1))
    assert abs(quarter - np.mean((points > 0).all(axis=1))) < 0.02
    np.testing.assert_array_equal(rows, spread_sample(points, groups))


def test_rows_without_a_place_are_not_drawn() -> None:
    points = np.array([[0.0, 1.0], [np.nan, 1.0], [2.0, 2.0]])
    assert spread_sample(points).tolist() == [0, 2]
    assert drawn(3, shown=2) == "A sample of 2 of 3 rows is drawn."


def test_quotas_add_up_and_exceed_no_group() -> None:
    for counts in ([10_000, 3, 3, 500], [50] * 100, [5, 5], [3000]):
        given = quotas(np.array(counts), 1900)
        assert sum(given) == min(1900, sum(counts))
        assert all(one <= most for one, most in zip(given, counts, strict=True))
