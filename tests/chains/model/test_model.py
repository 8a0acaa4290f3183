"""The hidden Markov model on the loop: laws with every schedule and expectation, a peer's path, ugly sequences."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from tests import laws
from tests.oracles.chains import Chain, chain_of, expect, run
from unveil.chains.kernels import long_chain as chain_long
from unveil.chains.model import emissions as markov_emissions
from unveil.chains.model import expectations as markov_expectations
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.chains.model.probability_table import Stochastic, left_right
from unveil.core.statistics import Statistics, tree_sum
from unveil.engines import Dask, Threads
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.compound import Compound
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.family import hold
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams
from unveil.schedules import LBFGS, Ascent, Batch, Gradient, Incremental, Squarem, Stepwise

Floats = NDArray[np.float64]
LENGTHS = [40, 1, 25, 60, 34]
START = np.array([0.5, 0.3, 0.2])
STEPS = np.array([[0.6, 0.2, 0.2], [0.3, 0.5, 0.2], [0.25, 0.25, 0.5]])
TRUE_STEPS = np.array([[0.9, 0.08, 0.02], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
MEANS = np.array([[0.0, 0.0], [3.0, 1.0], [-2.0, 4.0]])


def regimes(lengths: list[int] = LENGTHS, seed: int = 12) -> tuple[Floats, Floats]:
    """Rows of three states that last, and counts of the same states."""
    random, states, rows = np.random.default_rng(seed), [], []
    for length in lengths:
        state = int(random.integers(3))
        for _ in range(length):
            states.append(state)
            rows.append(MEANS[state] + random.normal(size=2) @ np.array([[1.0, 0.3], [0.0, 0.8]]))
            state = int(random.choice(3, p=TRUE_STEPS[state]))
    counts = random.poisson(np.array([2.0, 8.0, 20.0])[states])
    return np.array(rows), counts[:, None].astype(np.float64)


ROWS, COUNTS = regimes()
CODES = np.minimum(COUNTS // 4, 4)


def chain(family: Any, emissions: Any, rows: Floats, lengths: list[int] = LENGTHS, **settings_: Any) -> Chain:
    """Sequences from the start that all tests here share."""
    shift = rows.mean(axis=0) if family.framed and not isinstance(family, Product) else np.zeros(rows.shape[1])
    model = HiddenMarkov(family, 3, shift, **settings_)
    params = MarkovParams(START, STEPS, family.located(emissions, -shift))
    return Chain(model, params, rows, np.array(lengths, dtype=np.intp), lambda row, state: 0.0)


def gaussian(rows: Floats = ROWS, lengths: list[int] = LENGTHS, **settings_: Any) -> Chain:
    means = np.array([[0.5, 0.5], [2.0, 0.0], [-1.0, 3.0]])
    emissions = GaussianParams(means, np.tile(np.eye(2), (3, 1, 1)), np.zeros((3, 2)))
    return chain(Gaussian(Full(), 0.0), emissions, rows, lengths, **settings_)


def poisson(**settings_: Any) -> Chain:
    return chain(Poisson(), PoissonParams(np.array([[1.0], [5.0], [15.0]])), COUNTS, **settings_)


def categorical(**settings_: Any) -> Chain:
    table = np.array([[0.6, 0.2, 0.1, 0.05, 0.05], [0.2, 0.3, 0.3, 0.1, 0.1], [0.05, 0.05, 0.1, 0.2, 0.6]])
    return chain(Categorical((5,)), CategoricalParams(table), CODES, **settings_)


def bernoulli(**settings_: Any) -> Chain:
    yes = np.array([[0.2, 0.3], [0.6, 0.4], [0.9, 0.8]])
    return chain(Bernoulli(), BernoulliParams(yes), np.column_stack([COUNTS > 5, ROWS > 1.5])[:, :2] * 1.0, **settings_)


def student() -> Chain:
    emissions = StudentParams(MEANS, np.tile(np.eye(2), (3, 1, 1)), np.full(3, 5.0), np.zeros((3, 2)))
    return chain(Student(Full(), 0.0), emissions, ROWS)


def mixed() -> Chain:
    parts = (gaussian().params.emissions, PoissonParams(np.array([[1.0], [5.0], [15.0]])))
    located = Gaussian(Full(), 0.0).located(parts[0], ROWS.mean(axis=0))
    family = Product(((Gaussian(Full(), 0.0), (0, 1)), (Poisson(), (2,))))
    return chain(family, ProductParams((located, parts[1])), np.hstack([ROWS, COUNTS]))


def holes() -> Chain:
    random = np.random.default_rng(3)
    rows = np.where(random.random(ROWS.shape) < 0.2, np.nan, ROWS)
    shift = gaussian().model.shift
    return replace(gaussian(), rows=rows, model=replace(gaussian().model, shift=shift))


def compound() -> Chain:
    """A mixture of two in each state."""
    start = np.random.default_rng(0).dirichlet(np.ones(3), size=len(ROWS))
    one = gaussian()
    model = replace(one.model, family=Compound(Gaussian(Full(), 1e-6), 2))
    return replace(one, model=model, params=model.first(model.gather(one.block(), start)))


def held() -> Chain:
    """Rates of one state that stay as they are."""
    one = poisson()
    return replace(one, model=replace(one.model, family=hold(Poisson(), rates=np.array([[True], [False], [False]]))))


def mixed_holes() -> Chain:
    one = mixed()
    return replace(one, rows=np.where(np.random.default_rng(4).random(one.rows.shape) < 0.3, np.nan, one.rows))


CHAINS = {
    "gaussian": gaussian(),
    "holes": holes(),
    "poisson": poisson(),
    "categorical": categorical(),
    "bernoulli": bernoulli(),
    "student": student(),
    "mixed": mixed(),
    "mixed holes": mixed_holes(),
    "compound": compound(),
    "held": held(),
    "left-right": gaussian(transition_rule=Stochastic(allowed=left_right(3))),
    "prior": poisson(start_rule=Stochastic(concentration=2.0), transition_rule=Stochastic(concentration=1.5)),
    "tied": categorical(transition_rule=Stochastic(tied=np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]))),
}
SCHEDULES: dict[str, Any] = {
    "batch": Batch(),
    "incremental": Incremental(batch_rows=32),
    "gradient": Gradient(steps=3),
    "squarem": Squarem(),
}
CLIMBS = [
    *[(name, Exact(), "batch") for name in CHAINS],
    *[("gaussian", Exact(), schedule) for schedule in ("incremental", "gradient", "squarem")],
    *[("categorical", Exact(), schedule) for schedule in ("incremental", "gradient", "squarem")],
    *[(name, Hard(), schedule) for name in ("gaussian", "poisson") for schedule in ("batch", "incremental")],
    *[
        (name, Sparse(2, 4), schedule)
        for name in ("gaussian", "holes", "poisson")
        for schedule in ("batch", "incremental", "gradient")
    ],
    ("prior", Exact(), "gradient"),
    ("prior", Exact(), "squarem"),
    ("tied", Exact(), "gradient"),
    ("tied", Exact(), "incremental"),
    ("left-right", Exact(), "gradient"),
]


def started(name: str) -> Chain:
    """A chain whose start obeys its own rules."""
    one = CHAINS[name]
    rules = one.model.start_rule, one.model.transition_rule
    start, transition = rules[0].first(10 * one.params.start), rules[1].first(10 * one.params.transition)
    return replace(one, params=replace(one.params, start=start, transition=transition))


@pytest.mark.parametrize(
    ("name", "expectation", "schedule"), CLIMBS, ids=[f"{n}-{type(e).__name__}-{s}" for n, e, s in CLIMBS]
)
def test_the_bound_never_falls(name: str, expectation: Any, schedule: str) -> None:
    one = started(name)
    outcome = run(one, expectation, SCHEDULES[schedule], passes=20)
    objective = outcome.history.column("objective")
    assert np.all(np.isfinite(objective))
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= 1e-10 * np.max(np.abs(objective))
    assert np.all(outcome.history.gap >= -1e-10 * np.abs(outcome.history.log_likelihood))
    one.model.start_rule.check(outcome.params.start, "start")
    one.model.transition_rule.check(outcome.params.transition, "transition")


@pytest.mark.parametrize(
    "schedule", [Incremental(32), Gradient(5), Ascent(), LBFGS(), Squarem()], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("name", ["gaussian", "categorical"])
def test_what_is_exact_ends_where_batch_does(name: str, schedule: Any) -> None:
    best = run(CHAINS[name], passes=300).history.log_likelihood[-1]
    found = run(CHAINS[name], schedule=schedule, passes=150).history.log_likelihood[-1]
    assert found >= best - 1e-4 * len(ROWS)


@pytest.mark.parametrize(
    ("expectation", "schedule"),
    [
        (Sampled(32, 1.1), Batch()),
        (Annealed(0.8, 5), Batch()),
        (Exact(), Stepwise(batch_rows=32)),
        (Hard(), Stepwise()),
    ],
    ids=["sampled", "annealed", "stepwise", "hard-stepwise"],
)
def test_what_draws_or_forgets_comes_near(expectation: Any, schedule: Any) -> None:
    best = run(gaussian(), passes=40).history.log_likelihood[-1]
    outcome = run(gaussian(), expectation, schedule, passes=40)
    again, _ = expect(gaussian(), params=outcome.params)
    assert again["log_likelihood"] >= best - 0.03 * sum(LENGTHS)
    assert np.all(outcome.history.gap >= -1e-9 * np.abs(outcome.history.log_likelihood))


PEER = {
    "gaussian": [
        -660.6683951249498,
        -497.48784228760144,
        -491.62085139917804,
        -491.21678756035595,
        -491.102117154005,
        -491.0619526933724,
        -491.04919598789786,
        -491.0452711788997,
    ],
    "poisson": [
        -509.5226026819604,
        -462.2682603339257,
        -458.33595979368084,
        -456.3820123834862,
        -455.0068360383052,
        -454.1917364376782,
        -453.77945860534913,
        -453.58329536594067,
    ],
    "categorical": [
        -223.3493712423725,
        -201.4553419973035,
        -192.2403554164069,
        -187.54770867379602,
        -184.805369046005,
        -183.52537197202784,
        -183.04792126867173,
        -182.9052743038162,
    ],
}


@pytest.mark.parametrize(("name", "path"), PEER.items(), ids=PEER)
def test_the_path_of_a_peer(name: str, path: list[float]) -> None:
    """Log-likelihoods of hmmlearn 0.3.3 from the same start.

    The recipe: ``regimes()``; ``GaussianHMM(3, "full", init_params="", n_iter=8, tol=-inf, min_covar=0, covars_prior=0,
    covars_weight=0)``, ``PoissonHMM`` and ``CategoricalHMM`` likewise, with the parameters of the chains here,
    then ``fit(rows, LENGTHS).monitor_.history``.
    """
    np.testing.assert_allclose(run(CHAINS[name], passes=len(path)).history.log_likelihood, path, rtol=1e-11)


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
    found = weighted.model.gather(weighted.block(), shares)
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


def test_a_long_chain_is_shared_without_changing_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markov_emissions, "CHUNK", 256)
    monkeypatch.setattr(markov_expectations, "SPLIT", 1000)
    rows, _ = regimes([3000], seed=5)
    long = gaussian(rows, [3000])
    found = [bits(run(long, engine=Threads(count), passes=3)) for count in (1, 2, 5)]
    assert found[0] == found[1] == found[2]
    monkeypatch.undo()
    whole = run(long, passes=3)
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
def test_groups_of_columns_with_holes_are_scored_as_tiles_are(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markov_emissions, "KEPT", kept)
    one, posteriors = mixed_holes(), np.random.default_rng(0).random((len(ROWS), 3))
    rows = one.rows.copy()
    rows[7] = np.nan
    emissions, block = one.model.emissions, one.block()._replace(rows=rows)
    plan, chunks = one.model.family.plan(one.params.emissions), emissions.remember(block)
    scores, scored = emissions.score(plan, block, chunks)
    assert isinstance(scored, markov_emissions.Holes)
    slow = np.empty(scores.shape)
    tiles = markov_emissions.Tiles(emissions, plan, block, chunks[0].patterns, slow, keep=kept > 0)
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


def test_the_length_from_which_chains_are_cut_is_the_kernels() -> None:
    assert markov_expectations.SPLIT == chain_long.SPLIT


@pytest.mark.parametrize("family", ["gaussian", "categorical"])
def test_missing_steps_at_both_ends(family: str) -> None:
    one = chain_of(family, 3, [6, 5], 2)
    rows = one.rows.copy()
    rows[[0, 5, 6]] = np.nan
    found, _ = expect(replace(one, rows=rows))
    assert np.isfinite(found["log_likelihood"])
    np.testing.assert_allclose(found["moments"][:, 0].sum(), 8.0)
    np.testing.assert_allclose(found["starts"].sum(), 2.0)
