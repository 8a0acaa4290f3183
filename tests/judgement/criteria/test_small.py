import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans as Reference

from unveil.judgement.criteria.small import grown, halves, next_centre, settled, squares


def rows(seed, n=60, d=2):
    values = np.random.default_rng(seed).normal(size=(n, d))
    return values - values.mean(axis=0)


def path(values, sizes, seed=0):
    random, last, costs = np.random.default_rng(seed), None, []
    for size in sizes:
        last = grown(values, np.ones(len(values)), last, size, random)
        costs.append(last.cost)
    return np.array(costs)


def test_squares_are_squared_distances():
    one, other = rows(0), rows(1, n=4)
    expected = ((one[None] - other[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares(one, other), expected, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_the_cost_never_rises_with_the_number_of_clusters(seed, d):
    costs = path(rows(seed, d=d), range(1, 9))
    assert (np.diff(costs) <= 1e-9).all()


def test_costs_are_as_low_as_those_of_many_restarts():
    values = np.concatenate([rows(number) * 0.4 + 4.0 * np.array(spot) for number, spot in enumerate(np.ndindex(3, 3))])
    values -= values.mean(axis=0)
    best = Reference(9, n_init=20, random_state=0).fit(values).inertia_
    assert path(values, range(1, 10))[-1] <= best * 1.0001


def test_the_cost_is_that_of_the_labels_and_centres_are_means():
    values = rows(3)
    weights = np.random.default_rng(0).random(60) + 0.1
    found = grown(values, weights, None, 3, np.random.default_rng(0))
    assert found.cost == pytest.approx(float(weights @ ((values - found.centres[found.labels]) ** 2).sum(axis=1)))
    for number, centre in enumerate(found.centres):
        own = found.labels == number
        np.testing.assert_allclose(centre, np.average(values[own], axis=0, weights=weights[own]), atol=1e-2)


def test_weight_two_is_the_row_twice():
    values, counts = rows(4), np.random.default_rng(0).integers(1, 4, 60)
    weighted = settled(values, counts.astype(float), values[:3])
    repeated = settled(np.repeat(values, counts, axis=0), np.ones(counts.sum()), values[:3])
    np.testing.assert_allclose(weighted.centres, repeated.centres, atol=1e-10)
    assert weighted.cost == pytest.approx(repeated.cost)


def test_a_centre_without_rows_stays():
    found = settled(rows(5), np.ones(60), np.array([[0.0, 0.0], [99.0, 99.0]]))
    assert found.centres[1].tolist() == [99.0, 99.0]


def test_the_next_centre_is_a_row_and_takes_much_off():
    values = np.concatenate([rows(6) * 0.1, rows(7) * 0.1 + 10.0])
    centre = next_centre(values, np.ones(120), squares(values, values[:1])[0], np.random.default_rng(0))
    assert centre.min() > 8.0
    assert (values == centre).all(axis=1).any()


def test_rows_that_are_all_equal_do_no_harm():
    found = grown(np.zeros((5, 2)), np.ones(5), None, 3, np.random.default_rng(0))
    assert found.cost == 0.0
    assert found.centres.shape == (3, 2)


def test_the_costliest_cluster_is_halved_along_its_axis():
    values = np.concatenate([rows(8) * [5.0, 0.1], rows(9) * 0.1 + [0.0, 20.0]])
    worst, pair = halves(values, np.ones(120), settled(values, np.ones(120), np.array([[0.0, 0.0], [0.0, 20.0]])))
    assert worst == 0
    assert abs(pair[0, 0] - pair[1, 0]) > 5.0
    assert abs(pair[0, 1] - pair[1, 1]) < 1.0
