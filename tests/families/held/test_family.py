"""Held and tied parameters: constrained M steps against general optimisers, EM in every schedule, wrong masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from tests import laws
from tests.oracles.covariances import MODELS, obeying, packed, structure_of
from unveil.core.partition import partition_count
from unveil.core.protocols import Schedule
from unveil.expectations import Exact
from unveil.families import hold
from unveil.families.base import Family, Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.check import check_family
from unveil.families.compound import Compound, CompoundParams
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Tied
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.family import Held
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.priors import Beta, Dirichlet, Gamma, NormalInverseWishart
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import LBFGS, Batch, Gradient, Incremental, Squarem

Floats = NDArray[np.float64]
K, D = 3, 3
RANDOM = np.random.default_rng(0)
ROWS = 2.0 * RANDOM.normal(size=(150, D)) + np.repeat([[-2.0], [0.0], [3.0]], 50, axis=0)
COUNTS = RANDOM.poisson(np.repeat([[1.0], [4.0], [9.0]], 50, axis=0), (150, D)).astype(np.float64)
TIMES = RANDOM.exponential(2.0, (150, D))
BITS = (RANDOM.random((150, D)) < np.repeat([[0.2], [0.5], [0.8]], 50, axis=0)).astype(np.float64)
CODES = np.column_stack([RANDOM.integers(0, n, 150) for n in (2, 3, 4)]).astype(np.float64)
SHARES = RANDOM.dirichlet(np.ones(K), len(ROWS)).T.copy()
MEANS = np.array([[-2.0, -2.0, 0.0], [0.5, 0.0, 0.0], [3.0, 2.0, 1.0]])
ORIGINS = np.zeros((K, D))
FEW = np.array([[True, False, False], [False, False, True], [False, False, False]])
TIES = np.array([[-1, 0, 1], [0, 0, -1], [0, -1, 1]])
CHANCES = RANDOM.uniform(0.2, 0.8, (K, D))
WISHART = NormalInverseWishart(np.array([0.5, 0.0, -1.0]), 3.0, 4.0 * np.eye(D), 7.0)
FOUR = {"full": Full(), "tied": Tied(), "diagonal": Diagonal(), "spherical": Spherical()}


def normal(model: str) -> GaussianParams:
    matrices = obeying(model, np.random.default_rng(2), K, D)
    return GaussianParams(MEANS, packed(structure_of(model), matrices), ORIGINS)


def probabilities(*levels: int) -> Floats:
    return np.concatenate([np.random.default_rng(n).dirichlet(np.full(n, 3.0), K) for n in levels], axis=1)


def moments_of(family: Family, params: Any, rows: Floats, shares: Floats = SHARES) -> Floats:
    tile = Tile(np.ascontiguousarray(rows.T), np.empty((len(shares), len(rows))))
    plan = family.plan(params)
    family.score(plan, tile)
    tile.logits[...] = shares
    return family.gather(plan, tile)


def height(family: Family, moments: Floats, params: Any) -> float:
    return float(np.sum(family.natural(params) * moments)) + family.log_prior(params)


def optimum(objective: Callable[[Floats], float], start: Floats) -> float:
    """The highest that a general optimiser gets to."""
    found = minimize(lambda v: -objective(v), start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return -float(found.fun)


def tied_start(family: Held, params: Any) -> Any:
    return family.settled(params)


# -- Gaussian ----------------------------------------------------------------------------------------------------------

GAUSSIAN_MASKS: dict[str, dict[str, Any]] = {
    "means": {"means": FEW},
    "ties": {"tied_means": TIES},
    "both": {"means": np.where(TIES >= 0, False, FEW), "tied_means": np.where(FEW, -1, TIES)},
    "covariances": {"covariances": np.ones(K, dtype=bool)},
    "all": {"means": FEW, "tied_means": np.where(FEW, -1, TIES), "covariances": True},
}


ORACLES = [*((masks, None) for masks in GAUSSIAN_MASKS if masks != "ties"), ("ties", WISHART), ("all", WISHART)]


def explicit(
    structure: Any, entries: Any, params: GaussianParams, fixed: bool
) -> tuple[Callable[[Floats], Any], Floats]:
    """Parameters from plain free numbers: values of the means, and logarithms and triangles of covariances."""
    groups = entries.groups((K, D))
    values = int(groups.max()) + 1
    dense = structure.dense(params.covariances, K, D)
    rows, columns = np.tril_indices(D, -1)
    shared = isinstance(structure, Tied)
    count = 1 if shared else K
    widths = {"Full": D + len(rows), "Tied": D + len(rows), "Diagonal": D, "Spherical": 1}[type(structure).__name__]

    def made(vector: Floats) -> GaussianParams:
        means = np.where(groups >= 0, vector[:values][groups], params.means)
        if fixed:
            return GaussianParams(means, params.covariances, params.origins)
        free = vector[values:].reshape(count, widths)
        factors = np.zeros((count, D, D))
        np.einsum("kii->ki", factors)[...] = np.exp(free[:, :D]) if widths > 1 else np.exp(free)
        factors[:, rows, columns] = free[:, D:] if widths > D else 0.0
        matrices = factors @ np.swapaxes(factors, 1, 2)
        return GaussianParams(means, packed(structure, matrices), params.origins)

    start = np.zeros(values)
    np.add.at(start, groups[groups >= 0], params.means[groups >= 0])
    start /= np.bincount(groups[groups >= 0], minlength=values)
    sizes = np.log(np.einsum("kii->ki", dense)[:count]) / 2
    rest = np.zeros((count, widths))
    rest[:, : min(D, widths)] = sizes[:, : min(D, widths)]
    return made, start if fixed else np.concatenate([start, rest.ravel()])


@pytest.mark.parametrize("structure", FOUR)
@pytest.mark.parametrize(("masks", "prior"), ORACLES, ids=[f"{m}-{'wishart' if p else 'flat'}" for m, p in ORACLES])
def test_a_gaussian_m_step_is_the_constrained_optimum(structure: str, masks: str, prior: Any) -> None:
    model = {"full": "VVV", "tied": "EEE", "diagonal": "VVI", "spherical": "VII"}[structure]
    family = hold(Gaussian(FOUR[structure], 0.0, prior), **GAUSSIAN_MASKS[masks])
    params = tied_start(family, normal(model))
    moments = moments_of(family, params, ROWS)
    found = family.maximise(moments, params)
    fixed = bool(np.all(GAUSSIAN_MASKS[masks].get("covariances", False)))
    made, start = explicit(FOUR[structure], family.rule.entries, params, fixed)
    best = optimum(lambda v: height(family, moments, made(v)), start)
    assert height(family, moments, found) >= best - 1e-6 * abs(best)
    _obeyed(family, found, params)
    again = family.maximise(moments, found)
    laws.alike(again, found, rtol=1e-4)


def _obeyed(family: Held, found: Any, start: Any) -> None:
    entries = family.rule.entries
    held = np.zeros((K, D), dtype=bool) if entries.held is None else entries.held
    np.testing.assert_array_equal(found.means[held], start.means[held])
    tied = np.full((K, D), -1) if entries.tied is None else entries.tied
    for column in range(D):
        for label in set(tied[:, column]) - {-1}:
            assert len(set(found.means[tied[:, column] == label, column])) == 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [None, WISHART], ids=["flat", "wishart"])
def test_an_m_step_never_lowers_the_height_and_ends_flat(model: str, prior: Any) -> None:
    masks = GAUSSIAN_MASKS["both"]
    family = hold(Gaussian(structure_of(model), 0.0, prior), **masks)
    params = tied_start(family, normal(model))
    moments = moments_of(family, params, ROWS)
    found = family.maximise(moments, params)
    assert height(family, moments, found) > height(family, moments, params)
    if prior is None:  # structures that share something take each component's prior as pooled rows
        chart = family.coordinates(found)
        gradient = chart.gradient(moments, chart.origin) / np.sqrt(chart.information(moments[:, 0]))
        assert np.max(np.abs(gradient)) < 1e-3


def test_some_covariances_stay_and_the_others_move() -> None:
    family = hold(Gaussian(Full(), 0.0), means=FEW, covariances=np.array([True, False, False]))
    params = normal("VVV")
    moments = moments_of(family, params, ROWS)
    found = family.maximise(moments, params)
    np.testing.assert_array_equal(found.covariances[0], params.covariances[0])
    for k in range(1, K):
        away = ROWS - found.means[k]
        want = (SHARES[k] * away.T) @ away / SHARES[k].sum()
        np.testing.assert_allclose(found.covariances[k], want, rtol=1e-10)
    precision = np.linalg.inv(params.covariances[0])  # regression of the free entries on the held one
    mean = SHARES[0] @ ROWS / SHARES[0].sum()
    shift = -np.linalg.solve(precision[1:, 1:], precision[1:, 0] * (MEANS[0, 0] - mean[0]))
    np.testing.assert_allclose(found.means[0, 1:], mean[1:] + shift, rtol=1e-10)


def test_a_held_entry_of_a_full_covariance_is_regressed_on() -> None:
    """Closed form: with its covariance free, the other entries move by the slope of the rows' own scatter."""
    family = hold(Gaussian(Full(), 0.0), means=np.array([[True, False, False]]))
    far = GaussianParams(np.array([[40.0, 0.0, 0.0]]), np.eye(D)[None], np.zeros((1, D)))
    moments = moments_of(family, far, ROWS, np.ones((1, len(ROWS))))
    found = family.maximise(moments, far).means[0]
    scatter, mean = np.cov(ROWS.T, bias=True), ROWS.mean(axis=0)
    np.testing.assert_allclose(found[1:], mean[1:] + scatter[1:, 0] / scatter[0, 0] * (40.0 - mean[0]), rtol=1e-9)


