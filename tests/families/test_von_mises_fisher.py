"""The von Mises-Fisher family: against scipy, mpmath and integrals; the M step; the laws of EM."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import vonmises_fisher

from tests import laws
from unveil.core.protocols import Block
from unveil.expectations import Exact, Hard
from unveil.families.von_mises_fisher import (
    MOST_CONCENTRATED,
    VonMisesFisher,
    VonMisesFisherParams,
    best_concentration,
    log_normaliser,
    mean_length,
)
from unveil.mixtures.model.model import Mixture
from unveil.schedules import Incremental, Squarem

Floats = NDArray[np.float64]
FAMILY = VonMisesFisher()


def directions(rows: Floats) -> Floats:
    """Rows of length 1."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def log_density(params: VonMisesFisherParams, rows: Floats) -> Floats:
    table = np.empty((1 + rows.shape[1], len(rows)))
    FAMILY.statistics(np.ascontiguousarray(rows.T), table)
    return FAMILY.natural(params) @ table


def moments_of(rows: Floats) -> Floats:
    return np.concatenate([[len(rows)], rows.sum(axis=0)])[None]


def two_bunches(n_rows: int = 300, d: int = 3) -> Floats:
    params = VonMisesFisherParams(np.eye(d)[:2], np.array([4.0, 12.0]))
    random = np.random.RandomState(3)
    return np.vstack([FAMILY.draw(params, k, n_rows // 2, random) for k in range(2)])


def case(expectation: Any = None) -> laws.Case:
    rows = two_bunches()
    model = Mixture(FAMILY, 2, np.zeros(3))
    cut = (rows[:, 0] < rows[:, 1] + 0.2).astype(int)
    return laws.Case(
        model, model.first(model.gather(Block(0, 0, rows, None), np.eye(2)[cut].T)), rows, expectation or Exact()
    )


# -- the density -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3, 10, 50])
def test_natural_parameters_times_statistics_is_scipys_log_density(d: int) -> None:
    random = np.random.default_rng(0)
    params = VonMisesFisherParams(directions(random.normal(size=(4, d))), np.array([0.1, 2.0, 30.0, 500.0]))
    rows = directions(random.normal(size=(20, d)))
    want = [vonmises_fisher(params.directions[k], params.concentrations[k]).logpdf(rows) for k in range(4)]
    np.testing.assert_allclose(log_density(params, rows), want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kappa", [0.0, 1e-6, 0.7, 5.0, 80.0])
def test_the_density_integrates_to_one_on_the_circle(kappa: float) -> None:
    params = VonMisesFisherParams(np.array([[0.6, 0.8]]), np.array([kappa]))
    top = np.arctan2(0.8, 0.6)

    def density(angle: float) -> float:
        return float(np.exp(log_density(params, np.array([[np.cos(angle), np.sin(angle)]]))[0, 0]))

    assert quad(density, top - np.pi, top + np.pi, points=[top], epsabs=1e-11)[0] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 7, 64, 201, 204, 1000])
@pytest.mark.parametrize("kappa", [1e-8, 0.5, 20.0, 700.0, 1e5])
def test_normaliser_and_mean_length_to_many_digits(d: int, kappa: float) -> None:
    """Where a Bessel function would be zero or infinite as a double, too."""
    with mpmath.workdps(50):
        half, k = mpmath.mpf(d) / 2, mpmath.mpf(kappa)
        bessel = mpmath.besseli(half - 1, k)
        log_c = half * mpmath.log(2 * mpmath.pi) - (half - 1) * mpmath.log(k) + mpmath.log(bessel)
        length = mpmath.besseli(half, k) / bessel
        want, ratio = float(log_c), float(length)
    assert log_normaliser(np.array([kappa]), d)[0] == pytest.approx(want, rel=1e-11, abs=1e-10)
    assert mean_length(np.array([kappa]), d)[0] == pytest.approx(ratio, rel=1e-10)


def test_without_concentration_every_direction_is_as_likely() -> None:
    np.testing.assert_allclose(log_normaliser(np.zeros(1), 3), np.log(4 * np.pi), rtol=1e-14)
    np.testing.assert_array_equal(mean_length(np.zeros(1), 3), 0.0)


# -- the M step --------------------------------------------------------------------------------------------------------


@given(st.integers(2, 800), st.floats(1e-6, 1.0))
@settings(max_examples=60, deadline=None)
def test_concentrations_give_the_length_they_were_made_of(d: int, share: float) -> None:
    kappa = share * 1e5
    length = mean_length(np.array([kappa]), d)
    np.testing.assert_allclose(mean_length(best_concentration(length, d), d), length, rtol=1e-11)


def test_lengths_at_the_edges() -> None:
    np.testing.assert_array_equal(best_concentration(np.array([0.0, 1.0]), 3), [0.0, MOST_CONCENTRATED])


def test_one_component_has_the_greatest_likelihood() -> None:
    rows = two_bunches()[:150]
    found = FAMILY.first(moments_of(rows))
    np.testing.assert_allclose(found.directions[0], directions(rows.sum(axis=0)[None])[0], rtol=1e-12)

    def loss(log_kappa: float) -> float:
        return -float(vonmises_fisher(found.directions[0], np.exp(log_kappa)).logpdf(rows).sum())

    best = minimize_scalar(loss, bracket=(0.0, 3.0), tol=1e-10)
    assert found.concentrations[0] == pytest.approx(np.exp(best.x), rel=1e-5)
    assert -loss(np.log(found.concentrations[0])) >= -best.fun - 1e-9
    np.testing.assert_allclose(FAMILY.means(found)[0], rows.mean(axis=0), rtol=1e-10)


def test_components_without_weight_and_rows_that_are_alike() -> None:
    same = np.tile([[0.0, 0.6, 0.8]], (10, 1))
    moments = np.vstack([moments_of(same), np.zeros((1, 4)), [[2.0, 0.0, 0.0, 0.0]]])
    old = VonMisesFisherParams(np.eye(3), np.array([1.0, 2.0, 3.0]))
    new = FAMILY.maximise(moments, old)
    np.testing.assert_allclose(new.directions, [[0.0, 0.6, 0.8], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], atol=1e-15)
    np.testing.assert_allclose(new.concentrations, [MOST_CONCENTRATED, 2.0, 0.0])
    assert FAMILY.floored(new) == 1
    assert np.all(np.isfinite(log_density(new, same)))
    assert np.all(np.isfinite(FAMILY.natural(FAMILY.first(np.array([[1.0, 0.0, 0.0, 0.0]])))))


# -- the laws ----------------------------------------------------------------------------------------------------------

CASES = {"exact": case(), "hard": case(Hard())}


@pytest.mark.parametrize("one", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(law: Any, one: laws.Case) -> None:
    law(one)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_weights_equal_repetition(seed: int) -> None:
    laws.weights_equal_repetition(CASES["exact"], np.random.default_rng(seed).integers(0, 4, 300))


@pytest.mark.parametrize("schedule", [Incremental(batch_rows=96), Squarem()], ids=lambda one: type(one).__name__)
def test_other_schedules_never_lower_the_bound_and_end_where_batch_does(schedule: Any) -> None:
    batch = laws.run(CASES["exact"], passes=200).history
    other = laws.run(CASES["exact"], passes=100, schedule=schedule).history
    assert other.largest_fall() <= laws.ROUNDING * abs(batch.log_likelihood[-1])
    assert other.free_energy[-1] == pytest.approx(batch.log_likelihood[-1], rel=1e-7)


def test_two_bunches_are_found_again() -> None:
    rows = two_bunches(6000)
    model = Mixture(FAMILY, 2, np.zeros(3))
    cut = (rows[:, 0] < rows[:, 1]).astype(int)
    start = model.first(model.gather(Block(0, 0, rows, None), np.eye(2)[cut].T))
    found = laws.run(laws.Case(model, start, rows, Exact()), passes=60).params
    np.testing.assert_allclose(found.weights, 0.5, atol=0.03)
    np.testing.assert_allclose(found.components.concentrations, [4.0, 12.0], rtol=0.1)
    np.testing.assert_allclose(found.components.directions, np.eye(3)[:2], atol=0.05)


# -- use ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3, 20])
@pytest.mark.parametrize("kappa", [0.0, 1.5, 60.0])
def test_draws_have_length_one_and_the_mean_of_the_family(d: int, kappa: float) -> None:
    params = VonMisesFisherParams(directions(np.ones((1, d))), np.array([kappa]))
    drawn = FAMILY.draw(params, 0, 4000, np.random.RandomState(1))
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(drawn.mean(axis=0), FAMILY.means(params)[0], atol=5 / np.sqrt(4000 * d) + 0.01)


def test_counts_figures_and_what_is_not_admissible() -> None:
    assert FAMILY.n_parameters(3, 4) == 12
    params = VonMisesFisherParams(np.eye(3), np.array([1.0, 2.0, 3.0]))
    assert dict(FAMILY.health(params)) == {"smallest_concentration": 1.0, "largest_concentration": 3.0}
    np.testing.assert_array_equal(FAMILY.taken(params, np.array([2, 0])).concentrations, [3.0, 1.0])
    assert FAMILY.admissible(np.array([[2.0, 1.0, 1.0, 1.0]]))
    assert not FAMILY.admissible(np.array([[2.0, 2.0, 1.0, 0.0]]))
