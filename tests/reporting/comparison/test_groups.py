import numpy as np
import pytest

from unveil.reporting.comparison.groups import difference, held_out_scores, misfits, shares


def test_intervals_of_a_change_hold_what_they_promise():
    random = np.random.default_rng(0)
    ends = np.array([difference(random.binomial(80, 0.2), 80, random.binomial(60, 0.3), 60) for _ in range(1000)])
    assert 0.93 < np.mean((ends[:, 0] <= 0.1) & (ends[:, 1] >= 0.1)) < 0.98


def test_groups_that_grew():
    then, now = np.repeat([0, 1], [80, 20]), np.repeat([0, 1], [40, 60])
    first, second = shares(then, now, 2)
    assert (first.share_then, second.share_now) == (0.8, 0.6)
    assert first.high < 0 < second.low
    assert first.changed
    assert not shares(then, then, 2)[0].changed


def test_rows_no_longer_fit_as_often_as_said_by_chance():
    random = np.random.default_rng(2)
    found = [misfits(random.normal(size=300), random.normal(size=400)) for _ in range(300)]
    assert np.mean([len(one.rows) for one in found]) == pytest.approx(found[0].expected, rel=0.25)
    assert np.mean([one.p < 0.05 for one in found]) < 0.08


def test_rows_that_no_longer_fit_come_by_number():
    found = misfits(np.linspace(-9.0, 0.0, 2000), np.array([-1.0, -20.0, -5.0, -30.0]))
    assert found.rows.tolist() == [4, 2]
    assert found.log_density.tolist() == [-30.0, -20.0]
    assert found.p < 1e-3
    assert misfits(np.zeros(50), np.ones(5)).p == 1.0


def test_rows_are_scored_by_fits_that_have_not_seen_them():
    def scores(seen, unseen):
        assert not set(seen.tolist()) & set(unseen.tolist())
        assert len(seen) + len(unseen) == 53
        return unseen.astype(float)

    assert held_out_scores(scores, 53).tolist() == list(range(53))