def test_with_nothing_held_the_m_step_is_the_familys_own() -> None:
    for masks in ({}, {"means": np.zeros((K, D), dtype=bool)}, {"tied_means": np.full((K, D), -1)}):
        family = hold(Gaussian(Full(), 1e-6), **masks)
        params = normal("VVV")
        moments = moments_of(family, params, ROWS)
        laws.alike(family.maximise(moments, params), family.family.maximise(moments, params), rtol=1e-13)
        assert family.n_parameters(K, D) == family.family.n_parameters(K, D)


def test_components_without_rows() -> None:
    family = hold(Gaussian(Full(), 0.0, WISHART), tied_means=TIES)
    params = tied_start(family, normal("VVV"))
    shares = SHARES.copy()
    shares[1] = 0.0
    moments = moments_of(family, params, ROWS, shares)
    found = family.maximise(moments, params)
    np.testing.assert_array_equal(found.covariances[1], params.covariances[1])
    assert found.means[1, 2] == params.means[1, 2]
    assert found.means[1, 1] == found.means[0, 1]
    assert height(family, moments, found) > height(family, moments, params)
    np.testing.assert_array_equal(family.maximise(np.zeros_like(moments), params).means, params.means)


def test_frames_make_no_difference() -> None:
    family = hold(Gaussian(Full(), 0.0), **GAUSSIAN_MASKS["both"])
    params = tied_start(family, normal("VVV"))
    other = replace(params, origins=params.means + 0.3)
    one = family.maximise(moments_of(family, params, ROWS), params)
    two = family.maximise(moments_of(family, other, ROWS), other)
    np.testing.assert_allclose(two.means, one.means, rtol=1e-8)
    np.testing.assert_allclose(two.covariances, one.covariances, rtol=1e-8)
    np.testing.assert_array_equal(two.origins, other.origins)


