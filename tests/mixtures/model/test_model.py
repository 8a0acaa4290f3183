"""The mixture: the laws, the oracle step by step, components far from the origin, and the limit that is K-means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests import laws
from tests.oracles import mixtures as oracle
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.loop import stream
from unveil.core.protocols import Block
from unveil.expectations import Exact, Hard
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Stepwise

Floats = NDArray[np.float64]
STRUCTURES: dict[str, Structure] = {"full": Full(), "tied": Tied(), "diag": Diagonal(), "spherical": Spherical()}
MEANS = np.array([[-1.5, 0.0], [1.5, 1.0], [0.0, 3.0]])


def covariances_of(structure: str, matrices: Floats) -> Floats:
    """Full matrices in the shape of a structure that they obey."""
    shapes = {
        "full": matrices,
        "tied": matrices[0],
        "diag": np.einsum("kii->ki", matrices),
        "spherical": matrices[:, 0, 0],
    }
    return shapes[structure]


def gaussian_rows(n_rows: int = 300) -> Floats:
    random = np.random.default_rng(7)
    return MEANS[random.integers(3, size=n_rows)] + random.normal(size=(n_rows, 2)) @ np.array([[1.0, 0.4], [0.0, 0.7]])


def gaussian_case(structure: str, expectation: Any = None, rows: Floats | None = None) -> laws.Case:
    rows = gaussian_rows() if rows is None else rows
    shift = rows.mean(axis=0)
    start = MixtureParams(
        np.array([0.5, 0.3, 0.2]),
        GaussianParams(
            MEANS - shift, covariances_of(structure, np.repeat(np.eye(2)[None], 3, axis=0)), np.zeros((3, 2))
        ),
    )
    return laws.Case(Mixture(Gaussian(STRUCTURES[structure], 0.0), 3, shift), start, rows, expectation or Exact())


def bernoulli_case(expectation: Any = None) -> laws.Case:
    random = np.random.default_rng(8)
    chances = np.array([[0.9, 0.8, 0.2, 0.1], [0.2, 0.3, 0.7, 0.6]])
    rows = (random.random((300, 4)) < chances[random.integers(2, size=300)]).astype(np.float64)
    start = MixtureParams(np.array([0.6, 0.4]), BernoulliParams(0.25 + 0.5 * chances))
    return laws.Case(Mixture(Bernoulli(), 2, np.zeros(4)), start, rows, expectation or Exact())


def cases() -> dict[str, laws.Case]:
    found = {f"{name}-exact": gaussian_case(name) for name in STRUCTURES} | {"bernoulli-exact": bernoulli_case()}
    hard = {"full-hard": gaussian_case("full", Hard()), "bernoulli-hard": bernoulli_case(Hard())}
    return found | hard


CASES = cases()
by_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@by_case
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(law: Any, case: laws.Case) -> None:
    law(case)


@by_case
@settings(max_examples=12, deadline=None)
@given(times=st.lists(st.integers(0, 3), min_size=60, max_size=60).filter(lambda times: sum(times) > 40))
def test_weights_equal_repetition(case: laws.Case, times: list[int]) -> None:
    laws.weights_equal_repetition(replace(case, rows=case.rows[:60]), np.array(times))


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 300), max_size=6), name=st.sampled_from(sorted(CASES)))
def test_parts_add_up_however_the_rows_are_cut(cuts: list[int], name: str) -> None:
    laws.parts_add_up_to_the_whole(CASES[name], cuts)


@pytest.mark.parametrize("name", ["full-exact", "bernoulli-exact"])
def test_threads_change_no_bit_of_stepwise(name: str) -> None:
    laws.threads_change_no_bit(CASES[name], Stepwise(batch_rows=64))


# -- the oracle --------------------------------------------------------------------------------------------------------


def shown(case: laws.Case, params: MixtureParams) -> oracle.Gaussians:
    """Parameters as the oracle has them, in the coordinates of the data."""
    model: Any = case.model
    components = params.components
    dense = model.family.structure.dense(components.covariances, *components.means.shape)
    return oracle.Gaussians(params.weights, components.means + model.shift, np.array(dense))


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("expectation", "choose"), [(Exact(), oracle.soft), (Hard(), oracle.hard)])
def test_gaussian_passes_are_the_oracles(structure: str, weighted: bool, expectation: Any, choose: Any) -> None:
    case = gaussian_case(structure, expectation)
    weights = np.random.default_rng(1).uniform(0, 2, len(case.rows)) if weighted else None
    outcome = laws.run(case, weights=weights, passes=8)
    last, path = oracle.climb(
        shown(case, case.start),
        case.rows,
        oracle.gaussian_joint,
        lambda q, x: oracle.gaussian_step(q, x, structure, 0.0),
        8,
        weights,
        choose,
    )
    np.testing.assert_allclose([record[:2] for record in outcome.history], path, rtol=1e-11)
    found = shown(case, outcome.params)
    np.testing.assert_allclose(found.weights, last.weights, rtol=1e-9)
    np.testing.assert_allclose(found.means, last.means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.covariances, last.covariances, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("expectation", "choose"), [(Exact(), oracle.soft), (Hard(), oracle.hard)])
def test_bernoulli_passes_are_the_oracles(expectation: Any, choose: Any) -> None:
    case = bernoulli_case(expectation)
    start = oracle.Bernoullis(case.start.weights, case.start.components.probabilities)
    outcome = laws.run(case, passes=8)
    last, path = oracle.climb(start, case.rows, oracle.bernoulli_joint, oracle.bernoulli_step, 8, None, choose)
    np.testing.assert_allclose([record[:2] for record in outcome.history], path, rtol=1e-11)
    np.testing.assert_allclose(outcome.params.weights, last.weights, rtol=1e-9)
    np.testing.assert_allclose(outcome.params.components.probabilities, last.probabilities, rtol=1e-8, atol=1e-11)


def test_float32_rows_are_read_as_they_are() -> None:
    case = gaussian_case("full")
    light = replace(case, rows=case.rows.astype(np.float32))  # type: ignore[arg-type]
    exact = replace(case, rows=light.rows.astype(np.float64))
    laws.alike(laws.run(light).params, laws.run(exact).params, rtol=1e-13)


def test_given_responsibilities_are_summed_up_with_the_weights() -> None:
    case = gaussian_case("full")
    model: Any = case.model
    random = np.random.default_rng(2)
    given_ = random.dirichlet(np.ones(3), size=len(case.rows)).T
    weights = random.uniform(0, 2, len(case.rows))
    moments = model.gather(Block(0, 0, case.rows, weights), given_)["moments"]
    np.testing.assert_allclose(moments[:, 0], given_ @ weights)
    np.testing.assert_allclose(moments[:, 1:3], (given_ * weights) @ (case.rows - model.shift), atol=1e-12)


def test_a_block_longer_than_a_tile_is_the_sum_of_its_tiles() -> None:
    rows = gaussian_rows(8192)
    case = gaussian_case("full", rows=rows)
    whole = laws.expect(case, rows)
    joint = oracle.gaussian_joint(shown(case, case.start), rows)
    assert float(whole["log_likelihood"]) == pytest.approx(np.logaddexp.reduce(joint, axis=1).sum(), rel=1e-12)
    np.testing.assert_allclose(whole["moments"][:, 0], oracle.soft(joint).sum(axis=0), rtol=1e-11)


# -- empty and degenerate components -----------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_component_without_rows_keeps_its_parameters_and_is_reported(structure: str) -> None:
    case = gaussian_case(structure)
    far = replace(case.start.components, means=case.start.components.means + np.array([[0.0], [0.0], [1e6]]))
    start = MixtureParams(case.start.weights, far)
    outcome = laws.run(replace(case, start=start))
    assert outcome.history.events["empty"] == 6
    assert outcome.params.weights[2] == 0.0
    np.testing.assert_array_equal(outcome.params.components.means[2], far.means[2])
    assert np.all(np.isfinite(outcome.history.free_energy))


@pytest.mark.parametrize("structure", ["full", "diag", "spherical"])
def test_a_degenerate_component_is_floored_and_reported(structure: str) -> None:
    case = gaussian_case(structure)
    rows = np.concatenate([case.rows, np.full((40, 2), 30.0)])
    start = replace(case.start, components=replace(case.start.components, means=np.vstack([MEANS[:2], [[30.0, 30.0]]])))
    outcome = laws.run(replace(case, rows=rows, start=start))
    assert outcome.history.events["floored"] > 0
    assert np.all(np.isfinite(outcome.history.free_energy))
    assert outcome.params.weights[2] == pytest.approx(40 / 340, rel=1e-6)


# -- narrow components far from the origin -----------------------------------------------------------------------------


def narrow_case(structure: str, ratio: float, expectation: Any = None) -> laws.Case:
    """Two components one apart, with standard deviations about 1 / ratio, far narrower than their distance."""
    random = np.random.default_rng(5)
    centres = np.array([[0.0, 0.0], [1.0, 0.5]])
    labels = np.repeat([0, 1], [120, 80])
    rows = centres[labels] + random.normal(size=(200, 2)) @ np.array([[1.0, 0.3], [0.0, 0.6]]) / ratio
    shift = rows.mean(axis=0)
    matrices = np.repeat(np.eye(2)[None] / ratio**2, 2, axis=0)
    start = GaussianParams(centres - shift, covariances_of(structure, matrices), np.zeros((2, 2)))
    model = Mixture(Gaussian(STRUCTURES[structure], 0.0), 2, shift)
    return laws.Case(model, MixtureParams(np.array([0.5, 0.5]), start), rows, expectation or Exact())


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("ratio", [1e4, 1e5, 1e6, 1e7])
def test_narrow_components_are_fitted_as_if_each_lay_at_the_origin(structure: str, ratio: float) -> None:
    case = narrow_case(structure, ratio)
    outcome = laws.run(case, passes=4)
    last, path = oracle.climb(
        shown(case, case.start),
        case.rows,
        oracle.gaussian_joint,
        lambda q, x: oracle.gaussian_step(q, x, structure, 0.0),
        4,
    )
    np.testing.assert_allclose(outcome.history.log_likelihood, [one for one, _ in path], rtol=1e-8)
    found = shown(case, outcome.params)
    np.testing.assert_allclose(found.covariances * ratio**2, last.covariances * ratio**2, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((found.means - last.means) * ratio, 0.0, atol=1e-7)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("ratio", [1e4, 1e7])
def test_log_densities_of_narrow_components_are_mpmaths(structure: str, ratio: float) -> None:
    case = narrow_case(structure, ratio)
    model: Any = case.model
    rows = case.rows[::10]
    joint = model.log_joint(model.prepare(model.recentre(case.start)), Block(0, 0, rows))
    # the parameters that the model holds are those in the frame, so the rows are put there without rounding
    framed = oracle.Gaussians(case.start.weights, case.start.components.means, shown(case, case.start).covariances)
    exact = oracle.exact_log_densities(framed, rows - model.shift)
    np.testing.assert_allclose(np.logaddexp.reduce(joint, axis=1), exact, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e7])
def test_stepwise_is_accurate_for_narrow_components_too(ratio: float) -> None:
    case = narrow_case("full", ratio)
    outcome = laws.run(case, passes=30, schedule=Stepwise())
    batch = laws.run(case, passes=4)
    assert outcome.history.log_likelihood[-1] == pytest.approx(batch.history.log_likelihood[-1], rel=1e-7)


@pytest.mark.parametrize("structure", ["full", "tied", "diag"])
@pytest.mark.parametrize("scales", [(1.0, 1e-4), (1e6, 1e-3), (1e8, 1e-6)])
def test_the_units_of_the_columns_change_nothing(structure: str, scales: tuple[float, float]) -> None:
    """Columns in other units move the log-likelihood by a constant, and every parameter along."""
    case, units = gaussian_case(structure), np.array(scales)
    model: Any = case.model
    first = case.start.components
    matrices = np.repeat((np.eye(2) * units**2)[None], 3, axis=0)
    scaled = laws.Case(
        replace(model, shift=model.shift * units),
        MixtureParams(
            case.start.weights, GaussianParams(first.means * units, covariances_of(structure, matrices), first.origins)
        ),
        case.rows * units,
        case.expectation,
    )
    plain, other = laws.run(case, passes=10), laws.run(scaled, passes=10)
    constant = len(case.rows) * np.log(units).sum()
    np.testing.assert_allclose(other.history.log_likelihood + constant, plain.history.log_likelihood, rtol=1e-9)
    np.testing.assert_allclose(other.params.components.means / units, plain.params.components.means, atol=1e-8)
    assert "floored" not in other.history.events


# -- the limit that is K-means -----------------------------------------------------------------------------------------


def test_the_limit_of_a_shrinking_shared_round_covariance_is_k_means() -> None:
    rows = gaussian_rows()
    shift = rows.mean(axis=0)
    centres = MEANS - shift
    nearest = np.argmin(((rows[:, None] - MEANS) ** 2).sum(axis=2), axis=1)
    model = Mixture(Gaussian(Spherical(), 0.0), 3, shift)
    gaps = []
    for variance in (1.0, 1e-2, 1e-4, 1e-8):
        params = MixtureParams(
            np.array([0.6, 0.3, 0.1]), GaussianParams(centres, np.full(3, variance), np.zeros((3, 2)))
        )
        params = model.recentre(params)
        joint = model.log_joint(model.prepare(params), Block(0, 0, rows))
        gaps.append(np.abs(oracle.soft(joint) - np.eye(3)[nearest]).max())
    assert gaps[0] > 0.1
    assert gaps[-1] < 1e-12
    # and the free energy, times twice the variance, becomes minus the cost; an M step moves the means as K-means does
    case = laws.Case(model, params, rows, Exact())
    statistics = laws.expect(case, rows)
    plain = KMeansModel(3, shift)
    assigned, _ = plain.expect(plain.prepare(plain.start(MEANS)), Block(0, 0, rows))
    assert 2 * variance * float(statistics["free_energy"]) == pytest.approx(-float(assigned["inertia"]), rel=1e-6)
    moved = model.maximise(statistics, params).components.means
    np.testing.assert_allclose(moved, plain.maximise(assigned, plain.start(MEANS)).centres, atol=1e-9)


def test_every_partition_and_pass_has_a_random_stream_of_its_own() -> None:
    draws = {stream(seed, number, part).random() for seed in (0, 1) for number in (0, 1, 2) for part in (0, 1, 2)}
    assert len(draws) == 18
    assert stream(3, 1, 4).random() == stream(3, 1, 4).random()
