"""The hidden Markov model: statistics that add up, the same bits on every engine, ugly sequences."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from tests import laws
from tests.oracles.chains import Chain, chain_of, expect, run
from tests.oracles.regimes import (
    CHAINS,
    ROWS,
    START,
    STEPS,
    gaussian,
    held,
    holes,
    mixed_holes,
    poisson,
    regimes,
    started,
)
from unveil.chains.kernels.long_chain import Cuts
from unveil.chains.model.emissions import HoledRows, TiledRows
from unveil.chains.model.model import MarkovParams
from unveil.chains.model.probability_table import Stochastic, left_right
from unveil.chains.model.sizes import Sizes
from unveil.core.statistics import Statistics, tree_sum
from unveil.engines import Dask, Threads
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian
from unveil.schedules import Batch, Incremental

# -- statistics --------------------------------------------------------------------------------------------------------


def pieces(one: Chain, order: list[int]) -> list[Statistics]:
    """Statistics of each sequence on its own."""
    cuts = np.concatenate([[0], np.cumsum(one.lengths)])
    parts = [replace(one, rows=one.rows[cuts[i] : cuts[i + 1]], lengths=one.lengths[i : i + 1]) for i in order]
    return [expect(part)[0] for part in parts]


@pytest.mark.parametrize("name", CHAINS)
def test_sequences_add_up_in_any_order(name: str) -> None:
    one = started(name)
    whole, _ = expect(one)
    laws.same(tree_sum(pieces(one, [0, 1, 2, 3, 4])), whole)
    laws.same(tree_sum(pieces(one, [3, 0, 4, 2, 1])), whole)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("expectation", [Exact(), Hard(), Sparse(2, 3)], ids=lambda e: type(e).__name__)
def test_weight_two_is_the_sequence_twice_and_weight_none_no_sequence(name: str, expectation: Any) -> None:
    one = started(name)
    cuts = np.concatenate([[0], np.cumsum(one.lengths)])
    order = [0, 0, 1, 3, 3, 4]
    rows = np.concatenate([one.rows[cuts[i] : cuts[i + 1]] for i in order])
    twice = replace(one, rows=rows, lengths=one.lengths[order])
    weighted = replace(one, sequence_weights=np.array([2.0, 1.0, 0.0, 2.0, 1.0]))
    laws.same(expect(weighted, expectation)[0], expect(twice, expectation)[0])
    laws.alike(run(weighted, expectation, passes=4).params, run(twice, expectation, passes=4).params, rtol=1e-7)


def test_a_step_of_no_weight_is_a_missing_one() -> None:
    off = np.random.default_rng(0).random(len(ROWS)) < 0.3
    gone = replace(gaussian(), rows=np.where(off[:, None], np.nan, ROWS), model=gaussian().model)
    weighted = replace(gaussian(), weights=np.where(off, 0.0, 1.0))
    one, other = expect(gone)[0], expect(weighted)[0]
    for name in set(one) - {"weight"}:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-10, atol=1e-10, err_msg=name)
    assert one["weight"] - other["weight"] == np.count_nonzero(off)


def test_a_start_counts_neighbours_as_if_they_were_independent() -> None:
    random = np.random.default_rng(1)
    shares = random.dirichlet(np.ones(3), size=len(ROWS))
    weighted = replace(
        gaussian(), weights=random.random(len(ROWS)), sequence_weights=np.array([1.0, 2.0, 0.5, 0.0, 1.0])
    )
    found = weighted.model.gather(weighted.block(), shares.T)
    starts, transitions, first = np.zeros(3), np.zeros((3, 3)), 0
    for length, weight in zip(weighted.lengths, weighted.sequence_weights, strict=True):
        here = shares[first : first + length]
        starts += weight * here[0]
        for one, other in pairwise(here):
            transitions += weight * np.outer(one, other)
        first += length
    np.testing.assert_allclose(found["starts"], starts)
    np.testing.assert_allclose(found["transitions"], transitions)
    each = np.repeat(weighted.sequence_weights, weighted.lengths) * weighted.weights
    np.testing.assert_allclose(found["moments"][:, 0], each @ shares)
    np.testing.assert_allclose(found["weight"], each.sum())
    params = weighted.model.first(found)
    assert np.all(params.transition > 0)
    np.testing.assert_allclose(params.transition.sum(axis=1), 1.0)


# -- the same bits -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


def bits(outcome: Any) -> tuple[Any, ...]:
    """All that a fit found, as bytes."""
    found = {name: np.asarray(value).tobytes() for name, value in laws.numbers(outcome.params).items()}
    return found, outcome.history.column("objective").tobytes()


@pytest.mark.parametrize(
    ("expectation", "schedule"),
    [
        (Exact(), Batch()),
        (Exact(), Incremental(32)),
        (Sampled(4), Batch()),
        (Sparse(2, 2), Batch()),
        (Annealed(), Batch()),
    ],
    ids=["exact", "incremental", "sampled", "sparse", "annealed"],
)
def test_threads_and_dask_change_no_bit(client: Client, expectation: Any, schedule: Any) -> None:
    engines = [Threads(1), Threads(2), Threads(5), Dask(client)]
    found = [bits(run(holes(), expectation, schedule, engine, passes=4)) for engine in engines]
    assert found[0] == found[1] == found[2] == found[3]


def test_a_long_chain_is_shared_without_changing_a_bit() -> None:
    rows, _ = regimes([3000], seed=5)
    long = gaussian(rows, [3000], sizes=Sizes(chunk_rows=256, cuts=Cuts(chunk=512, piece=128, split=1000)))
    found = [bits(run(long, engine=Threads(count), passes=3)) for count in (1, 2, 5)]
    assert found[0] == found[1] == found[2]
    whole = run(gaussian(rows, [3000]), passes=3)
    np.testing.assert_allclose(np.frombuffer(found[0][1]), whole.history.column("objective"), rtol=1e-12)


def test_it_travels() -> None:
    one = gaussian(transition_rule=Stochastic(allowed=left_right(3)))
    there = pickle.loads(pickle.dumps(one.model))
    again, _ = expect(replace(one, model=there))
    np.testing.assert_array_equal(again["moments"], expect(one)[0]["moments"])


# -- ugly sequences ----------------------------------------------------------------------------------------------------


def test_an_offset_changes_nothing() -> None:
    far = gaussian(ROWS + 1e8)
    emissions = replace(gaussian().params.emissions)
    far = replace(far, params=replace(far.params, emissions=emissions))
    near, found = run(gaussian(), passes=10), run(far, passes=10)
    np.testing.assert_allclose(found.history.log_likelihood, near.history.log_likelihood, rtol=1e-6)
    np.testing.assert_allclose(found.params.transition, near.params.transition, rtol=1e-4)


def test_single_precision_rows_are_summed_in_double() -> None:
    single = ROWS.astype(np.float32)
    one, other = replace(gaussian(), rows=single), replace(gaussian(), rows=single.astype(np.float64))
    laws.same(expect(one)[0], expect(other)[0])


def test_sequences_of_one_step_are_a_mixture() -> None:
    from unveil.core.protocols import Block
    from unveil.mixtures.model.model import Mixture, MixtureParams

    one = gaussian(ROWS, [1] * len(ROWS))
    found, _ = expect(one)
    mixture = Mixture(one.model.family, 3, one.model.shift)
    plan = mixture.prepare(MixtureParams(START, one.params.emissions))
    expected, _ = mixture.expect(plan, Block(0, 0, ROWS), Exact(), None, np.random.default_rng)
    np.testing.assert_allclose(found["log_likelihood"], expected["log_likelihood"])
    np.testing.assert_allclose(found["moments"], expected["moments"], atol=1e-9)
    np.testing.assert_array_equal(found["transitions"], 0.0)
    after = one.model.maximise(found, one.params)
    np.testing.assert_array_equal(after.transition, STEPS)  # nothing is known of steps: they stay as they were


def test_constant_rows() -> None:
    same = gaussian(np.ones((30, 2)), [10, 20])
    same = replace(same, model=replace(same.model, family=Gaussian(Full(), 1e-6)))
    outcome = run(same, passes=10)
    assert np.all(np.isfinite(outcome.history.log_likelihood))
    assert np.all(np.isfinite(outcome.params.transition))


def test_ten_thousand_sequences_of_three_steps() -> None:
    random = np.random.default_rng(2)
    rows = random.poisson(4.0, (30_000, 1)).astype(np.float64)
    many = replace(poisson(), rows=rows, lengths=np.full(10_000, 3, dtype=np.intp))
    outcome = run(many, passes=3, enough=2048)
    assert outcome.history.largest_fall() == 0.0
    np.testing.assert_allclose(outcome.statistics["starts"].sum(), 10_000)
    np.testing.assert_allclose(outcome.statistics["transitions"].sum(), 20_000)


def test_a_state_never_visited_keeps_its_row() -> None:
    never = MarkovParams(
        np.array([0.5, 0.5, 0.0]),
        np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]),
        gaussian().params.emissions,
    )
    lonely = replace(gaussian(), params=never)
    found, _ = expect(lonely)
    after = lonely.model.maximise(found, never)
    np.testing.assert_array_equal(after.transition[2], [0.2, 0.3, 0.5])
    np.testing.assert_array_equal(after.emissions.means[2], never.emissions.means[2])
    np.testing.assert_array_equal(lonely.model.dead(found), [2])
    assert lonely.model.events(found, after)["empty"] == 1
    assert np.isfinite(lonely.model.energy(found, never))


def test_a_count_that_meets_a_zero_has_no_energy() -> None:
    found, _ = expect(gaussian())
    stuck = replace(gaussian().params, transition=np.eye(3))
    assert gaussian().model.energy(found, stuck) == -np.inf


def test_counts_that_no_sequence_could_have_are_not_admissible() -> None:
    one = gaussian()
    found, _ = expect(one)
    assert one.model.admissible(found)
    wrong = Statistics(**(dict(found) | {"starts": found["starts"] - 10.0}))
    assert not one.model.admissible(wrong)


def test_free_parameters() -> None:
    assert gaussian().model.n_parameters(2) == 2 + 6 + 3 * (2 + 3)
    assert gaussian(transition_rule=Stochastic(allowed=left_right(3))).model.n_parameters(2) == 2 + 2 + 15


@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_groups_of_columns_with_holes_are_scored_as_tiles_are(kept: int) -> None:
    one, posteriors = mixed_holes(sizes=Sizes(kept_numbers=kept)), np.random.default_rng(0).random((len(ROWS), 3))
    rows = one.rows.copy()
    rows[7] = np.nan
    emissions, block = one.model.emissions, one.block()._replace(rows=rows)
    plan, chunks = one.model.family.plan(one.params.emissions), emissions.remember(block)
    scores, scored = emissions.score(plan, block, chunks)
    assert isinstance(scored, HoledRows)
    slow = np.empty(scores.shape)
    tiles = TiledRows(emissions, plan, block, chunks[0].patterns, slow, keep=kept > 0)
    np.testing.assert_allclose(scores, slow, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(scores[7], 0.0)
    np.testing.assert_allclose(scored.gather(posteriors), tiles.gather(posteriors), rtol=1e-11)


def test_what_is_held_takes_the_fast_way_and_stays() -> None:
    outcome = run(held(), passes=4)
    assert outcome.params.emissions.rates[0, 0] == 1.0
    np.testing.assert_array_equal(expect(held())[0]["moments"], expect(poisson())[0]["moments"])


def test_a_sequence_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="lengths must be at least 1"):
        expect(replace(gaussian(), lengths=np.array([0, len(ROWS)], dtype=np.intp)))


def test_small_tables_are_not_compiled_for() -> None:
    assert not gaussian().model.suited_to(1000).compiled
    assert gaussian().model.suited_to(10**7).compiled


@pytest.mark.parametrize("family", ["gaussian", "categorical"])
def test_missing_steps_at_both_ends(family: str) -> None:
    one = chain_of(family, 3, [6, 5], 2)
    rows = one.rows.copy()
    rows[[0, 5, 6]] = np.nan
    found, _ = expect(replace(one, rows=rows))
    assert np.isfinite(found["log_likelihood"])
    np.testing.assert_allclose(found["moments"][:, 0].sum(), 8.0)
    np.testing.assert_allclose(found["starts"].sum(), 2.0)