# -- Student -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", FOUR)
@pytest.mark.parametrize("masks", ["means", "ties"])
def test_a_student_m_step_is_the_constrained_optimum(structure: str, masks: str) -> None:
    model = {"full": "VVV", "tied": "EEE", "diagonal": "VVI", "spherical": "VII"}[structure]
    family = hold(Student(FOUR[structure], 0.0), dofs=np.array([True, False, True]), **GAUSSIAN_MASKS[masks])
    given = normal(model)
    start = StudentParams(given.means, given.covariances, np.array([3.0, 8.0, 20.0]), ORIGINS)
    params = tied_start(family, start)
    moments = moments_of(family, params, ROWS)
    found = family.maximise(moments, params)
    np.testing.assert_array_equal(found.dofs[[0, 2]], [3.0, 20.0])
    assert found.dofs[1] == family.family.maximise(moments, params).dofs[1]
    made, begin = explicit(FOUR[structure], family.rule.entries, given, False)
    with_dofs = lambda v: _student(made(v), found.dofs)  # noqa: E731
    best = optimum(lambda v: height(family, moments, with_dofs(v)), begin)
    assert height(family, moments, found) >= best - 1e-6 * abs(best)
    _obeyed(family, found, params)


def _student(params: GaussianParams, dofs: Floats) -> StudentParams:
    return StudentParams(params.means, params.covariances, dofs, params.origins)


def test_scales_and_dofs_stay() -> None:
    start = _student(normal("VVV"), np.array([3.0, 8.0, 20.0]))
    family = hold(Student(Full(), 0.0), scales=np.array([False, True, False]), dofs=True)
    found = family.maximise(moments_of(family, start, ROWS), start)
    np.testing.assert_array_equal(found.scales[1], start.scales[1])
    np.testing.assert_array_equal(found.dofs, start.dofs)
    assert np.any(found.scales[0] != start.scales[0])
    assert family.n_parameters(K, D) == K * D + 2 * D * (D + 1) // 2
    assert hold(Student(Full(), shared_dof=True), dofs=True).n_parameters(K, D) == K * D + K * D * (D + 1) // 2
    with pytest.raises(ValueError, match="dofs must be all True or all False"):
        hold(Student(Full(), shared_dof=True), dofs=np.array([True, False, False])).n_parameters(K, D)


# -- rates and probabilities -------------------------------------------------------------------------------------------

RATIOS: dict[str, tuple[Family, str, Any, Floats]] = {
    "poisson": (Poisson(), "rates", PoissonParams(8.0 * CHANCES), COUNTS),
    "poisson-prior": (Poisson(Gamma(2.0, 0.5)), "rates", PoissonParams(8.0 * CHANCES), COUNTS),
    "exponential": (Exponential(), "rates", ExponentialParams(CHANCES), TIMES),
    "exponential-prior": (Exponential(Gamma(2.0, 0.5)), "rates", ExponentialParams(CHANCES), TIMES),
    "bernoulli": (Bernoulli(), "probabilities", BernoulliParams(CHANCES), BITS),
    "bernoulli-prior": (Bernoulli(Beta(2.0, 3.0)), "probabilities", BernoulliParams(CHANCES), BITS),
}


