from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests import laws
from tests.oracles import topographic_map as oracle
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.mixtures.model.model import Mixture
from unveil.projections.topographic.lattice import Basis, grid
from unveil.projections.topographic.model import SheetFamily, TopographicMap
from unveil.schedules import LBFGS, Ascent, Gradient, Incremental, Squarem, Stepwise


def curve(n=160, d=3, seed=0, noise=0.1, holes=0.0):
    random = np.random.default_rng(seed)
    t = random.uniform(-1, 1, n)
    X = np.stack([t * 2, np.sin(3 * t), t**2, np.cos(2 * t)], axis=1)[:, :d] + noise * random.normal(size=(n, d))
    X[random.random(X.shape) < holes] = np.nan
    return X - np.nanmean(X, axis=0)


def case(holes=0.0, expectation=None, shape=(5, 4), bumps=(3, 3), variance=0.3, regularization=0.5, X=None):
    X = curve(holes=holes) if X is None else X
    basis = Basis(bumps, 1.0)
    precision = np.zeros(basis.n_functions)
    precision[: basis.n_bumps] = regularization
    sheet = SheetFamily(basis(grid(shape)), precision, 1e-12, holes=holes > 0)
    model = TopographicMap(Mixture(sheet, len(sheet.basis), np.zeros(X.shape[1])))
    coefficients = np.zeros((basis.n_functions, X.shape[1]))
    coefficients[basis.n_bumps : -1] = 0.7 * np.eye(2, X.shape[1])
    return laws.Case(model, model.start(coefficients, variance), X, expectation or Exact())


CASES = {"complete": case(), "holes": case(0.3), "hard": case(expectation=Hard())}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(name, law):
    law(CASES[name])


@pytest.mark.parametrize("name", ["complete", "holes"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000))
def test_weights_equal_repetition(name, seed):
    times = np.random.default_rng(seed).integers(0, 4, len(CASES[name].rows))
    laws.weights_equal_repetition(CASES[name], times)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("holes", [0.0, 0.35])
def test_every_pass_is_that_of_the_oracle(holes, compiled):
    one = case(holes)
    model = replace(one.model, mixture=replace(one.model.mixture, compiled=compiled))
    sheet, params = model.sheet, one.start
    coefficients, variance = params.components.coefficients, params.components.variance
    for _ in range(15):
        statistics = laws.expect(replace(one, model=model, start=params), one.rows)
        wanted, coefficients, variance = oracle.em_step(one.rows, sheet.basis, sheet.precision, coefficients, variance)
        assert float(statistics["log_likelihood"]) == pytest.approx(wanted, rel=1e-12)
        params = model.maximise(statistics, params)
        np.testing.assert_allclose(params.components.coefficients, coefficients, atol=1e-9)
        assert params.components.variance == pytest.approx(variance, rel=1e-9)
        coefficients, variance = params.components.coefficients, params.components.variance
        assert model.log_prior(params) == pytest.approx(oracle.log_prior(sheet.precision, coefficients), rel=1e-12)


@pytest.mark.parametrize("holes", [0.0, 0.35])
def test_distances_by_differences_agree_with_products(holes):
    """The same pass with moments about the means: statistics differ by their frame, parameters by rounding."""
    one = case(holes, variance=0.05)
    own = replace(one.start, components=replace(one.start.components, origins=one.start.components.means + 0.1))
    about = laws.expect(replace(one, start=own), one.rows)
    plain = laws.expect(one, one.rows)
    assert float(about["log_likelihood"]) == pytest.approx(float(plain["log_likelihood"]), rel=1e-12)
    laws.alike(
        replace(one.model.maximise(about, own).components, origins=0.0),
        replace(one.model.maximise(plain, one.start).components, origins=0.0),
        rtol=1e-10,
    )
    assert one.model.energy(about, own) == pytest.approx(one.model.energy(plain, one.start), rel=1e-10)


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_a_hair_of_noise_keeps_its_digits(holes):
    """Noise of a millionth of the sheet: squares of rows would have lost twelve of sixteen digits."""
    one, random = case(holes, shape=(3, 3), regularization=0.0, variance=1e-12), np.random.default_rng(0)
    start = one.model.recentre(one.start)
    assert np.array_equal(start.components.origins, start.components.means)
    noise = 1e-6 * random.normal(size=(9, 40, 3))
    X = (start.components.means[:, None] + noise).reshape(-1, 3)
    X[random.random(len(X)) < holes, 2] = np.nan  # the other columns tell which point a row belongs to
    after = one.model.maximise(laws.expect(replace(one, start=start), X), start).components
    away = (X.reshape(9, 40, 3) - start.components.means[:, None]) * 1e6
    wanted = np.nanmean(away, axis=1)  # nine points and more functions: each goes where its rows are
    np.testing.assert_allclose((after.means - start.components.means) * 1e6, wanted, atol=1e-6)
    assert after.variance == pytest.approx(1e-12 * np.nanmean((away - wanted[:, None]) ** 2), rel=1e-6)


