"""Snapshots of a climb: which passes are kept, and that asking for them changes no number."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import unveil
from unveil.core.loop import unwatched
from unveil.core.snapshots import Album, Snapshot, at_most, one_after_the_other

RANDOM = np.random.default_rng(0)
GROUPS = RANDOM.normal(size=(300, 2)) + np.repeat([[0.0, 0.0], [2.5, 0.0], [0.0, 3.0]], 100, axis=0)
HOLED = np.where(RANDOM.random(GROUPS.shape) < 0.05, np.nan, GROUPS)
COUNTS = RANDOM.poisson(np.repeat([[1.0, 4.0], [6.0, 1.0]], 80, axis=0))


@pytest.mark.parametrize("passes", [0, 1, 2, 5, 9, 10, 37, 1000])
def test_an_album_holds_the_start_the_end_and_an_even_stride(passes: int) -> None:
    album = Album(10)
    for number in range(passes):
        album.add(number, f"after {number}")
        assert len(album.kept) < 10
    kept = album.ended(passes, "end")
    numbers = [one.passes for one in kept]
    assert len(kept) <= 10
    assert kept[-1] == (passes, "end")
    assert numbers[0] == 0
    assert len(set(np.diff(numbers[:-1]).tolist())) <= 1
    assert passes < 9 or len(kept) >= 5
    assert all(one.params == f"after {one.passes}" for one in kept[:-1])


def test_climbs_that_go_on_from_each_other_are_one() -> None:
    first = [Snapshot(number, "first") for number in range(6)]
    second = [Snapshot(number, "second") for number in range(5)]
    with at_most(20):
        whole = one_after_the_other(first, 5, second)
    assert [one.passes for one in whole] == list(range(10))
    assert [one.params for one in whole] == ["first"] * 5 + ["second"] * 5
    with at_most(6):
        thinned = one_after_the_other(first, 5, second)
    assert len(thinned) <= 6
    assert thinned[0].passes == 0
    assert thinned[-1].passes == 9


CASES = {
    "small table": (unveil.GaussianMixture(3, random_state=0), GROUPS),
    "restarts with leaps": (unveil.GaussianMixture(4, random_state=0, init_params="random", n_init=3), GROUPS),
    "missing cells": (unveil.GaussianMixture(2, random_state=0), HOLED),
    "squarem": (unveil.StudentMixture(2, random_state=0, schedule="squarem", init_params="random"), GROUPS),
    "incremental": (unveil.GaussianMixture(3, random_state=0, schedule="incremental", init_params="random"), GROUPS),
    "counts": (unveil.PoissonMixture(2, random_state=0), COUNTS),
    "K-means": (unveil.KMeans(3, random_state=0, init="random", n_init=1), GROUPS),
    "K-means moved row by row": (unveil.KMeans(6, random_state=0, n_init=5), GROUPS),
    "small chain": (unveil.GaussianHMM(3, random_state=0, init_params="random"), GROUPS),
    "chain of compounds": (unveil.GaussianHMM(2, n_mix=2, random_state=0), GROUPS),
}


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize("case", CASES)
def test_a_fit_has_the_same_bits_with_and_without(case: str) -> None:
    estimator, X = CASES[case]
    plain = clone(estimator).fit(X)
    with unveil.snapshots(most=8):
        kept = clone(estimator).fit(X)
    assert plain.history_.snapshots == ()
    told = [one.passes for one in kept.history_.snapshots]
    assert 2 <= len(told) <= 8
    assert told[0] == 0
    assert told[-1] == kept.n_iter_
    assert plain.history_.heights == kept.history_.heights
    assert plain.history_.passes == kept.history_.passes
    for name, value in vars(plain).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(kept, name), err_msg=name)


def test_of_many_climbs_those_of_the_winner_are_left() -> None:
    seen = {}
    with unveil.snapshots(), unveil.watch(lambda state: seen.setdefault(state.record.objective, state.params)):
        model = unveil.KMeans(5, random_state=3, init="random", n_init=6, tol=0.0).fit(GROUPS)
    after = model.history_.snapshots[1].params
    np.testing.assert_array_equal(after.centres, seen[model.history_.heights[0]].centres)


def test_each_candidate_of_a_selection_has_its_own() -> None:
    with unveil.snapshots(most=5):
        chosen = unveil.select(unveil.GaussianMixture(random_state=0), GROUPS, {"n_components": [1, 2, 3]})
    model = chosen.best_estimator_
    assert [len(one.params.weights) for one in model.history_.snapshots][-1] == model.n_components


def test_fits_that_nobody_asked_for_keep_none() -> None:
    with unveil.snapshots(), unwatched():
        assert unveil.KMeans(2, random_state=0).fit(GROUPS).history_.snapshots == ()


def test_a_stream_that_goes_on_from_a_fit_has_none() -> None:
    with unveil.snapshots():
        model = unveil.GaussianMixture(2, random_state=0).fit(GROUPS)
        assert model.history_.snapshots
        assert model.partial_fit(GROUPS).history_.snapshots == ()


@pytest.mark.parametrize("most", [1, 0, 2.5, True, "many"])
def test_a_number_that_leaves_no_room_for_start_and_end_is_refused(most: object) -> None:
    with pytest.raises(ValueError, match="most must be an integer of at least 2"), unveil.snapshots(most):  # type: ignore[arg-type]
        pass