@pytest.mark.parametrize("name", RATIOS)
def test_ratios_are_pooled_within_ties_and_stay_where_held(name: str) -> None:
    inner, field, params, rows = RATIOS[name]
    held = FEW & (TIES < 0)
    family = hold(inner, **{field: held, f"tied_{field}": TIES})
    params = family.settled(params)
    moments = moments_of(family, params, rows)
    found = family.maximise(moments, params)
    groups = family.rule.entries.groups((K, D))
    values, start = getattr(found, field), getattr(params, field)

    def made(v: Floats) -> Any:
        free = 1.0 / (1.0 + np.exp(-v)) if field == "probabilities" else np.exp(v)
        return replace(params, **{field: np.where(groups >= 0, free[groups], start)})

    best = optimum(lambda v: height(family, moments, made(v)), np.zeros(int(groups.max()) + 1))
    np.testing.assert_allclose(height(family, moments, found), best, rtol=1e-8)
    np.testing.assert_array_equal(values[held], start[held])
    assert values[0, 1] == values[1, 1]
    assert values[0, 2] == values[2, 2] != values[1, 2]
    assert family.n_parameters(K, D) == int(groups.max()) + 1 == K * D - 2 - 3


def test_pooled_counts_over_pooled_weight() -> None:
    family = hold(Poisson(), tied_rates=np.array([[0], [0], [-1]]))
    moments = np.array([[10.0, 25.0], [4.0, 2.0], [0.0, 0.0]])
    found = family.maximise(moments, PoissonParams(np.array([[3.0], [3.0], [7.0]])))
    np.testing.assert_allclose(found.rates.ravel(), [27.0 / 14.0, 27.0 / 14.0, 7.0])
    assert family.floored(found) == 0
    none = family.maximise(np.array([[10.0, 0.0], [4.0, 0.0], [2.0, 8.0]]), found)
    assert 0 < none.rates[0, 0] < 1e-9
    assert family.floored(none) == 2


# -- levels ------------------------------------------------------------------------------------------------------------

LEVELS = (2, 3, 4)
TOTAL = sum(LEVELS)
HELD_LEVELS = np.zeros((K, TOTAL), dtype=bool)
HELD_LEVELS[0, [0, 1]] = True  # a whole column
HELD_LEVELS[1, 3] = True
HELD_LEVELS[2, [5, 6]] = True
TIED_LEVELS = np.full((K, TOTAL), -1)
TIED_LEVELS[[0, 1, 2], [2, 4, 2]] = 0  # levels of different numbers, bound to a row with a held one
TIED_LEVELS[0, 5:7] = 1
TIED_LEVELS[1, 8] = 1
LEVEL_MASKS: dict[str, dict[str, Any]] = {
    "held": {"probabilities": HELD_LEVELS},
    "tied": {"tied_probabilities": TIED_LEVELS},
    "both": {"probabilities": HELD_LEVELS, "tied_probabilities": TIED_LEVELS},
    "whole": {"tied_probabilities": np.where(np.arange(K)[:, None] < 2, np.arange(TOTAL), -1)},
    "fair": {"tied_probabilities": np.where(np.arange(K)[:, None] == 1, np.zeros(TOTAL, dtype=int), -1)},
}


@pytest.mark.parametrize("masks", LEVEL_MASKS)
@pytest.mark.parametrize("prior", [None, Dirichlet(1.5)], ids=["flat", "dirichlet"])
def test_probabilities_are_the_constrained_optimum(masks: str, prior: Any) -> None:
    family = hold(Categorical(LEVELS, prior), **LEVEL_MASKS[masks])
    start = family.settled(CategoricalParams(probabilities(*LEVELS)))
    moments = moments_of(family, start, CODES)
    found = family.maximise(moments, start).probabilities
    edges = np.cumsum((0, *LEVELS))
    sums = np.add.reduceat(found, edges[:-1], axis=1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-10)
    entries = family.rule.entries
    held = np.zeros((K, TOTAL), dtype=bool) if entries.held is None else entries.held
    np.testing.assert_array_equal(found[held], start.probabilities[held])
    counts = moments[:, 1:] + (0.0 if prior is None else 0.5)
    groups = family.rule.entries.groups((K, TOTAL), Categorical(LEVELS).owners(3))
    values, pulls, sums_to_one = _problem(groups, counts, found, edges)
    lagrange = np.linalg.lstsq(sums_to_one.T, pulls / values, rcond=None)[0]
    # concave, with linear constraints: a point is the best if the gradient is a combination of the constraints'
    np.testing.assert_allclose(sums_to_one.T @ lagrange, pulls / values, rtol=1e-7)
    stay = np.eye(len(values)) - np.linalg.pinv(sums_to_one) @ sums_to_one
    for move in 1e-3 * np.random.default_rng(0).normal(size=(20, len(values))) @ stay:
        assert pulls @ np.log(values + move) <= pulls @ np.log(values)


