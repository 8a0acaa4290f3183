"""The search for a start: what moves are for, what they keep to, and that it is the same for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil import GaussianMixture
from unveil.certificate import FitWarning
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Tied
from unveil.families.gaussian import Gaussian
from unveil.families.small.appearance import look_at
from unveil.mixtures.starts.search import OTHERS, SampleClimb, StartSearch

PLACES = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [0.0, 12.0], [10.0, 12.0]])


def search_over(structure: Any, seed: int = 0, n_rows: int = 500) -> tuple[StartSearch, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = np.arange(n_rows) % len(PLACES)
    points = PLACES[labels] + random.normal(size=(n_rows, 2))
    points -= points.mean(axis=0)
    return StartSearch(Gaussian(structure, 1e-6).small_table(points, None), points, len(PLACES), n_rows), labels


def height(search: StartSearch, vector: np.ndarray) -> float:
    climb = search._climbed(vector, 1e-6, 500)
    assert climb is not None
    return climb.bounds[-1]


@pytest.mark.parametrize("structure", [Full(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
def test_moves_lead_out_of_an_optimum_that_em_cannot_leave(structure: Any) -> None:
    """One group is shared by two components, and one component spans two groups."""
    search, labels = search_over(structure)
    wrong = np.where(labels == 1, 0, labels)
    wrong[(labels == 4) & (search.points[:, 0] > np.median(search.points[labels == 4, 0]))] = 1
    stuck = search._climbed(search.table.labelled(wrong, 5), 0.01, 200)
    assert stuck is not None
    truth = height(search, search.table.labelled(labels, 5))
    assert stuck.bounds[-1] < truth - 100.0
    mended = search._split_and_merge(stuck, look_at(search.table, stuck.vector))
    assert not look_at(search.table, mended.vector).doubled().any()
    assert height(search, mended.vector) == pytest.approx(truth, abs=0.01)


def test_where_there_is_nothing_to_mend_nothing_moves() -> None:
    search, labels = search_over(Full())
    best = search._climbed(search.table.labelled(labels, 5), 0.01, 200)
    assert best is not None
    seen = look_at(search.table, best.vector)
    assert not seen.doubled().any()
    assert search._split_and_merge(best, seen).vector is best.vector  # there is nothing to split


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
def test_every_seed_finds_the_groups(structure: Any) -> None:
    search, labels = search_over(structure)
    truth = height(search, search.table.labelled(labels, 5))
    for seed in range(5):
        (found,) = search.starts(seed, 1)
        assert found is not None
        assert height(search, search.table.vector(found.weights, found.components)) == pytest.approx(truth, abs=0.1)


def test_climbs_that_agree_spare_the_others_where_moves_cannot_be_made() -> None:
    """Three groups and two components, one of which is two groups whatever one does."""
    points = np.random.default_rng(1).normal(size=(300, 2)) + 9.0 * (np.arange(300)[:, None] % 3)
    search = StartSearch(Gaussian(Full(), 1e-6).small_table(points - points.mean(axis=0), None), points, 2, 300)
    list(search.starts(0, 1))
    assert 1 < search.tried < 8


def test_rows_too_few_to_know_a_component_are_no_start() -> None:
    points = np.random.default_rng(0).normal(size=(9, 3))
    search = StartSearch(Gaussian(Full(), 1e-6).small_table(points, None), points, 4, 9)
    assert list(search.starts(0, 2)) == [None, None]
    with pytest.warns(FitWarning, match="more parameters"):
        model = GaussianMixture(4, random_state=0, reg_covar=0.1).fit(points)
    assert np.all(np.isfinite(model.means_))


def test_the_same_seed_gives_the_same_start_and_others_differ() -> None:
    X = np.random.default_rng(3).normal(size=(300, 2))
    one, again, other = (GaussianMixture(4, random_state=seed).fit(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.means_, again.means_)
    assert not np.array_equal(one.means_, other.means_)


def test_restarts_are_starts_of_their_own() -> None:
    X = np.random.default_rng(3).standard_t(3, size=(400, 2))
    model = GaussianMixture(4, random_state=0, n_init=6).fit(X)
    assert len(set(np.round(model.history_.restarts, 3))) > 1
    assert model.history_[-1].objective == max(model.history_.restarts)


def test_a_climb_is_judged_by_where_it_would_end() -> None:
    assert SampleClimb(np.empty(0), [-8.0, -4.0, -2.0, -1.0]).expected == pytest.approx(0.0)


@pytest.mark.parametrize("n_rows", [2000, 100])
def test_a_first_climb_in_which_nothing_looks_double_is_the_start_and_restarts_try_more(n_rows: int) -> None:
    search, _ = search_over(Full(), n_rows=n_rows)
    list(search.starts(0, 1))
    assert search.tried == 1
    list(search.starts(0, 3))
    assert search.tried == 2 + 2 * len(OTHERS)


def test_groups_with_heavy_tails_stay_apart() -> None:
    """Higher likelihoods are to be had by joining two of them and spending the third component on the tails."""
    random = np.random.default_rng(1)
    labels = np.repeat(np.arange(4), 500)
    X = 12.0 * np.eye(4, 3)[labels] + random.standard_t(3, size=(2000, 3))
    for seed in range(3):
        found = GaussianMixture(4, random_state=seed).fit_predict(X)
        assert np.mean([np.bincount(found[labels == group]).max() / 500 for group in range(4)]) > 0.95
        assert len({int(np.bincount(found[labels == group]).argmax()) for group in range(4)}) == 4


def test_skewed_groups_are_not_split_and_one_climb_is_believed() -> None:
    """Each looks like two, by its moments; but there is no gap in it."""
    random = np.random.default_rng(4)
    labels = np.arange(1500) % 3
    X = 9.0 * np.eye(3)[labels] + random.gamma(2.0, size=(1500, 3))
    search = StartSearch(Gaussian(Full(), 1e-6).small_table(X - X.mean(axis=0), None), X - X.mean(axis=0), 3, 1500)
    list(search.starts(0, 1))
    assert search.tried == 1
    found = GaussianMixture(3, random_state=0).fit_predict(X)
    assert sorted(np.bincount(found[labels == group]).argmax() for group in range(3)) == [0, 1, 2]
    assert np.mean([np.bincount(found[labels == group]).max() / 500 for group in range(3)]) > 0.98


@pytest.mark.filterwarnings("ignore:GaussianMixture. component . has no spread")
def test_where_the_data_have_no_spread_the_search_ends_early_and_k_means_it_is() -> None:
    """A column that is constant within groups: climbs end in spikes, whichever way they start."""
    random = np.random.default_rng(5)
    answers = random.integers(0, 2, (3000, 4)).astype(float)
    search = StartSearch(Gaussian(Full(), 1e-6).small_table(answers - 0.5, None), answers - 0.5, 8, 3000)
    assert list(search.starts(0, 1)) == [None]
    assert search.tried < 8
    model = GaussianMixture(8, random_state=0).fit(answers)
    assert np.all(np.isfinite(model.means_))


def test_columns_in_other_units_lead_to_the_same_groups() -> None:
    """K-means by itself would see the first column only."""
    random = np.random.default_rng(6)
    labels = np.arange(900) % 3
    X = np.array([[0.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.0, 6.0]])[labels] + random.normal(size=(900, 3))
    plain, scaled = (GaussianMixture(3, random_state=0).fit(X * units) for units in (1.0, np.array([1e4, 1.0, 0.01])))
    assert scaled.score(X * [1e4, 1.0, 0.01]) == pytest.approx(plain.score(X) - np.log(1e4 * 0.01), abs=1e-3)
    assert (
        np.mean([np.bincount(scaled.predict(X * [1e4, 1.0, 0.01])[labels == one]).max() / 300 for one in range(3)])
        > 0.98
    )