def test_a_prior_of_any_strength_leaves_the_plane_free():
    one = case(regularization=1e30)
    assert np.abs(laws.run(one, passes=20).params.components.coefficients[9:11]).max() > 0.1


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_gradients_are_those_of_differences(holes):
    one = case(holes, regularization=2.0)
    model = one.model
    statistics = laws.expect(one, one.rows)
    chart = model.coordinates(one.start)
    random = np.random.default_rng(3)
    place = 0.1 * random.normal(size=chart.origin.shape)
    direction = random.normal(size=chart.origin.shape)

    def height(vector):
        params = chart.params(vector)
        return model.energy(statistics, params) + model.log_prior(params)

    numeric = (height(place + 1e-5 * direction) - height(place - 1e-5 * direction)) / 2e-5
    assert chart.gradient(statistics, place) @ direction == pytest.approx(numeric, rel=1e-6)
    assert model.energy(statistics, one.start) < float(statistics["free_energy"])


SCHEDULES = {
    "incremental": Incremental(batch_rows=1),
    "squarem": Squarem(),
    "gradient": Gradient(steps=3),
    "ascent": Ascent(),
    "lbfgs": LBFGS(),
}


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_that_promise_not_to_fall_keep_their_word(name, holes):
    one = case(holes)
    outcome = laws.run(one, schedule=SCHEDULES[name], passes=100)
    objective = outcome.history.column("objective")
    assert outcome.history.largest_fall() <= 1e-9 * np.abs(objective).max()
    assert objective[-1] > objective[0]
    assert objective[-1] > laws.run(one, passes=100).objective - 0.1 * len(one.rows)  # perhaps at another optimum


def test_squarem_gets_there_in_fewer_passes():
    one = case()
    plain, leaps = laws.run(one, passes=60), laws.run(one, passes=60, schedule=Squarem())
    assert leaps.objective > plain.objective


@pytest.mark.parametrize("expectation", [Sampled(64), Sparse(6, 3), Annealed(0.7, 5), Hard()], ids=lambda one: str(one))
@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_expectations_come_near(expectation, holes):
    exact, other = laws.run(case(holes), passes=40), laws.run(case(holes, expectation), passes=40)
    per_row = (exact.history[-1].log_likelihood - other.history[-1].log_likelihood) / len(CASES["holes"].rows)
    assert abs(per_row) < (0.8 if isinstance(expectation, Hard) else 0.1)
    assert np.all(other.history.gap >= -1e-9 * np.abs(other.history.log_likelihood))
    if expectation.monotone:
        assert other.history.largest_fall() <= 1e-9 * np.abs(other.history.column("objective")).max()


def test_stepwise_comes_near():
    exact, other = laws.run(case(), passes=30), laws.run(case(), passes=30, schedule=Stepwise(batch_rows=40))
    assert other.history[-1].log_likelihood > exact.history[-1].log_likelihood - 0.1 * 160


def test_a_strong_prior_leaves_a_plane():
    one = case(regularization=1e9)
    coefficients = laws.run(one, passes=20).params.components.coefficients
    assert np.abs(coefficients[:9]).max() < 1e-6
    assert np.abs(coefficients[9:11]).max() > 0.1


def test_a_start_from_moments_is_a_fit_to_them():
    one = case()
    moments = laws.expect(one, one.rows)["moments"]
    first = one.model.sheet.first(moments)
    assert first.variance > 0
    np.testing.assert_allclose(first.means, one.model.sheet.basis @ first.coefficients)
    with pytest.raises(TypeError, match="hang together"):
        one.model.sheet.taken(first, np.arange(2))


def test_the_rows_determine_no_more_functions_than_there_are():
    one = case(regularization=1e-9)
    sheet, moments = one.model.sheet, laws.expect(one, one.rows)["moments"]
    assert sheet.effective_functions(moments, one.start.components) == pytest.approx(12, abs=1e-3)
    held = replace(sheet, precision=np.where(sheet.precision > 0, 1e12, 0.0))
    assert held.effective_functions(moments, one.start.components) == pytest.approx(3, abs=1e-3)