def _problem(
    groups: NDArray[np.intp], counts: Floats, found: Floats, edges: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    """Values of the groups, what pulls at them, and how often they occur in each row of probabilities."""
    size = int(groups.max()) + 1
    values, pulls = np.empty(size), np.zeros(size)
    values[groups[groups >= 0]] = found[groups >= 0]
    np.add.at(pulls, groups[groups >= 0], counts[groups >= 0])
    occurs = []
    for line in groups:
        for first, last in pairwise(edges):
            free = line[first:last][line[first:last] >= 0]
            occurs.append(np.bincount(free, minlength=size).astype(np.float64))
    return values, pulls, np.array(occurs)


def test_free_probabilities_are_counted() -> None:
    for masks, want in (("held", 18 - 1 - 1 - 2), ("whole", 12), ("fair", 12), ("both", None)):
        family = hold(Categorical(LEVELS), **LEVEL_MASKS[masks])
        found = family.n_parameters(K, 3)
        assert want is None or found == want
    assert hold(Categorical(LEVELS)).n_parameters(K, 3) == Categorical(LEVELS).n_parameters(K, 3)


def test_levels_of_components_without_rows_stay() -> None:
    family = hold(Categorical(LEVELS), **LEVEL_MASKS["tied"])
    start = family.settled(CategoricalParams(probabilities(*LEVELS)))
    shares = SHARES.copy()
    shares[2] = 0.0
    found = family.maximise(moments_of(family, start, CODES, shares), start)
    np.testing.assert_array_equal(
        found.probabilities[2, [0, 1, 5, 6, 7, 8]], start.probabilities[2, [0, 1, 5, 6, 7, 8]]
    )
    assert found.probabilities[2, 2] == found.probabilities[0, 2] == found.probabilities[1, 4]
    np.testing.assert_allclose(found.probabilities[2, 2:5].sum(), 1.0)


def test_ties_that_cannot_be_kept_are_named() -> None:
    start = CategoricalParams(np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]))
    moments = np.array([[10.0, 5.0, 3.0, 2.0], [10.0, 2.0, 5.0, 3.0]])
    impossible = hold(
        Categorical((3,)),
        probabilities=np.array([[True, False, False], [True, False, False]]),
        tied_probabilities=np.array([[-1, 0, 1], [-1, 0, 1]]),
    )
    with pytest.raises(ValueError, match="tied_probabilities cannot be kept"):
        impossible.maximise(moments, start)
    full = hold(Categorical((3,)), probabilities=np.array([[True, True, False], [False, False, False]]))
    with pytest.raises(ValueError, match="probabilities that stay must leave something"):
        full.maximise(moments, CategoricalParams(np.array([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3]])))


# -- products and compounds --------------------------------------------------------------------------------------------


def mixed() -> tuple[Held, ProductParams, Floats]:
    inner = Product(((Gaussian(Full(), 0.0), (0, 2)), (Poisson(), (1,)), (Bernoulli(), (3,))))
    masks = [{"means": FEW[:, :2]}, None, {"tied_probabilities": np.array([[0], [0], [-1]])}]
    matrices = obeying("VVV", np.random.default_rng(4), K, 2)
    params = ProductParams(
        (
            GaussianParams(MEANS[:, :2], matrices, ORIGINS[:, :2]),
            PoissonParams(8.0 * CHANCES[:, :1]),
            BernoulliParams(np.array([[0.3], [0.3], [0.7]])),
        )
    )
    return hold(inner, parts=masks), params, np.column_stack([ROWS[:, 0], COUNTS[:, 0], ROWS[:, 1], BITS[:, 0]])


def test_groups_of_columns_have_rules_of_their_own() -> None:
    family, params, rows = mixed()
    moments = moments_of(family, params, rows)
    found = family.maximise(moments, params)
    plain = family.family.maximise(moments, params)
    assert found.parts[0].means[0, 0] == MEANS[0, 0]
    np.testing.assert_array_equal(found.parts[1].rates, plain.parts[1].rates)
    assert found.parts[2].probabilities[0] == found.parts[2].probabilities[1]
    assert family.n_parameters(K, 4) == family.family.n_parameters(K, 4) - 1 - 1
    with pytest.raises(ValueError, match="parts must be 3, one for each group of columns; got 1"):
        hold(family.family, parts=[None])


