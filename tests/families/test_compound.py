"""Components that are mixtures: densities and moments against plain sums, EM in every schedule, missing cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, poisson

from tests import laws
from unveil.core.partition import partition_count
from unveil.core.protocols import Schedule
from unveil.expectations import Exact, Hard
from unveil.families import split
from unveil.families.base import Family, Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.check import check_family
from unveil.families.compound import Compound, CompoundParams
from unveil.families.covariance.structure import Diagonal, Full, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import LBFGS, Batch, Gradient, Incremental, Squarem

Floats = NDArray[np.float64]
K, M, D = 2, 3, 2
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.dirichlet(np.full(M, 4.0), K)
MEANS = 2.0 * RANDOM.normal(size=(K * M, D))
ROOTS = RANDOM.normal(size=(K * M, D, D))
MATRICES = ROOTS @ np.swapaxes(ROOTS, 1, 2) + np.eye(D)
ROWS = 2.5 * RANDOM.normal(size=(200, D))
COUNTS = RANDOM.poisson(3.0, (200, D)).astype(np.float64)
CODES = RANDOM.integers(0, 2, (200, D)).astype(np.float64)
RATES = RANDOM.uniform(1.0, 6.0, (K * M, D))
CHANCES = RANDOM.uniform(0.2, 0.8, (K * M, D))
LEVELS = np.concatenate([CHANCES[:, :1], 1 - CHANCES[:, :1], CHANCES[:, 1:], 1 - CHANCES[:, 1:]], axis=1)
ORIGINS = np.zeros((K * M, D))
NORMAL = GaussianParams(MEANS, MATRICES, ORIGINS)
PRODUCT = Product(((Gaussian(Full(), 0.0), (0,)), (Poisson(), (1,))))
PARTS = ProductParams((GaussianParams(MEANS[:, :1], MATRICES[:, :1, :1], ORIGINS[:, :1]), PoissonParams(RATES[:, :1])))
CASES: dict[str, tuple[Family, Any, Floats]] = {
    "full": (Gaussian(Full(), 0.0), NORMAL, ROWS),
    "tied": (Gaussian(Tied(), 0.0), GaussianParams(MEANS, MATRICES[0], ORIGINS), ROWS),
    "diagonal": (Gaussian(Diagonal(), 0.0), GaussianParams(MEANS, np.exp(0.2 * MEANS), ORIGINS), ROWS),
    "student": (Student(Full(), 0.0), StudentParams(MEANS, MATRICES, np.full(K * M, 6.0), ORIGINS), ROWS),
    "poisson": (Poisson(), PoissonParams(RATES), COUNTS),
    "bernoulli": (Bernoulli(), BernoulliParams(CHANCES), CODES),
    "categorical": (Categorical((2, 2)), CategoricalParams(LEVELS), CODES),
    "product": (PRODUCT, PARTS, np.column_stack([ROWS[:, 0], COUNTS[:, 0]])),
}
by_case = pytest.mark.parametrize("name", CASES)
SCHEDULES: dict[str, Schedule] = {
    "batch": Batch(),
    "incremental": Incremental(batch_rows=1),
    "squarem": Squarem(),
    "gradient": Gradient(),
    "lbfgs": LBFGS(),
}


class ByTiles(Exact):
    """The posterior, but not known to be: so it goes by tiles."""

    posterior = False


def scored(family: Family, params: Any, rows: Floats, observed: Any = None, k: int = K) -> tuple[Any, Tile]:
    plan = family.plan(params)
    tile = Tile(np.ascontiguousarray(rows.T), np.empty((k, len(rows))), None, slice(0, len(rows)), observed)
    family.score(plan, tile)
    return plan, tile


def compound(name: str, concentration: float = 1.0) -> tuple[Compound, CompoundParams, Floats]:
    family, parts, rows = CASES[name]
    return Compound(family, M, concentration), CompoundParams(WEIGHTS, parts), rows


def shares(n_rows: int) -> Floats:
    return np.random.default_rng(5).dirichlet(np.ones(K), n_rows).T.copy()


def mixture_case(name: str, rows: Floats | None = None) -> laws.Case:
    family, params, own = compound(name)
    start = MixtureParams(np.full(K, 1.0 / K), params)
    return laws.Case(Mixture(family, K, np.zeros(D)), start, own if rows is None else rows, Exact())


# -- E step ------------------------------------------------------------------------------------------------------------


def test_the_density_is_a_weighted_sum() -> None:
    family, params, rows = compound("full")
    parts = [multivariate_normal(m, c).pdf(rows) for m, c in zip(MEANS, MATRICES, strict=True)]
    want = np.log(np.einsum("km,kmr->kr", WEIGHTS, np.reshape(parts, (K, M, -1))))
    np.testing.assert_allclose(scored(family, params, rows)[1].logits, want, rtol=1e-11, atol=1e-11)
    counted, rates, counts = compound("poisson")
    probabilities = poisson(RATES[:, None, :]).pmf(counts).prod(axis=2).reshape(K, M, -1)
    want = np.log(np.einsum("km,kmr->kr", WEIGHTS, probabilities))
    found = scored(counted, rates, counts)[1].logits + counted.log_base(counts.T)
    np.testing.assert_allclose(found, want, rtol=1e-10)


@by_case
def test_scores_and_moments_are_those_of_the_parts(name: str) -> None:
    family, params, rows = compound(name)
    plan, tile = scored(family, params, rows)
    inner_plan, inner = scored(family.family, params.parts, rows, k=K * M)
    joint = inner.logits.reshape(K, M, -1) + np.log(WEIGHTS)[:, :, None]
    np.testing.assert_allclose(tile.logits, logsumexp(joint, axis=1), rtol=1e-12, atol=1e-12)
    q = shares(len(rows))
    tile.logits[...] = q
    inner.logits[...] = (np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) * q[:, None]).reshape(K * M, -1)
    found = family.gather(plan, tile)
    assert found.shape == (K, family.n_statistics(D))
    np.testing.assert_allclose(found[:, 0], q.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(family.blocks(found), family.family.gather(inner_plan, inner), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(family.blocks(found)[:, 0].reshape(K, M).sum(axis=1), found[:, 0], rtol=1e-12)


@by_case
def test_natural_parameters_times_moments_are_the_expected_complete_log_likelihood(name: str) -> None:
    """Energy and the entropies of component and part make up the free energy, which is the likelihood under Exact."""
    case = mixture_case(name)
    statistics = laws.expect(case, case.rows)
    family, params, rows = compound(name)
    _, inner = scored(family.family, params.parts, rows, k=K * M)
    joint = inner.logits + np.log(WEIGHTS).reshape(-1, 1) - np.log(K)
    q = np.exp(joint - logsumexp(joint, axis=0))
    entropy = -np.sum(q * np.log(q))
    energy = float(np.sum(family.natural(params) * statistics["moments"])) - len(rows) * np.log(K)
    base = family.log_base(rows.T)
    total = energy + entropy + (0.0 if base is None else base.sum())
    if name != "student":  # whose u is hidden too, and has an entropy of its own
        np.testing.assert_allclose(total, statistics["log_likelihood"], rtol=1e-11)
    np.testing.assert_allclose(
        logsumexp(joint, axis=0).sum() + (total - energy - entropy), statistics["log_likelihood"]
    )


@by_case
def test_the_public_check_of_families(name: str) -> None:
    family, params, rows = compound(name)
    check_family(family, params, rows[:60])


def test_the_public_check_with_a_prior() -> None:
    family, params, rows = compound("poisson", concentration=2.0)
    check_family(family, params, rows[:60])


@pytest.mark.parametrize("name", [name for name in CASES if name != "student"])
def test_missing_cells_leave_the_marginal_and_both_ways_agree(name: str) -> None:
    family, params, rows = compound(name)
    holed = rows.copy()
    holed[::3, 0] = np.nan
    holed[1::3, 1] = np.nan
    holed[:2] = np.nan
    case = mixture_case(name, holed)
    whole = laws.expect(case, holed)
    tiled = laws.Case(Mixture(family, K, np.zeros(D), compiled=False), case.start, holed, ByTiles())
    laws.same(laws.expect(tiled, holed), whole)
    marginal, kept = family.marginal(params, np.array([1]))
    seen = holed[::3][1:]
    _, tile = scored(family, params, seen, np.array([1]))
    np.testing.assert_allclose(tile.logits, scored(marginal, kept, seen[:, 1:])[1].logits, rtol=1e-10, atol=1e-12)
    nothing = scored(family, params, holed[:1], np.empty(0, dtype=np.intp))[1].logits
    np.testing.assert_allclose(nothing, 0.0, atol=1e-14)


def test_missing_cells_are_filled_by_all_parts() -> None:
    family, params, rows = compound("full")
    holed = rows.copy()
    holed[:, 0] = np.nan
    plan, tile = scored(family, params, holed, np.array([1]))
    q = shares(len(rows))
    tile.logits[...] = q
    found = family.complete(plan, tile)
    given, parts = family.conditional(params, np.array([1]), holed[7, 1:])
    np.testing.assert_allclose(found[0, 7], q[:, 7] @ given.means(parts)[:, 0], rtol=1e-10)
    np.testing.assert_array_equal(found[1], rows[:, 1])


def test_rows_that_no_part_can_have_made() -> None:
    family, params, _ = compound("poisson")
    params = CompoundParams(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]), params.parts)
    plan, tile = scored(family, params, COUNTS)
    assert np.all(np.isfinite(tile.logits))
    tile.logits[...] = shares(len(COUNTS))
    moments = family.gather(plan, tile)
    np.testing.assert_array_equal(family.blocks(moments)[[1, 2, 5]], 0.0)
    fresh = family.maximise(moments, params)
    np.testing.assert_array_equal(fresh.weights[[0, 0, 1], [1, 2, 2]], 0.0)
    np.testing.assert_array_equal(fresh.parts.rates[[1, 2, 5]], params.parts.rates[[1, 2, 5]])
    assert family.admissible(moments)
    assert np.isfinite(np.sum(family.natural(fresh) * moments))
    bad = moments.copy()
    bad[0, 1 + family.family.n_statistics(D) + 1] = 1.0  # counts without weight
    assert not family.admissible(bad)


# -- M step and EM -----------------------------------------------------------------------------------------------------


def test_one_component_of_parts_is_a_plain_mixture() -> None:
    """The same likelihood path, from the same start."""
    inner = Gaussian(Full(), 1e-6)
    start = GaussianParams(MEANS[:M], MATRICES[:M], ORIGINS[:M])
    plain = laws.Case(Mixture(inner, M, np.zeros(D)), MixtureParams(WEIGHTS[0], start), ROWS, Exact())
    nested_start = MixtureParams(np.ones(1), CompoundParams(WEIGHTS[:1], start))
    nested = laws.Case(Mixture(Compound(inner, M), 1, np.zeros(D)), nested_start, ROWS, Exact())
    one, other = (laws.run(case, passes=30) for case in (plain, nested))
    np.testing.assert_allclose(other.history.log_likelihood, one.history.log_likelihood, rtol=1e-10)
    laws.alike(other.params.components.parts, one.params.components)
    assert Compound(inner, M).n_parameters(1, D) == inner.n_parameters(M, D) + M - 1


@by_case
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_bound_never_falls(name: str, schedule: str) -> None:
    case = mixture_case(name)
    if name not in ("full", "poisson", "student") and schedule != "batch":
        case = laws.Case(case.model, case.start, case.rows[:120], case.expectation)
    outcome = laws.run(case, passes=12, schedule=SCHEDULES[schedule])
    objective = outcome.history.column("objective")
    assert np.all(np.isfinite(objective))
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= laws.ROUNDING * np.max(np.abs(objective))


def tall_rows(rows: Floats) -> Floats:
    """Enough rows for three partitions."""
    tall = np.random.default_rng(8).permutation(np.concatenate([rows] * 180))
    assert partition_count(len(tall), D) > 2
    return tall


@pytest.mark.parametrize("name", ["full", "poisson"])
def test_incremental_over_many_partitions_never_lowers_the_bound(name: str) -> None:
    tall = tall_rows(CASES[name][2])
    history = laws.run(mixture_case(name, tall), passes=5, schedule=Incremental(batch_rows=1)).history
    assert history.column("objective")[-1] > history.column("objective")[0]
    assert history.largest_fall() <= laws.ROUNDING * np.max(np.abs(history.column("objective")))


def test_hard_expectations_choose_components_not_parts() -> None:
    case = mixture_case("full")
    hard = laws.Case(case.model, case.start, case.rows, Hard())
    laws.the_bound_never_falls(hard)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "__name__", None) or law.func.__name__)
def test_laws(law: Any) -> None:
    law(mixture_case("full"))


@pytest.mark.parametrize("name", ["full", "student", "product"])
def test_weights_are_repetition(name: str) -> None:
    laws.weights_equal_repetition(mixture_case(name), np.random.default_rng(2).integers(0, 3, len(ROWS)))


@pytest.mark.parametrize("schedule", ["incremental", "squarem", "gradient"])
def test_threads_change_no_bit(schedule: str) -> None:
    laws.threads_change_no_bit(mixture_case("full", tall_rows(ROWS)), SCHEDULES[schedule])


def test_an_offset_and_single_precision_change_little() -> None:
    family, params, rows = compound("full")
    start = MixtureParams(np.full(K, 0.5), params)
    plain = laws.run(mixture_case("full"), passes=15)
    moved = laws.run(
        laws.Case(Mixture(family, K, np.full(D, 1e8)), start, np.round(rows * 2**20) / 2**20 + 1e8, Exact())
    )
    rounded = laws.run(mixture_case("full", (np.round(rows * 2**20) / 2**20 + 1e8) - 1e8))
    laws.alike(moved.params, rounded.params, rtol=1e-9)
    single = laws.run(mixture_case("full", rows.astype(np.float32)), passes=15)
    np.testing.assert_allclose(single.history.log_likelihood, plain.history.log_likelihood, rtol=1e-6)


def test_narrow_parts_far_from_the_origin_have_frames_of_their_own() -> None:
    family = Compound(Gaussian(Full(), 0.0), 2)
    rows = np.concatenate([np.random.default_rng(i).normal(at, 1e-3, (80, 1)) for i, at in enumerate((-9.0, 5.0, 9.0))])
    means = np.array([[-9.0], [0.0], [5.0], [9.0]])
    normal = GaussianParams(means, np.full((4, 1, 1), 1e-6), np.zeros((4, 1)))
    params = family.recentre(CompoundParams(np.full((2, 2), 0.5), normal))
    assert np.any(params.parts.origins != 0.0)
    assert not family.same_frames(params, CompoundParams(params.weights, normal))
    case = laws.Case(Mixture(family, 2, np.zeros(1)), MixtureParams(np.full(2, 0.5), params), rows, Exact())
    found = laws.run(case, passes=5).params.components.parts
    np.testing.assert_allclose(np.sqrt(found.covariances[[0, 2, 3], 0, 0]), 1e-3, rtol=0.2)
    plan, tile = scored(family, params, rows)
    tile.logits[...] = np.random.default_rng(0).dirichlet(np.ones(2), len(rows)).T
    moments = family.gather(plan, tile)
    target = family.located(params, np.ones(1))
    there = family.moved(moments, params, target, np.ones(1))
    again = family.maximise(there, target)
    np.testing.assert_allclose(again.parts.means, family.maximise(moments, params).parts.means + 1.0, rtol=1e-9)


def test_components_and_parts_without_rows_keep_what_they_had() -> None:
    family, params, rows = compound("full")
    plan, tile = scored(family, params, rows)
    tile.logits[...] = np.array([[1.0], [0.0]])
    fresh = family.maximise(family.gather(plan, tile), params)
    np.testing.assert_array_equal(fresh.weights[1], params.weights[1])
    np.testing.assert_array_equal(fresh.parts.means[M:], params.parts.means[M:])


def test_a_prior_on_shares_is_pseudo_counts() -> None:
    family, params, rows = compound("poisson", concentration=3.0)
    plan, tile = scored(family, params, rows)
    tile.logits[...] = shares(len(rows))
    moments = family.gather(plan, tile)
    counts = family.blocks(moments)[:, 0].reshape(K, M) + 2.0
    np.testing.assert_allclose(family.maximise(moments, params).weights, counts / counts.sum(axis=1, keepdims=True))
    flat = Compound(family.family, M)
    assert flat.log_prior(params) == 0.0
    np.testing.assert_allclose(
        family.log_prior(params) - family.log_prior(CompoundParams(np.full((K, M), 1 / M), params.parts)),
        2.0 * (np.log(WEIGHTS).sum() - K * M * np.log(1 / M)),
    )


# -- coordinates -------------------------------------------------------------------------------------------------------


@by_case
def test_gradients_are_those_of_differences(name: str) -> None:
    family, params, rows = compound(name, concentration=2.0)
    plan, tile = scored(family, params, rows)
    tile.logits[...] = shares(len(rows))
    moments, chart = family.gather(plan, tile), family.coordinates(params)
    np.testing.assert_allclose(chart.params(chart.origin).weights, WEIGHTS, rtol=1e-12)
    vector = chart.origin + 0.1 * np.random.default_rng(1).normal(size=len(chart.origin))

    def height(at: Floats) -> float:
        there = chart.params(at)
        return float(np.sum(family.natural(there) * moments)) + family.log_prior(there)

    moves = 1e-5 * np.eye(len(vector))
    want = np.array([(height(vector + move) - height(vector - move)) / 2e-5 for move in moves])
    np.testing.assert_allclose(chart.gradient(moments, vector), want, atol=1e-6 * np.abs(want).max())
    information = chart.information(np.array([3.0, 2.0]))
    assert information.shape == chart.origin.shape
    assert np.all(information > 0)


# -- starts ------------------------------------------------------------------------------------------------------------


def blobs() -> tuple[Floats, NDArray[np.intp]]:
    centres = np.array([[0.0, 0.0], [0.0, 6.0], [30.0, 0.0], [30.0, 6.0]])
    random = np.random.default_rng(3)
    return np.concatenate([random.normal(c, 0.5, (60, 2)) for c in centres]), np.repeat([0, 0, 1, 1], 60)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_splitting_finds_the_parts_of_each_component(seed: int) -> None:
    rows, which = blobs()
    family, q = Gaussian(Full(), 1e-6), np.eye(2)[:, which]
    tile = Tile(np.ascontiguousarray(rows.T), q.copy())
    single = family.first(family.gather_first(tile))
    found = split(family, single, 2, rows, q, seed)
    order = np.argsort(found.parts.means[:, 1] + found.parts.means[:, 0], kind="stable")
    np.testing.assert_allclose(found.parts.means[order], [[0, 0], [0, 6], [30, 0], [30, 6]], atol=0.5)
    np.testing.assert_allclose(found.weights, 0.5, atol=0.01)
    again = split(family, single, 2, rows, q, seed)
    np.testing.assert_array_equal(again.parts.means, found.parts.means)


def test_splitting_few_rows_or_none_is_harmless() -> None:
    family, params, _ = compound("full")
    single = family.family.taken(params.parts, np.arange(2))
    rows = np.array([[1.0, 2.0], [np.nan, 2.5], [1.0, 2.0]])
    found = split(family.family, single, M, rows, np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
    assert np.all(np.isfinite(scored(family, found, ROWS)[1].logits))
    np.testing.assert_array_equal(found.parts.means[M:], np.repeat(MEANS[1:2], M, axis=0))
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    assert np.all(found.weights > 0)


@by_case
def test_a_start_without_parameters_tells_parts_apart(name: str) -> None:
    family, _, rows = compound(name)
    tile = Tile(np.ascontiguousarray(rows.T), shares(len(rows)))
    moments = family.gather_first(tile)
    np.testing.assert_allclose(moments[:, 0], shares(len(rows)).sum(axis=1))
    first = family.first(moments)
    np.testing.assert_allclose(first.weights, 1.0 / M, atol=0.05)
    means = family.means(first)
    assert means.shape == (K, D)
    natural = family.family.natural(first.parts)
    assert len(np.unique(natural.round(9), axis=0)) == K * M
    empty = np.where(np.arange(K)[:, None] > 0, 0.0, moments)
    assert np.all(np.isfinite(scored(family, family.first(empty), rows)[1].logits))


# -- use ---------------------------------------------------------------------------------------------------------------


def test_draws_have_the_means_and_shares_of_the_parts() -> None:
    family, params, _ = compound("poisson")
    rows = family.draw(params, 1, 20000, np.random.RandomState(0))
    np.testing.assert_allclose(rows.mean(axis=0), family.means(params)[1], rtol=0.03)
    assert abs(np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]) < 0.03  # parts do not come in runs
    np.testing.assert_allclose(family.means(params)[1], WEIGHTS[1] @ RATES[M:])


def test_taken_components_bring_their_parts() -> None:
    family, params, rows = compound("full")
    turned = family.taken(params, np.array([1, 0]))
    np.testing.assert_array_equal(scored(family, turned, rows)[1].logits, scored(family, params, rows)[1].logits[::-1])
    masked = family.taken(params, np.array([False, True]))
    np.testing.assert_array_equal(masked.parts.means, MEANS[M:])


def test_conditional_is_joint_over_marginal() -> None:
    family, params, rows = compound("full")
    value = rows[3, 1:]
    given, conditional = family.conditional(params, np.array([1]), value)
    marginal, kept = family.marginal(params, np.array([1]))
    grid = np.linspace(-4, 4, 9)[:, None]
    joint = scored(family, params, np.column_stack([grid, np.full(9, value[0])]))[1].logits
    want = joint - scored(marginal, kept, np.full((9, 1), value[0]))[1].logits
    np.testing.assert_allclose(scored(given, conditional, grid)[1].logits, want, rtol=1e-10, atol=1e-10)


def test_small_things() -> None:
    family, params, rows = compound("full")
    assert family.n_parameters(K, D) == K * M * (D + 3) + K * (M - 1)
    assert family.health(params)["smallest_part"] == WEIGHTS.min()
    assert family.least_rows(D) == D
    assert family.framed
    assert family.takes_missing
    np.testing.assert_array_equal(family.framing(D), True)
    np.testing.assert_array_equal(family.embed(rows), rows)
    np.testing.assert_array_equal(family.embedding(rows)(rows), rows)
    np.testing.assert_allclose(family.typical(rows), rows.mean(axis=0))
    assert family.floored(params) == 0
    with pytest.raises(ValueError, match="n_parts must be a positive integer, got 0"):
        Compound(Poisson(), 0)
    with pytest.raises(ValueError, match="concentration of at least 1"):
        Compound(Poisson(), 2, 0.5)
