"""Coordinates of the families: the way back from the origin, gradients by differences, and units that suit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import laws
from tests.oracles.covariances import MODELS, obeying, packed, structure_of
from unveil.families.base import Family, Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.coordinates import Coordinates, uncharted
from unveil.families.covariance.structure import Full, Structure
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.priors import Beta, Dirichlet, Gamma, NormalInverseWishart
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams

Floats = NDArray[np.float64]
K, D = 3, 3
RANDOM = np.random.default_rng(11)
SHARES = RANDOM.dirichlet(np.ones(K), size=80).T * RANDOM.uniform(0.5, 2.0, 80)
NORMAL = RANDOM.normal(size=(80, D)) * np.array([1.0, 3.0, 0.5])
COUNTS = RANDOM.poisson(3.0, size=(80, D)).astype(np.float64)
CODES = RANDOM.integers(0, [2, 3, 4], size=(80, D)).astype(np.float64)
CHANCES = RANDOM.uniform(0.1, 0.9, (K, D))
WISHART = NormalInverseWishart(np.array([0.5, -1.0, 0.2]), 0.7, np.eye(D) * 0.3 + 0.1, D + 2.5)
ORIGINS = np.array([[0.0] * D, [1.0] * D, [0.0] * D])


def located(random: np.random.Generator, model: str) -> tuple[Structure, Floats, Floats]:
    structure = structure_of(model)
    return structure, 2.0 * random.normal(size=(K, D)), packed(structure, obeying(model, random, K, D))


def gaussian(model: str, prior: NormalInverseWishart | None = None) -> tuple[Family, Any, Floats]:
    structure, means, covariances = located(np.random.default_rng(5), model)
    return Gaussian(structure, 0.0, prior), GaussianParams(means, covariances, ORIGINS), NORMAL


def student(model: str, **given: Any) -> tuple[Family, Any, Floats]:
    structure, means, scales = located(np.random.default_rng(6), model)
    dofs = np.full(K, 4.0) if given else np.array([2.0, 5.0, 300.0])
    return Student(structure, 0.0, **given), StudentParams(means, scales, dofs, ORIGINS), NORMAL


def softened(levels: tuple[int, ...]) -> Floats:
    random = np.random.default_rng(7)
    return np.concatenate([random.dirichlet(np.ones(count), size=K) for count in levels], axis=1)


def product() -> tuple[Family, Any, Floats]:
    parts = (Gaussian(Full(), 0.0), (0, 2)), (Bernoulli(Beta(2.0, 3.0)), (1,)), (Poisson(), (3,))
    normal = GaussianParams(CHANCES[:, :2] * 3, np.repeat(np.eye(2)[None] + 0.3, K, axis=0), np.zeros((K, 2)))
    params = ProductParams((normal, BernoulliParams(CHANCES[:, :1]), PoissonParams(3 * CHANCES[:, 1:2])))
    rows = np.stack([NORMAL[:, 0], CODES[:, 0], NORMAL[:, 1], COUNTS[:, 0]], axis=1)
    return Product(parts), params, rows


OTHERS: dict[str, tuple[Family, Any, Floats]] = {
    "bernoulli": (Bernoulli(), BernoulliParams(CHANCES), (CODES > 0).astype(np.float64)),
    "bernoulli-prior": (Bernoulli(Beta(2.0, 3.0)), BernoulliParams(CHANCES), (CODES > 0).astype(np.float64)),
    "poisson": (Poisson(), PoissonParams(5 * CHANCES), COUNTS),
    "poisson-prior": (Poisson(Gamma(2.0, 0.5)), PoissonParams(5 * CHANCES), COUNTS),
    "exponential": (Exponential(), ExponentialParams(5 * CHANCES), np.abs(NORMAL)),
    "exponential-prior": (Exponential(Gamma(2.0, 0.5)), ExponentialParams(5 * CHANCES), np.abs(NORMAL)),
    "categorical": (Categorical((2, 3, 4)), CategoricalParams(softened((2, 3, 4))), CODES),
    "categorical-prior": (Categorical((2, 3, 4), Dirichlet(1.5)), CategoricalParams(softened((2, 3, 4))), CODES),
    "categorical-unseen": (Categorical((2, 2, 2)), CategoricalParams(softened((2, 2, 2))), CODES),
    "product": product(),
    "student-fixed": student("VVV", dof=4.0),
    "student-shared": student("VEV", shared_dof=True),
}
CASES = {
    **{f"gaussian-{model}": gaussian(model) for model in MODELS},
    **{f"prior-{model}": gaussian(model, WISHART) for model in MODELS},
    **{f"student-{model}": student(model) for model in MODELS},
    **OTHERS,
}
by_case = pytest.mark.parametrize("name", CASES)


def moments_of(name: str) -> Floats:
    """Sums of statistics of the rows, each in all components by its shares."""
    family, params, rows = CASES[name]
    tile = Tile(np.ascontiguousarray(rows.T), np.empty(SHARES.shape))
    plan = family.plan(params)
    family.score(plan, tile)
    tile.logits[...] = SHARES
    return family.gather(plan, tile)


def height(family: Family, moments: Floats, params: Any) -> float:
    return float(np.sum(family.natural(params) * moments)) + family.log_prior(params)


def differences(function: Any, vector: Floats, step: float = 1e-5) -> Floats:
    moves = step * np.eye(len(vector))
    return np.array([(function(vector + move) - function(vector - move)) / (2 * step) for move in moves])


@by_case
def test_the_origin_stands_for_the_parameters_it_was_made_of(name: str) -> None:
    family, params, _ = CASES[name]
    chart = family.coordinates(params)
    pairs = zip(*(getattr(one, "parts", (one,)) for one in (chart.params(chart.origin), params)), strict=True)
    for one, other in pairs:
        laws.alike(one, other, rtol=1e-12)


@by_case
@pytest.mark.parametrize("away", [0.0, 0.3], ids=["at-the-origin", "away"])
def test_gradients_are_those_of_differences(name: str, away: float) -> None:
    family, params, _ = CASES[name]
    chart, moments = family.coordinates(params), moments_of(name)
    vector = chart.origin + away * np.random.default_rng(1).normal(size=len(chart.origin))
    expected = differences(lambda v: height(family, moments, chart.params(v)), vector)
    np.testing.assert_allclose(chart.gradient(moments, vector), expected, atol=1e-6 * np.max(np.abs(expected)))


@pytest.mark.parametrize("name", [name for name in CASES if "prior" not in name and "student" not in name])
def test_after_an_m_step_the_gradient_is_zero(name: str) -> None:
    family, params, _ = CASES[name]
    moments = moments_of(name)
    best = family.maximise(moments, params)
    chart = family.coordinates(best)
    assert np.max(np.abs(chart.gradient(moments, chart.origin))) < 1e-5 * moments[:, 0].sum()


@pytest.mark.parametrize("model", MODELS)
def test_there_are_as_many_coordinates_as_free_parameters(model: str) -> None:
    family, params, _ = CASES[f"gaussian-{model}"]
    assert len(family.coordinates(params).origin) == family.n_parameters(K, D)


@pytest.mark.parametrize("name", ["gaussian-VVV", "gaussian-VVI", "gaussian-VII", "gaussian-EEE", "exponential"])
def test_information_is_the_curvature_at_the_best(name: str) -> None:
    family, params, _ = CASES[name]
    moments = moments_of(name)
    chart = family.coordinates(family.maximise(moments, params))
    curvature = differences(lambda v: chart.gradient(moments, v), chart.origin)
    expected = np.diag(chart.information(moments[:, 0]))
    np.testing.assert_allclose(-curvature, expected, atol=1e-5 * expected.max())


@pytest.mark.parametrize("name", CASES)
def test_information_is_positive_everywhere(name: str) -> None:
    family, params, _ = CASES[name]
    chart = family.coordinates(params)
    found = chart.information(np.array([5.0, 1.0, 0.1]))
    assert found.shape == chart.origin.shape
    assert np.all(found > 0)


@pytest.mark.parametrize("model", MODELS)
def test_units_and_offsets_of_the_columns_do_not_matter_to_whitened_means(model: str) -> None:
    family, params, _ = CASES[f"gaussian-{model}"]
    moments = moments_of(f"gaussian-{model}")
    far = replace(params, means=params.means + 1e6, origins=params.origins + 1e6)
    one, other = (family.coordinates(each) for each in (params, far))
    expected = one.gradient(moments, one.origin)
    np.testing.assert_allclose(other.gradient(moments, other.origin), expected, rtol=1e-6, atol=1e-6)


def test_a_component_without_rows_pulls_at_nothing() -> None:
    family, params, _ = CASES["gaussian-VVV"]
    moments = moments_of("gaussian-VVV")
    moments[1] = 0.0
    chart = family.coordinates(params)
    gradient = chart.gradient(moments, chart.origin)
    assert np.all(np.isfinite(gradient))
    np.testing.assert_array_equal(gradient[D : 2 * D], 0.0)


@pytest.mark.parametrize("name", ["bernoulli", "poisson", "categorical"])
def test_however_far_out_parameters_stay_inside(name: str) -> None:
    family, params, _ = CASES[name]
    chart, moments = family.coordinates(params), moments_of(name)
    vector = chart.origin - 1e4
    vector[::2] += 1e3
    assert np.all(np.isfinite(family.natural(chart.params(vector))))
    np.testing.assert_array_equal(chart.gradient(moments, vector), 0.0)  # nothing changes out there


class Homemade(Gaussian):
    """A family of one's own, without coordinates."""

    coordinates = Family.coordinates


class Shifted(Coordinates):
    """The least that a chart of one's own must say."""

    origin = np.zeros(2)

    def params(self, vector: Floats) -> Any:
        return vector

    def gradient(self, moments: Floats, vector: Floats) -> Floats:
        return -vector


def test_what_has_no_coordinates_says_so() -> None:
    _, params, _ = CASES["gaussian-VVV"]
    with pytest.raises(TypeError, match="Homemade has no unconstrained coordinates"):
        Homemade().coordinates(params)
    assert uncharted(Gaussian()) is None
    assert uncharted(Homemade()) == "Homemade"
    assert uncharted(Product(((Bernoulli(), (0,)), (Homemade(), (1,))))) == "Homemade"
    assert uncharted(Product(((Bernoulli(), (0,)), (Gaussian(), (1,))))) is None


def test_without_better_knowledge_every_coordinate_counts_all_rows() -> None:
    np.testing.assert_array_equal(Shifted().information(np.array([2.0, 3.0])), [5.0, 5.0])