def compound() -> tuple[Held, CompoundParams, Floats]:
    weights = np.array([[0.5, 0.3, 0.2], [0.2, 0.4, 0.4], [0.6, 0.2, 0.2]])
    rates = PoissonParams(np.linspace(1.0, 9.0, 9)[:, None] * np.ones(D))
    fixed = np.zeros((K, 3), dtype=bool)
    fixed[0, 0] = True
    tied = np.array([[-1, -1, -1], [-1, -1, -1], [-1, 0, 0]])
    held = np.zeros((9, D), dtype=bool)
    held[4] = True
    family = hold(Compound(Poisson(), 3), weights=fixed, tied_weights=tied, parts={"rates": held})
    return family, CompoundParams(weights, rates), COUNTS


def test_shares_and_parts_of_compounds() -> None:
    family, params, rows = compound()
    moments = moments_of(family, params, rows)
    found = family.maximise(moments, params)
    plain = family.family.maximise(moments, params)
    assert found.weights[0, 0] == 0.5
    np.testing.assert_allclose(found.weights[0, 1:], 0.5 * plain.weights[0, 1:] / plain.weights[0, 1:].sum())
    np.testing.assert_allclose(found.weights[1], plain.weights[1])
    np.testing.assert_allclose(found.weights[2], [plain.weights[2, 0], *[plain.weights[2, 1:].mean()] * 2])
    np.testing.assert_array_equal(found.parts.rates[4], params.parts.rates[4])
    assert family.n_parameters(K, D) == 9 * D - D + 1 + 2 + 1
    free = hold(family.family)
    laws.alike(free.maximise(moments, params), plain)
    assert free.n_parameters(K, D) == family.family.n_parameters(K, D)
    order = np.array([2, 0, 1])
    turned = family.chosen(order)
    there = turned.maximise(moments[order], turned.taken(params, order))
    laws.alike(there, family.taken(found, order), rtol=1e-12)


# -- EM ----------------------------------------------------------------------------------------------------------------


def cases() -> dict[str, tuple[Held, Any, Floats]]:
    gaussian = hold(Gaussian(Full(), 0.0), **GAUSSIAN_MASKS["both"])
    shared = hold(Gaussian(Tied(), 0.0), **GAUSSIAN_MASKS["both"])
    some = hold(Gaussian(Full(), 0.0, WISHART), means=FEW, covariances=np.array([True, False, False]))
    student = hold(Student(Diagonal(), 0.0), dofs=np.array([True, False, False]), **GAUSSIAN_MASKS["ties"])
    heavy = _student(normal("VVI"), np.array([3.0, 8.0, 20.0]))
    levels = hold(Categorical(LEVELS), **LEVEL_MASKS["whole"])
    return {
        "gaussian": (gaussian, gaussian.settled(normal("VVV")), ROWS),
        "shared": (shared, shared.settled(normal("EEE")), ROWS),
        "some": (some, normal("VVV"), ROWS),
        "student": (student, student.settled(heavy), ROWS),
        "poisson": (hold(Poisson(), rates=FEW), PoissonParams(8.0 * CHANCES), COUNTS),
        "categorical": (levels, levels.settled(CategoricalParams(probabilities(*LEVELS))), CODES),
        "product": mixed(),
    }


CASES = cases()
by_case = pytest.mark.parametrize("name", CASES)
SCHEDULES: dict[str, Schedule] = {
    "batch": Batch(),
    "incremental": Incremental(batch_rows=1),
    "squarem": Squarem(),
    "gradient": Gradient(),
    "lbfgs": LBFGS(),
}


def mixture_case(name: str, rows: Floats | None = None) -> laws.Case:
    family, params, own = CASES[name]
    start = MixtureParams(np.full(K, 1.0 / K), params)
    return laws.Case(Mixture(family, K, np.zeros(own.shape[1])), start, own if rows is None else rows, Exact())


@by_case
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_bound_never_falls_and_the_rule_is_kept(name: str, schedule: str) -> None:
    case = mixture_case(name)
    outcome = laws.run(case, passes=12, schedule=SCHEDULES[schedule])
    objective = outcome.history.column("objective")
    assert np.all(np.isfinite(objective))
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= laws.ROUNDING * np.max(np.abs(objective))
    family, start, _ = CASES[name]
    found = outcome.params.components
    obeying_it = family.rule.settled(family.family, found, start)
    for key, value in laws.numbers(obeying_it).items():
        np.testing.assert_allclose(value, laws.numbers(found)[key], rtol=1e-13, atol=1e-15, err_msg=key)


@pytest.mark.parametrize("name", ["shared", "poisson"])
def test_every_schedule_climbs_to_the_same_height(name: str) -> None:
    case = mixture_case(name)
    runs = [laws.run(case, passes=400, schedule=SCHEDULES[one]).history for one in ("squarem", "lbfgs")]
    np.testing.assert_allclose(*(run.column("objective")[-1] for run in runs), rtol=1e-7)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "__name__", None) or law.func.__name__)
