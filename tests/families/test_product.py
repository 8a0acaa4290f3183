"""Numbers, counts, yes/no and categories side by side: the laws, brute force, and every method group by group."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import bernoulli, multivariate_normal, poisson

from tests import laws
from unveil.core.protocols import Block
from unveil.expectations import Exact, Hard
from unveil.families.base import Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Stepwise

Floats = NDArray[np.float64]
NUMBERS, COUNTS, YES_NO, KINDS = (0, 4), (5, 1), (2,), (6, 3)
LEVELS = (3, 2)
FAMILY = Product(
    ((Gaussian(Full(), 0.0), NUMBERS), (Poisson(), COUNTS), (Bernoulli(), YES_NO), (Categorical(LEVELS), KINDS))
)
PARAMS = ProductParams(
    (
        GaussianParams(
            np.array([[0.0, 1.0], [2.0, -1.0]]),
            np.array([[[1.0, 0.4], [0.4, 0.8]], [[0.7, -0.2], [-0.2, 1.2]]]),
            np.zeros((2, 2)),
        ),
        PoissonParams(np.array([[1.0, 5.0], [3.0, 2.0]])),
        BernoulliParams(np.array([[0.3], [0.8]])),
        CategoricalParams(np.array([[0.5, 0.3, 0.2, 0.6, 0.4], [0.2, 0.2, 0.6, 0.1, 0.9]])),
    )
)
WEIGHTS = np.array([0.45, 0.55])


def numbers(params: Any) -> dict[str, Any]:
    """Arrays inside parameters, those of a tuple of groups too."""
    if isinstance(params, tuple):
        return {f"{i}.{name}": item for i, part in enumerate(params) for name, item in numbers(part).items()}
    if not hasattr(params, "__dict__"):
        return {"": params}
    return {f"{name}.{key}": item for name, value in vars(params).items() for key, item in numbers(value).items()}


@pytest.fixture(autouse=True)
def nested_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "numbers", numbers)


def mixed(n_rows: int = 200) -> Floats:
    random = np.random.RandomState(11)
    return random.permutation(np.concatenate([FAMILY.draw(PARAMS, c, n_rows // 2, random) for c in range(2)]))


def with_gaps(rows: Floats) -> Floats:
    rows = rows.copy()
    rows[np.random.default_rng(12).random(rows.shape) < 0.15] = np.nan
    rows[1] = np.nan
    rows[2, list(NUMBERS)] = np.nan
    return rows


def case(rows: Floats, expectation: Any = None, compiled: bool = True) -> laws.Case:
    shift = np.where(FAMILY.framing(7), 0.5, 0.0)
    gaussian = replace(PARAMS.parts[0], means=PARAMS.parts[0].means - 0.5)
    start = MixtureParams(np.array([0.6, 0.4]), ProductParams((gaussian, *PARAMS.parts[1:])))
    return laws.Case(Mixture(FAMILY, 2, shift, compiled), start, rows, expectation or Exact())


def cell_log_densities(component: int, row: Floats) -> float:
    """log p of what is there of a row, group by group, with scipy."""
    normal, counts, yes, kinds = PARAMS.parts
    there = ~np.isnan(row)
    total = 0.0
    seen = [i for i, column in enumerate(NUMBERS) if there[column]]
    if seen:
        marginal = multivariate_normal(normal.means[component, seen], normal.covariances[component][np.ix_(seen, seen)])
        total += marginal.logpdf(row[[NUMBERS[i] for i in seen]])
    total += sum(poisson(counts.rates[component, i]).logpmf(row[c]) for i, c in enumerate(COUNTS) if there[c])
    total += sum(bernoulli(yes.probabilities[component, i]).logpmf(row[c]) for i, c in enumerate(YES_NO) if there[c])
    pieces = np.split(kinds.probabilities[component], [LEVELS[0]])
    return float(total + sum(np.log(pieces[i][int(row[c])]) for i, c in enumerate(KINDS) if there[c]))


def brute_force(rows: Floats) -> Floats:
    return np.array([[np.log(WEIGHTS[k]) + cell_log_densities(k, row) for k in range(2)] for row in rows])


CASES = {"exact": case(mixed()), "hard": case(mixed(), Hard()), "missing": case(with_gaps(mixed()))}
TILES = case(with_gaps(mixed(100)), compiled=False)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(law: Any, name: str) -> None:
    law(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_weights_equal_repetition(name: str) -> None:
    times = np.random.default_rng(5).integers(0, 4, 80)
    laws.weights_equal_repetition(replace(CASES[name], rows=CASES[name].rows[:80]), times)


def test_threads_change_no_bit_of_stepwise() -> None:
    laws.threads_change_no_bit(CASES["missing"], Stepwise(batch_rows=64))


def test_holes_all_at_once_are_tiles_of_one_pattern_each() -> None:
    weights = np.random.default_rng(6).uniform(0.0, 2.0, len(TILES.rows))
    at_once = case(TILES.rows)
    laws.same(laws.expect(at_once, TILES.rows, weights), laws.expect(TILES, TILES.rows, weights))
    laws.same(laws.expect(at_once, TILES.rows), laws.expect(TILES, TILES.rows))


def test_the_bound_never_falls_by_tiles_either() -> None:
    laws.the_bound_never_falls(TILES)


@pytest.mark.parametrize("gaps", [False, True])
def test_likelihood_is_that_of_what_is_there(gaps: bool) -> None:
    rows = with_gaps(mixed(60)) if gaps else mixed(60)
    model = Mixture(FAMILY, 2, np.zeros(7))
    plan = model.prepare(MixtureParams(WEIGHTS, PARAMS))
    want = brute_force(rows)
    np.testing.assert_allclose(model.log_joint(plan, Block(0, 0, rows)), want, rtol=1e-10, atol=1e-10)
    statistics = laws.expect(laws.Case(model, MixtureParams(WEIGHTS, PARAMS), rows, Exact()), rows)
    assert float(statistics["log_likelihood"]) == pytest.approx(float(logsumexp(want, axis=1).sum()), rel=1e-12)


def test_moments_are_the_groups_own_side_by_side() -> None:
    rows, q = mixed(40), np.random.default_rng(0).dirichlet([1.0, 1.0], 40).T
    tile = Tile(np.ascontiguousarray(rows.T), q.copy())
    found = FAMILY.gather_first(tile)
    assert found.shape == (2, FAMILY.n_statistics(7)) == (2, (1 + 2 + 3) + (1 + 2) + (1 + 1) + (1 + 5))
    alone = Poisson().gather_first(Tile(np.ascontiguousarray(rows[:, list(COUNTS)].T), q.copy()))
    np.testing.assert_allclose(found[:, 6:9], alone, rtol=1e-14)
    np.testing.assert_allclose(found[:, [0, 6, 9, 11]], np.repeat(q.sum(axis=1)[:, None], 4, axis=1), rtol=1e-14)
    np.testing.assert_allclose(FAMILY.first(found).parts[1].rates, Poisson().first(alone).rates, rtol=1e-14)


def test_a_group_that_misses_everything_counts_with_its_expectation() -> None:
    rows = mixed(30)
    rows[:, list(NUMBERS)] = np.nan
    tile = Tile(np.ascontiguousarray(rows.T), np.empty((2, 30)), observed=np.array([1, 2, 3, 5, 6]))
    plan = FAMILY.plan(PARAMS)
    FAMILY.score(plan, tile)
    marginal, params = FAMILY.marginal(PARAMS, np.array([1, 2, 3, 5, 6]))
    small = Tile(np.ascontiguousarray(rows[:, [1, 2, 3, 5, 6]].T), np.empty((2, 30)))
    marginal.score(marginal.plan(params), small)
    np.testing.assert_allclose(tile.logits, small.logits, rtol=1e-12)
    tile.logits[...] = 0.5
    normal = PARAMS.parts[0]
    moments = FAMILY.gather(plan, tile)[:, :6] / 15.0
    np.testing.assert_allclose(moments[:, 1:3], normal.means, rtol=1e-12)
    second = normal.covariances + normal.means[:, :, None] * normal.means[:, None, :]
    np.testing.assert_allclose(moments[:, 3:], second[:, [0, 0, 1], [0, 1, 1]], rtol=1e-12)


def test_missing_cells_are_filled_by_their_groups() -> None:
    rows = with_gaps(mixed(60))
    model = Mixture(FAMILY, 2, np.zeros(7))
    filled = model.complete(model.prepare(MixtureParams(WEIGHTS, PARAMS)), Block(0, 0, rows), Exact())
    there = ~np.isnan(rows)
    np.testing.assert_array_equal(filled[there], rows[there])
    assert np.isfinite(filled).all()
    assert set(np.unique(filled[:, KINDS[0]])) <= {0.0, 1.0, 2.0}
    empty = WEIGHTS @ PARAMS.parts[0].means
    np.testing.assert_allclose(filled[1, list(NUMBERS)], empty, rtol=1e-12)


@pytest.mark.parametrize("columns", [[0, 4], [6, 5, 0], [3, 2, 1], [4, 6, 5, 3, 1, 2, 0]])
def test_marginals_score_what_is_left(columns: list[int]) -> None:
    rows, chosen = mixed(30), np.array(columns)
    family, params = FAMILY.marginal(PARAMS, chosen)
    holed = np.full_like(rows, np.nan)
    holed[:, chosen] = rows[:, chosen]
    model = Mixture(family, 2, np.zeros(len(columns)))
    found = model.log_joint(model.prepare(MixtureParams(WEIGHTS, params)), Block(0, 0, rows[:, chosen]))
    np.testing.assert_allclose(found, brute_force(holed), rtol=1e-10)


@pytest.mark.parametrize("columns", [[4], [5, 0], [2, 6, 4], [0, 4, 3]])
def test_conditional_times_marginal_is_the_joint(columns: list[int]) -> None:
    row, given = mixed(2)[0], np.array(columns)
    rest = np.setdiff1d(np.arange(7), given)
    family, params = FAMILY.conditional(PARAMS, given, row[given])
    tile = Tile(np.ascontiguousarray(row[rest][:, None]), np.empty((2, 1)))
    family.score(family.plan(params), tile)
    base = family.log_base(tile.x)
    holed = np.full(7, np.nan)
    holed[given] = row[given]
    want = brute_force(row[None])[0] - brute_force(holed[None])[0]
    np.testing.assert_allclose(tile.logits[:, 0] + (0.0 if base is None else base[0]), want, rtol=1e-9)


def test_only_columns_of_location_families_are_shifted() -> None:
    np.testing.assert_array_equal(np.flatnonzero(FAMILY.framing(7)), sorted(NUMBERS))
    assert FAMILY.framed
    assert FAMILY.takes_missing
    counts_only = Product(((Poisson(), (0,)),))
    assert not counts_only.framed
    assert pickle.loads(pickle.dumps(FAMILY)).framed


def test_columns_weigh_the_same_as_points_in_the_units_of_the_sample() -> None:
    rows = mixed(200)
    rows[:, 0] *= 1000.0
    points = FAMILY.embed(rows)
    assert points.shape == (200, 2 + 2 + 1 + 5)
    np.testing.assert_allclose(points[:, :5].var(axis=0), 1.0, rtol=1e-12)
    assert points[:, 5:].var(axis=0).sum() == pytest.approx(2.0)
    part = FAMILY.embedding(rows)(rows[:7])
    np.testing.assert_allclose(part, points[:7], rtol=1e-12)
    rows[:, 2] = 1.0
    assert np.isfinite(FAMILY.embed(rows)).all()


def test_typical_rows_are_typical_of_each_group() -> None:
    rows = with_gaps(mixed())
    found = FAMILY.typical(rows)
    assert found[0] == pytest.approx(np.nanmean(rows[:, 0]))
    assert found[6] == np.argmax(np.bincount(rows[~np.isnan(rows[:, 6]), 6].astype(int)))


def test_frames_floors_priors_and_health_are_the_groups_own() -> None:
    far = replace(PARAMS.parts[0], means=PARAMS.parts[0].means + 1e6)
    moved = FAMILY.recentre(ProductParams((far, *PARAMS.parts[1:])))
    np.testing.assert_array_equal(moved.parts[0].origins, far.means)
    assert not FAMILY.same_frames(moved, PARAMS)
    assert FAMILY.same_frames(PARAMS, PARAMS)
    zeros = FAMILY.first(FAMILY.gather_first(Tile(np.ascontiguousarray(zeroed(mixed(40)).T), np.ones((2, 40)))))
    assert FAMILY.floored(zeros) == 4
    assert FAMILY.health(PARAMS)["smallest_probability"] == pytest.approx(0.1)
    assert FAMILY.health(PARAMS)["smallest_rate"] == 1.0
    assert FAMILY.n_parameters(2, 7) == 2 * (2 + 3 + 2 + 1 + 2 + 1)


def zeroed(rows: Floats) -> Floats:
    rows[:, COUNTS[0]] = rows[:, YES_NO[0]] = 0.0
    return rows


def test_moments_of_no_real_rows_are_refused_by_the_group_they_belong_to() -> None:
    moments = FAMILY.gather_first(Tile(np.ascontiguousarray(mixed(40).T), np.ones((2, 40))))
    assert FAMILY.admissible(moments)
    moments[0, 7] = -1.0
    assert not FAMILY.admissible(moments)


def test_means_are_the_groups_own_and_codes_have_none() -> None:
    nan = np.nan
    want = [[0.0, 5.0, 0.3, nan, 1.0, 1.0, nan], [2.0, 2.0, 0.8, nan, -1.0, 3.0, nan]]
    np.testing.assert_array_equal(FAMILY.means(PARAMS), want)


def test_a_shift_moves_parameters_and_moments_of_location_families_alone() -> None:
    rows, shift = mixed(30), np.where(FAMILY.framing(7), 3.0, 0.0)
    located = FAMILY.located(PARAMS, shift)
    scores, moments = [], []
    for table, params in ((rows, PARAMS), (rows + shift, located)):
        tile = Tile(np.ascontiguousarray(table.T), np.empty((2, 30)))
        FAMILY.score(FAMILY.plan(params), tile)
        scores.append(tile.logits.copy())
        tile.logits[...] = 0.5
        moments.append(FAMILY.gather(FAMILY.plan(params), tile))
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-10)
    np.testing.assert_allclose(FAMILY.moved(moments[0], PARAMS, located, shift), moments[1], rtol=1e-10)


@pytest.mark.parametrize("columns", [((0,), (0,)), ((0,), (2,)), ((0, 1), ()), ()])
def test_columns_must_be_named_once_each(columns: Any) -> None:
    with pytest.raises(ValueError, match=r"each of the columns 0, 1, \.\.\. once"):
        Product(tuple((Poisson(), chosen) for chosen in columns))
