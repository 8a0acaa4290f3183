import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unveil.judgement.criteria.elbow import ELBOW_BEND, bends, find, heights, kneedle, opine, settle

falls = st.lists(st.floats(0.02, 5.0), min_size=3, max_size=11)


def curve(drops):
    return np.exp(-np.concatenate([[0.0], np.cumsum(drops)])) * 1000.0


@given(falls, st.floats(0.01, 100.0), st.floats(0.0, 1e4))
def test_scale_and_shift_do_not_move_the_chord_or_the_knee(drops, scale, shift):
    costs = curve(drops)
    sizes = np.arange(1, len(costs) + 1)
    np.testing.assert_allclose(heights(sizes, scale * costs + shift), heights(sizes, costs), atol=1e-7)
    below = np.sort(heights(sizes, costs))
    assume(below[-1] - below[-2] > 1e-6)  # else rounding decides
    assert find(sizes, scale * costs + shift).chord == find(sizes, costs).chord


@given(falls, st.floats(1e-6, 1e6))
def test_scale_does_not_change_a_bend(drops, scale):
    costs = curve(drops)
    sizes = np.arange(1, len(costs) + 1)
    np.testing.assert_allclose(bends(sizes, scale * costs), bends(sizes, costs), rtol=1e-6)


@given(st.floats(0.05, 4.0), st.integers(3, 30))
def test_even_decay_has_no_elbow_though_the_chord_finds_one(power, n):
    sizes = np.arange(1, n + 1)
    found = find(sizes, sizes**-power)
    assert found.size is None
    assert found.bend == pytest.approx(1.0)
    assert found.chord is not None


@given(st.integers(2, 12), st.floats(2.0, 8.0))
def test_a_kink_is_found_where_it_is(at, ratio):
    sizes = np.arange(1, 16)
    costs = np.where(sizes <= at, sizes**-1.0, at**-1.0 * (sizes / at) ** (-1.0 / ratio))
    found = find(sizes, costs)
    assert found.sharpest == at
    assert found.bend == pytest.approx(ratio)
    assert found.size == at


def test_a_kink_below_the_threshold_is_none():
    sizes = np.arange(1, 12)
    costs = np.where(sizes <= 4, sizes**-1.0, 0.25 * (sizes / 4) ** (-1.0 / (ELBOW_BEND - 0.1)))
    assert find(sizes, costs).size is None


def test_one_unlucky_fit_is_no_elbow():
    sizes = np.arange(1, 11)
    costs = sizes**-1.0
    costs[5] = costs[4] * 0.9999  # the sixth cluster found nothing
    assert find(sizes, costs).size is None


def test_heights_by_hand():
    np.testing.assert_allclose(heights([1, 2, 3, 5], [9.0, 4.0, 2.0, 1.0]), [0.0, 0.375, 0.375, 0.0])


def test_kneedle_needs_the_curve_to_fall_away():
    sizes = np.arange(1, 8)
    assert kneedle(sizes, [100, 20, 10, 8, 7, 6, 5]) == 1
    assert kneedle(sizes, [7, 6, 5, 4, 3, 2, 1]) is None
    assert kneedle(sizes, [100, 20, 10, 8, 7, 6, 5], sensitivity=10.0) is None


@settings(max_examples=20)
@given(falls)
def test_kneedle_and_chord_agree_where_the_curve_is_convex(drops):
    costs = curve(sorted(drops, reverse=True))
    sizes = np.arange(1, len(costs) + 1)
    place = kneedle(sizes, costs)
    if place is not None:
        assert heights(sizes, costs)[place] == heights(sizes, costs).max()


@pytest.mark.parametrize("costs", [[5.0, 5.0, 5.0, 5.0], [0.0, 0.0, 0.0, 0.0], [3.0, 2.0], [1.0]])
def test_nothing_to_bend(costs):
    assert find(list(range(1, len(costs) + 1)), costs).size is None


def test_nothing_left_of_the_cost_is_an_elbow():
    found = find([1, 2, 3, 4], [10.0, 4.0, 0.0, 0.0])
    assert found.size == 3
    assert found.bend == np.inf


def test_the_table_is_completed():
    line = [{"n_clusters": k, "inertia": cost} for k, cost in enumerate([100.0, 40.0, 5.0, 4.5, 4.1], 1)]
    settle(line)
    assert [row["elbow"] is None for row in line] == [True, False, False, False, True]
    assert line[2]["chord"] == pytest.approx(line[2]["kneedle"] / np.sqrt(2))
    assert opine(line).size == 3
    assert opine(line).words == "the elbow of the cost (bend 7.0; chord and kneedle agree)"


def test_no_clear_elbow_in_words():
    line = [{"n_clusters": k, "inertia": 60.0 / k} for k in range(1, 7)]
    assert opine(line).size is None
    assert not opine(line).structure
    assert opine(line).words.startswith("no clear elbow (the chord would put it at 3")
    assert "too few" in opine(line[:2]).words