@pytest.mark.parametrize("name", ["gaussian", "product"])
def test_laws(law: Any, name: str) -> None:
    law(mixture_case(name))


def tall_rows(rows: Floats) -> Floats:
    """Enough rows for three partitions."""
    tall = np.random.default_rng(8).permutation(np.concatenate([rows] * 240))
    assert partition_count(len(tall), D) > 2
    return tall


@pytest.mark.parametrize("name", ["gaussian", "shared", "poisson"])
def test_incremental_over_many_partitions_never_lowers_the_bound(name: str) -> None:
    tall = tall_rows(CASES[name][2])
    history = laws.run(mixture_case(name, tall), passes=5, schedule=Incremental(batch_rows=1)).history
    assert history.column("objective")[-1] > history.column("objective")[0]
    assert history.largest_fall() <= laws.ROUNDING * np.max(np.abs(history.column("objective")))


@by_case
def test_weights_are_repetition(name: str) -> None:
    laws.weights_equal_repetition(mixture_case(name), np.random.default_rng(2).integers(0, 3, len(ROWS)))


@pytest.mark.parametrize("schedule", ["incremental", "squarem", "gradient"])
def test_threads_change_no_bit(schedule: str) -> None:
    laws.threads_change_no_bit(mixture_case("gaussian", tall_rows(ROWS)), SCHEDULES[schedule])


@pytest.mark.parametrize("name", ["gaussian", "shared", "poisson", "categorical", "product"])
def test_missing_cells(name: str) -> None:
    rows = CASES[name][2].copy()
    rows[np.random.default_rng(6).random(rows.shape) < 0.15] = np.nan
    rows[:3] = np.nan
    laws.the_bound_never_falls(mixture_case(name, rows))


def test_an_offset_and_single_precision_change_little() -> None:
    family, params, _ = CASES["gaussian"]
    start, rows = MixtureParams(np.full(K, 1.0 / K), params), np.round(ROWS * 2**20) / 2**20
    moved = laws.run(laws.Case(Mixture(family, K, np.full(D, 1e8)), start, rows + 1e8, Exact()))
    laws.alike(moved.params, laws.run(mixture_case("gaussian", rows + 1e8 - 1e8)).params, rtol=1e-9)
    single = laws.run(mixture_case("gaussian", ROWS.astype(np.float32))).history
    np.testing.assert_allclose(
        single.log_likelihood, laws.run(mixture_case("gaussian")).history.log_likelihood, rtol=1e-6
    )


def test_all_held_stays_where_it_is() -> None:
    family = hold(Gaussian(Full(), 0.0), means=np.ones((K, D), dtype=bool), covariances=True)
    case = laws.Case(Mixture(family, K, np.zeros(D)), MixtureParams(np.full(K, 1 / K), normal("VVV")), ROWS, Exact())
    for schedule in ("batch", "gradient"):
        outcome = laws.run(case, schedule=SCHEDULES[schedule])
        np.testing.assert_array_equal(outcome.params.components.means, MEANS)
        np.testing.assert_array_equal(outcome.params.components.covariances, normal("VVV").covariances)
        assert outcome.history.column("objective")[-1] > outcome.history.column("objective")[0]
    assert family.n_parameters(K, D) == 0


# -- coordinates -------------------------------------------------------------------------------------------------------


@by_case
def test_gradients_are_those_of_differences(name: str) -> None:
    family, params, rows = CASES[name]
    moments, chart = moments_of(family, params, rows), family.coordinates(params)
    laws.alike(dict_of(chart.params(chart.origin)), dict_of(params), rtol=1e-12)
    vector = 0.1 * np.random.default_rng(1).normal(size=len(chart.origin))
    moves = 1e-5 * np.eye(len(vector))
    heights = [[height(family, moments, chart.params(vector + s * move)) for s in (1, -1)] for move in moves]
    want = np.array([(up - down) / 2e-5 for up, down in heights])
    np.testing.assert_allclose(chart.gradient(moments, vector), want, atol=1e-6 * np.abs(want).max())
    information = chart.information(moments[:, 0])
    assert information.shape == chart.origin.shape
    assert np.all(information > 0)


def dict_of(params: Any) -> Any:
    return tuple(laws.numbers(params).values())


def test_partly_held_rows_of_probabilities_have_no_gradient() -> None:
    for masks in ("held", "tied", "both"):
        family = hold(Categorical(LEVELS), **LEVEL_MASKS[masks])
        with pytest.raises(TypeError, match="hold or tie whole rows"):
            family.coordinates(family.settled(CategoricalParams(probabilities(*LEVELS))))
    family, params, _ = compound()
    with pytest.raises(TypeError, match="weights of which only some"):
        family.coordinates(params)


# -- starts, order, checks ---------------------------------------------------------------------------------------------


