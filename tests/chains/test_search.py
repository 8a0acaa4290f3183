"""The search for a start."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.chains.test_starts import chain, regimes
from tests.places import DATA
from unveil import CategoricalHMM, GaussianHMM, PoissonHMM
from unveil.chains.climbers import Foreseen, GeneralClimber, SmallClimber, expected_end
from unveil.chains.model.probability_table import Stochastic, left_right
from unveil.chains.search import AGREEING_CLIMBS, CODES, FREE, LABELLED, ORDERED, PLACED, ChainSearch, rough_centres
from unveil.chains.starts import STARTS, Kinds, sample_of
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences


def search(rows, lengths, kinds=FREE, k=2, finish=None, **rules):
    source = Sequences(ArraySource(rows), lengths)
    sample = sample_of(chain(source, k, **rules), source, 0, whole=kinds is ORDERED)
    return ChainSearch(sample, Kinds(kinds, renamed=kinds is LABELLED), finish, source.n_rows)


def test_the_regimes_are_found():
    for seed in range(3):
        found = search(regimes(), [600])
        (best,) = found.starts(seed, 1)
        np.testing.assert_allclose(np.sort(best.emissions.means[:, 0]), [0.0, 4.0], atol=0.3)
        assert best.transition.diagonal().min() > 0.9
        assert found.tried == AGREEING_CLIMBS  # of which two agree


def test_the_general_way_finds_the_same():
    quick, slow = search(regimes(), [600]), search(regimes(), [600])
    assert isinstance(quick.climber, SmallClimber)
    slow.climber = slow.general
    assert isinstance(slow.climber, GeneralClimber)
    (one,), (other,) = quick.starts(0, 1), slow.starts(0, 1)
    np.testing.assert_allclose(one.emissions.means, other.emissions.means, atol=1e-3)
    np.testing.assert_allclose(one.transition, other.transition, atol=1e-3)


def test_an_ordered_chain():
    rows = np.repeat([0.0, 5.0, 1.0], 20)[:, None] + 0.1 * np.random.default_rng(0).normal(size=(60, 1))
    rule = Stochastic(left_right(3))
    found = search(np.concatenate([rows, rows]), [60, 60], ORDERED, 3, transition_rule=rule)
    (best,) = found.starts(0, 1)
    np.testing.assert_allclose(best.emissions.means.ravel(), [0.0, 5.0, 1.0], atol=0.2)


def test_what_is_given_is_put_in_place():
    calls = []

    def finish(params):
        calls.append(params)
        return params

    next(search(regimes(), [600], LABELLED, finish=finish).starts(0, 1))
    assert calls


def test_searches_of_a_series_and_of_other_seeds_differ():
    rows = np.random.default_rng(0).normal(size=(300, 2))  # nothing to agree on
    first, second = search(rows, [300], k=3).starts(0, 2)
    (other,) = search(rows, [300], k=3).starts(1, 1)
    places = [np.sort(one.emissions.means[:, 0]) for one in (first, second, other)]
    assert np.abs(places[0] - places[1]).max() > 1e-3
    assert np.abs(places[0] - places[2]).max() > 1e-3


def test_a_single_state_has_one_optimum():
    found = search(regimes(), [600], k=1)
    next(found.starts(0, 1))
    assert found.tried == 1


def test_every_kind_is_known():
    own = {"kmeans", "k-means++", "whitened", "outlying"}
    assert {*FREE, *CODES, *LABELLED, *ORDERED, *PLACED} <= own | set(STARTS)


def test_where_a_climb_would_end():
    assert expected_end([0.0, 8.0, 12.0, 14.0]) == 16.0
    assert expected_end([0.0, 1.0]) == 6.0  # nobody can tell: five more such passes
    assert expected_end([]) == -np.inf
    assert Foreseen(2.0).met([0.0, 8.0, 12.0, 14.0])
    assert not Foreseen(1.9).met([0.0, 8.0, 12.0, 14.0])
    assert Foreseen(0.1, target=35.0).met([0.0, 8.0, 12.0, 14.0])
    assert not Foreseen(0.1, target=19.0).met([0.0, 8.0, 12.0, 14.0])


def test_rough_centres_find_what_is_apart():
    random = np.random.default_rng(0)
    places = 50.0 * random.normal(size=(12, 3))
    points = np.repeat(places, 30, axis=0) + random.normal(size=(360, 3))
    for seed in range(5):
        centres = rough_centres(points, 12, np.random.default_rng(seed))
        assert np.abs(centres[:, None] - places).max(axis=2).min(axis=0).max() < 2.0


# -- references, with nothing set --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_references_with_nothing_set(seed):
    with (DATA / "speed.csv").open() as file:
        times = np.array([[float(row["rt"])] for row in csv.DictReader(file)])
    for lengths, wanted in (([168, 134, 137], -84.3417), (None, -88.7306)):
        model = GaussianHMM(2, regularise=None, random_state=seed).fit(times, lengths)
        assert model.score(times, lengths) == pytest.approx(wanted, abs=0.01)
    quakes = np.loadtxt(DATA / "earthquakes.csv")[:, None]
    assert PoissonHMM(2, regularise=None, random_state=seed).fit(quakes).score(quakes) == pytest.approx(
        -341.8787, abs=0.01
    )


@pytest.mark.parametrize("seed", range(3))
def test_symbols_with_nothing_set(seed):
    random = np.random.default_rng(seed)
    states = np.cumsum(random.random(2000) < 0.05) % 3
    tables = np.array([[0.8, 0.1, 0.1, 0.0], [0.1, 0.1, 0.3, 0.5], [0.05, 0.75, 0.1, 0.1]])
    X = np.array([random.choice(4, p=tables[state]) for state in states])[:, None]
    model = CategoricalHMM(3, random_state=seed).fit(X)
    apart = np.abs(model.emissionprob_[:, None] - tables).max(axis=2)
    assert apart.min(axis=0).max() < 0.08
