import math

import numpy as np
import pytest
from sklearn.cluster import KMeans as Reference

from unveil.judgement.criteria.gap import Gap, References, box_of, first_within_error, opine
from unveil.judgement.criteria.rows import RESAMPLED_ROWS, Rows


def table(X, weights=None, scale=1.0):
    held = np.ones(len(X)) if weights is None else weights
    return Rows(X, held, np.arange(len(X)), weights, len(X), scale)


def blobs(seed=0, n=40):
    return np.random.default_rng(seed).normal(size=(3 * n, 2)) * 0.5 + np.repeat([[0, 0], [8, 0], [0, 9]], n, axis=0)


def fit(X, size):
    return Reference(size, n_init=4, random_state=0).fit(X)


def test_against_a_slow_oracle():
    X = blobs()
    references = References(table(X), seed=0, sets=6)
    for size in (1, 2, 3, 5):
        model = fit(X, size)
        logs = np.log([fit(rows, size).inertia_ / len(rows) for rows in references.sets])
        expected = logs.mean() - math.log(model.inertia_ / len(X))
        found = references.gap(size, model.cluster_centers_, model.inertia_)
        assert found.value == pytest.approx(expected, abs=0.01)
        assert found.error == pytest.approx(logs.std() * math.sqrt(1 + 1 / 6), abs=0.01)


def test_with_one_cluster_it_is_exact():
    X = blobs()
    references = References(table(X), seed=0)
    logs = [math.log(((rows - rows.mean(axis=0)) ** 2).sum() / len(rows)) for rows in references.sets]
    cost = ((X - X.mean(axis=0)) ** 2).sum()
    found = references.gap(1, X.mean(axis=0)[None], cost)
    assert found.value == pytest.approx(np.mean(logs) - math.log(cost / len(X)))
    assert found.error == pytest.approx(np.std(logs) * math.sqrt(1.05))


def test_the_box_holds_the_rows_along_their_axes():
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    X = np.random.default_rng(0).random((500, 2)) * [10.0, 1.0] @ turn
    box = box_of(X, np.ones(500))
    coordinates = (X - box.centre) @ box.axes.T
    assert (coordinates >= box.low - 1e-9).all()
    assert (coordinates <= box.high + 1e-9).all()
    np.testing.assert_allclose(np.sort(box.high - box.low), [1.0, 10.0], atol=0.3)


def test_more_columns_than_rows():
    X = np.random.default_rng(0).normal(size=(6, 20))
    references = References(table(X), seed=0)
    assert references.sets[0].shape == (6, 6)
    assert math.isfinite(references.gap(2, X[:2], 5.0).value)


def test_weight_two_is_the_row_twice():
    X, counts = blobs(), np.random.default_rng(0).integers(1, 4, 120)
    weighted, repeated = (
        References(table(X, counts.astype(float)), 0),
        References(table(np.repeat(X, counts, axis=0)), 0),
    )
    for size in (1, 3):
        model = Reference(size, n_init=3, random_state=0).fit(X, sample_weight=counts)
        one, two = (each.gap(size, model.cluster_centers_, model.inertia_) for each in (weighted, repeated))
        assert one.value == pytest.approx(two.value)
        assert one.error == pytest.approx(two.error, rel=1e-6)


def test_a_large_table_is_compared_on_as_many_rows():
    X = blobs(n=2000)
    model = fit(X, 3)
    references = References(table(X), seed=0)
    assert len(references.weights) == RESAMPLED_ROWS
    expected = references.expected(3).mean() - math.log(model.inertia_ / len(X))
    assert references.gap(3, model.cluster_centers_, model.inertia_).value == pytest.approx(expected, abs=0.05)


def test_sizes_may_come_in_any_order_and_again():
    one, two = References(table(blobs()), 0), References(table(blobs()), 0)
    first = one.expected(2)
    np.testing.assert_array_equal(one.expected(2), first)
    two.expected(4)
    np.testing.assert_allclose(two.expected(2), first, atol=0.02)


def test_nothing_left_of_the_cost_has_no_gap():
    assert References(table(np.repeat([[0.0], [1.0]], 5, axis=0)), 0).gap(2, np.array([[0.0], [1.0]]), 0.0) is None


@pytest.mark.parametrize(
    ("values", "place"), [([0.1, 0.5, 0.52, 0.5], 1), ([0.5, 0.4, 0.9, 0.1], 0), ([0.1, 0.2, 0.3, 0.4], None)]
)
def test_the_one_standard_error_rule(values, place):
    assert first_within_error([Gap(value, 0.03) for value in values]) == place


def line(values, first=1):
    return [{"n_clusters": k, "gap": value, "gap_error": 0.03} for k, value in enumerate(values, first)]


def test_what_it_is_for():
    assert opine(line([0.5, 0.4, 0.3])).size == 1
    assert opine(line([0.1, 0.5, 0.4])).size == 2
    assert opine(line([0.1, 0.3, 0.5])).size is None
    assert opine(line([0.1, 0.3])[:1]).size is None
    assert opine(line([0.5, 0.4], first=2)).size is None  # one cluster was not tried
    assert opine(line([0.5, 0.4, 0.9])).words == "gap statistic (0.50, but 0.90 at 3)"