def test_a_start_takes_what_is_held_from_the_parameters_given() -> None:
    tile = Tile(np.ascontiguousarray(ROWS.T), SHARES.copy())
    family = hold(Gaussian(Full(), 0.0), at=normal("VVV"), **GAUSSIAN_MASKS["both"])
    first = family.first(family.gather_first(tile))
    _obeyed(family, first, normal("VVV"))
    loose = hold(Gaussian(Full(), 0.0), **GAUSSIAN_MASKS["means"])
    moments = loose.gather_first(tile)
    np.testing.assert_array_equal(loose.first(moments).means[FEW], loose.family.first(moments).means[FEW])
    levels = hold(Categorical(LEVELS), at=CategoricalParams(probabilities(*LEVELS)), **LEVEL_MASKS["both"])
    started = levels.first(levels.gather_first(Tile(np.ascontiguousarray(CODES.T), SHARES.copy()))).probabilities
    np.testing.assert_array_equal(started[HELD_LEVELS], probabilities(*LEVELS)[HELD_LEVELS])


@by_case
def test_components_in_another_order(name: str) -> None:
    family, params, rows = CASES[name]
    order = np.array([2, 0, 1])
    moments = moments_of(family, params, rows)
    turned = family.chosen(order)
    there = turned.maximise(moments[order], turned.taken(params, order))
    want = family.taken(family.maximise(moments, params), order)
    laws.alike(dict_of(there), dict_of(want), rtol=1e-7)


def test_the_order_of_what_a_start_takes() -> None:
    family = hold(Poisson(), at=PoissonParams(CHANCES), rates=FEW).chosen(np.array([1, 0]))
    np.testing.assert_array_equal(family.at.rates, CHANCES[[1, 0]])
    assert hold(Gaussian(), covariances=True).chosen(np.array([1, 0])).rule.covariances == np.array(True)
    picked = hold(Gaussian(), covariances=np.array([True, False])).chosen(np.array([1, 0])).rule
    np.testing.assert_array_equal(picked.covariances, [False, True])


@pytest.mark.parametrize("name", ["poisson", "product"])
def test_the_public_check_of_families(name: str) -> None:
    family, params, rows = CASES[name]
    check_family(family, params, rows[:60])


WRONG: list[tuple[Family, dict[str, Any], str]] = [
    (Gaussian(), {"means": np.ones((2, D), dtype=bool)}, r"means must be of the shape of the parameters, \(3, 3\)"),
    (Gaussian(), {"means": np.ones((K, D))}, "means must be a table of booleans"),
    (Gaussian(), {"tied_means": np.ones((K, D))}, "tied_means must be a table of integers"),
    (Gaussian(), {"means": FEW, "tied_means": TIES + 1}, "tied_means must be -1 where means stay, got 0 at"),
    (Gaussian(), {"means": FEW, "tied_means": TIES[:2]}, "must have the same shape"),
    (Gaussian(), {"covariances": np.array([True, False])}, "covariances must be a boolean, or 3 of them"),
    (Gaussian(), {"covariances": 1}, "covariances must be a boolean"),
    (Gaussian(Tied()), {"covariances": np.array([True, False, True])}, "covariances must be all True or all False"),
    (
        Gaussian(),
        {"rates": FEW},
        "Gaussian takes means, tied_means, covariances, tied_covariances to .* got rates",
    ),
    (Poisson(), {"tied_rates": TIES[:, :2]}, r"tied_rates must be of the shape of the parameters, \(3, 3\); got"),
    (Categorical((3,)), {"probabilities": FEW[:, :2]}, "probabilities must be of the shape"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_masks_that_do_not_fit_are_named(number: int) -> None:
    family, masks, message = WRONG[number]
    with pytest.raises(ValueError, match=message):
        hold(family, **masks).n_parameters(K, D)


def test_what_cannot_be_held_says_so() -> None:
    from unveil.families.von_mises_fisher import VonMisesFisher

    with pytest.raises(TypeError, match="nothing of VonMisesFisher can be held; Gaussian, Student"):
        hold(VonMisesFisher())


# -- rows of which nothing is there ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "shared", "poisson", "categorical", "product"])
def test_rows_with_nothing_in_them_tell_nothing(name: str) -> None:
    """Score 0; and the moments that they add are those expected, so that an M step of them alone moves nothing."""
    family, params, rows = CASES[name]
    inner = family.family
    tile = Tile(np.full((rows.shape[1], 5), np.nan), np.empty((K, 5)), None, slice(0, 5), np.empty(0, dtype=np.intp))
    plan = inner.plan(params)
    inner.score(plan, tile)
    np.testing.assert_allclose(tile.logits, 0.0, atol=1e-15)
    tile.logits[...] = SHARES[:, :5]
    still = inner.maximise(inner.gather(plan, tile), params)
    laws.alike(dict_of(still), dict_of(params), rtol=1e-12)
