import numpy as np
import pytest

from tests.reporting.study.made import analysed, blobs, visits
from unveil.reporting.study.groups import told


def test_differences_are_cohens():
    frame = blobs()
    found = analysed(frame)
    group = found.grouping.groups[0]
    inside = frame[found.placed.group == group.number]
    outside = frame[found.placed.group != group.number]
    spread = np.sqrt((len(inside) * inside.x0.var(ddof=0) + len(outside) * outside.x0.var(ddof=0)) / len(frame))
    (one,) = [each for each in group.apart if each.column == 0]
    assert one.size == pytest.approx((inside.x0.mean() - outside.x0.mean()) / spread)
    assert one.inside == pytest.approx(inside.x0.mean())
    assert group.nearest != group.number


def test_categories_differ_by_their_shares():
    frame, _ = visits()
    found = analysed(frame)
    column = found.rows.names.index("device")
    phone = found.rows.levels[column].index("phone")
    shares = found.grouping.profiles[column].shares
    for group in found.grouping.groups:
        inside = frame.device[found.placed.group == group.number] == "phone"
        assert shares[group.number, phone] == pytest.approx(inside.mean())
    assert all(abs(one.size) >= 0.5 for group in found.grouping.groups for one in told(group.apart))


def test_typical_rows_are_of_the_group_and_borderline_rows_are_unsure():
    found = analysed(blobs(300, apart=4.0, seed=2))
    for group in found.grouping.groups:
        assert all(found.placed.group[row] == group.number for row in group.typical)
    chances = found.placed.probability[list(found.grouping.borderline)]
    assert np.all(np.diff(chances) >= 0)
    assert np.all(chances < 0.9)
