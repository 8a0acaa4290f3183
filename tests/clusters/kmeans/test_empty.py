"""Policies for empty clusters: what each does to centres, and that moving one never raises the cost."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.kmeans.empty import POLICIES, Far, around, furthest, kept, remaining
from unveil.clusters.kmeans.model import AssignmentsFixed, Centres, KMeansModel
from unveil.clusters.kmeans.partial import PartialKMeans
from unveil.core.loop import Parts, fit
from unveil.core.protocols import Engine
from unveil.core.result import Fit, Status
from unveil.engines import Threads
from unveil.expectations import Hard
from unveil.schedules import Batch, Stepwise
from unveil.sources import ArraySource

MEANS, BEFORE = np.array([[1.0], [np.nan], [3.0]]), np.array([[0.0], [7.0], [2.0]])
COUNTS = np.array([2.0, 0.0, 1.0])


def run(rows, start, word, schedule=None, engine=None, weights=None, max_iter=200) -> Fit:
    policy = POLICIES[word]
    engine = Threads(1) if engine is None else engine
    model = KMeansModel(len(start), rows.mean(axis=0), empty=policy)
    schedule = around(policy, Batch() if schedule is None else schedule, engine)
    source = ArraySource(rows, weights)
    return fit(Parts(model, source, Hard(), schedule, engine, AssignmentsFixed(), max_iter), model.start(start))


@pytest.mark.parametrize("word", ["keep", "drop", "relocate"])
def test_a_centre_without_rows_stays_in_the_m_step(word) -> None:
    assert POLICIES[word].mend(MEANS, COUNTS, BEFORE).tolist() == [[1.0], [7.0], [3.0]]


def test_it_may_be_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"cluster 1 has no rows left, and empty_clusters='error'; 'relocate' moves"):
        POLICIES["error"].mend(MEANS, COUNTS, BEFORE)
    assert POLICIES["error"].mend(BEFORE, COUNTS + 1, MEANS).tolist() == BEFORE.tolist()


def test_only_dropping_leaves_clusters_out() -> None:
    assert kept(POLICIES["drop"], COUNTS).tolist() == [True, False, True]
    assert kept(POLICIES["drop"], np.zeros(2)).all()  # something must come out
    assert all(kept(POLICIES[word], COUNTS).all() for word in ("keep", "relocate", "error"))


def test_what_is_left_out_is_gone_from_parameters_and_statistics() -> None:
    rows = np.array([[0.0], [1.0], [10.0]])
    outcome = run(rows, [[0.0], [50.0], [10.0]], "keep")
    cut = remaining(outcome, kept(POLICIES["drop"], outcome.statistics["counts"]))
    assert (cut.params.centres + rows.mean()).ravel().tolist() == [0.5, 10.0]
    assert cut.statistics["counts"].tolist() == [2.0, 1.0]
    assert cut.statistics["sums"].shape == (2, 1)
    assert float(cut.statistics["inertia"]) == float(outcome.statistics["inertia"])
    assert remaining(outcome, np.ones(3, bool)) is outcome


def test_what_is_left_out_of_a_table_with_gaps_is_gone_too() -> None:
    rows = np.array([[0.0, np.nan], [1.0, 2.0], [10.0, 3.0]])
    model = PartialKMeans(3, np.zeros(2))
    start = model.start([[0.0, 2.0], [50.0, 50.0], [10.0, 3.0]])
    outcome = fit(Parts(model, ArraySource(rows), Hard(), Batch(), Threads(1), AssignmentsFixed(), 9), start)
    cut = remaining(outcome, np.array([True, False, True]))
    assert cut.statistics["shares"].shape == (2, 2)
    assert model.maximise(cut.statistics, cut.params).centres.shape == (2, 2)


# -- relocation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_furthest_rows_of_all_partitions_are_found(workers: int, weighted: bool) -> None:
    generator = np.random.default_rng(0)
    rows = np.round(generator.normal(size=(40_000, 2)) * 4)  # many ties
    weights = generator.integers(0, 2, len(rows)).astype(float) if weighted else None
    model = KMeansModel(3, np.zeros(2))
    centres = np.array([[0.0, 0.0], [3.0, 1.0], [-2.0, 5.0]])
    squares = ((rows[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
    counted = squares if weights is None else np.where(weights > 0, squares, -1.0)
    order = np.lexsort((np.arange(len(rows)), -counted))[:7]
    found = furthest(model, Centres(centres), Threads(workers), ArraySource(rows, weights), 7)
    np.testing.assert_array_equal(found, rows[order])


def test_rows_at_their_centres_are_nowhere_to_go() -> None:
    rows = np.repeat([[0.0], [4.0]], 3, axis=0)
    model = KMeansModel(3, np.zeros(1))
    assert len(furthest(model, Centres(np.array([[0.0], [4.0], [9.0]])), Threads(1), ArraySource(rows), 2)) == 0
    outcome = run(rows, [[0.0], [4.0], [9.0]], "relocate")
    assert outcome.status is Status.CONVERGED
    assert outcome.history.events == {"emptied": len(outcome.history)}


def test_far_rows_come_in_order_the_first_of_equals_first() -> None:
    far = Far(np.array([1.0, 4.0, 4.0]), np.array([9, 8, 3]), np.array([[1.0], [2.0], [2.5]]))
    assert far.first(2).numbers.tolist() == [3, 8]


def test_each_empty_cluster_goes_to_another_row() -> None:
    rows = np.array([[0.0], [1.0], [2.0], [30.0], [80.0]])
    outcome = run(rows, [[1.0], [500.0], [600.0]], "relocate")
    assert sorted((outcome.params.centres + rows.mean()).ravel().round(12).tolist()) == [1.0, 30.0, 80.0]
    assert outcome.history.events == {"emptied": 2, "relocated": 2}
    assert outcome.history.monotone


cases = st.tuples(st.integers(2, 120), st.integers(1, 4), st.integers(2, 12), st.integers(0, 10**6))


@settings(max_examples=60, deadline=None)
@given(cases)
def test_relocation_never_raises_the_cost_and_always_ends(case) -> None:
    n, d, k, seed = case
    generator = np.random.default_rng(seed)
    rows = np.round(generator.normal(size=(n, d)) * 3)  # duplicates
    start = generator.normal(size=(k, d)) * 30  # most of them far from every row
    weights = generator.integers(0, 3, n).astype(float)
    weights[0] = 1.0
    outcome = run(rows, start, "relocate", weights=weights)
    assert outcome.status is Status.CONVERGED
    assert outcome.history.largest_fall() <= 1e-9 * max(1.0, -outcome.history.free_energy[0])
    different = len(np.unique(rows[weights > 0], axis=0))
    assert np.count_nonzero(outcome.statistics["counts"] > 0) == min(k, different)


@pytest.mark.parametrize("schedule", [Batch(), Stepwise()])
def test_number_of_threads_changes_no_bit(schedule) -> None:
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(50_000, 3)) + 6 * generator.integers(0, 3, size=(50_000, 1))
    start = np.concatenate([rows[:4], np.full((4, 3), 1e3)])
    one, two = (run(rows, start, "relocate", schedule, Threads(workers), max_iter=8) for workers in (1, 2))
    assert one.params.centres.tobytes() == two.params.centres.tobytes()
    assert one.history.events == two.history.events
    assert one.history.events["relocated"] >= 4
    assert np.all(one.statistics["counts"] > 0)


def test_the_wrapped_schedule_speaks_for_itself() -> None:
    engine: Engine = Threads(1)
    batch, stepwise = (around(POLICIES["relocate"], schedule, engine) for schedule in (Batch(), Stepwise()))
    assert (batch.name, batch.monotone, stepwise.monotone) == ("Batch", True, False)
    assert batch.refuse(KMeansModel(2, np.zeros(1)), Hard()) is None
    assert around(POLICIES["keep"], Batch(), engine) == Batch()


def test_policies_travel_to_workers() -> None:
    assert pickle.loads(pickle.dumps(POLICIES)) == POLICIES
