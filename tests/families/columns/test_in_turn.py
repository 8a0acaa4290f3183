"""Columns in turn against numerical integration of the mixture's own densities, and SciPy's distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams

MEANS = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.5]])
SCALES = np.array([np.eye(3) + 0.5, [[2.0, -0.7, 0.1], [-0.7, 1.0, 0.3], [0.1, 0.3, 0.8]]])
ROW = np.array([0.4, -0.3, 1.2])


def normal_case():
    return Gaussian(Full()), GaussianParams(MEANS, SCALES, np.zeros_like(MEANS))


def student_case():
    return Student(Full()), StudentParams(MEANS, SCALES, np.array([3.0, 8.0]), np.zeros_like(MEANS))


def joint(case: str, component: int, columns: list[int]):
    """SciPy's density of some columns."""
    mean, scale = MEANS[component, columns], SCALES[component][np.ix_(columns, columns)]
    if case == "normal":
        return stats.multivariate_normal(mean, scale)
    return stats.multivariate_t(mean, scale, df=[3.0, 8.0][component])


@pytest.mark.parametrize("case", ["normal", "student"])
@pytest.mark.parametrize("component", [0, 1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_column_given_those_before_it_is_the_integral_of_the_joint_density(case, component, place):
    family, params = {"normal": normal_case, "student": student_case}[case]()
    found = family.in_turn(params, ROW[:, None])
    density = joint(case, component, list(range(place + 1)))
    whole = density.logpdf(ROW[: place + 1])
    before = joint(case, component, list(range(place))).logpdf(ROW[:place]) if place else 0.0
    area, _ = quad(lambda last: np.exp(density.logpdf([*ROW[:place], last]) - before), -np.inf, ROW[place])
    np.testing.assert_allclose(found.upto[component, place, 0], area, atol=1e-7)
    np.testing.assert_allclose(found.log_density[component, place, 0], whole - before, atol=1e-9)


@pytest.mark.parametrize("case", ["normal", "student"])
def test_the_radius_is_the_law_of_squared_distances(case):
    family, params = {"normal": normal_case, "student": student_case}[case]()
    away = ROW - MEANS[1]
    squared = away @ np.linalg.solve(SCALES[1], away)
    law = stats.chi2(3).cdf(squared) if case == "normal" else stats.f(3, 8.0).cdf(squared / 3)
    np.testing.assert_allclose(family.in_turn(params, ROW[:, None]).radius[1, 0], law, atol=1e-12)


@pytest.mark.parametrize("make", [normal_case, student_case])
def test_a_row_with_missing_cells_is_one_of_fewer_columns(make):
    family, params = make()
    rows = np.array([ROW, [np.nan, -0.3, 1.2], [np.nan, np.nan, np.nan]]).T
    found = family.in_turn(params, rows)
    fewer = family.marginal(params, np.array([1, 2]))
    alone = fewer[0].in_turn(fewer[1], ROW[1:, None])
    np.testing.assert_allclose(found.upto[:, 1:, 1], alone.upto[:, :, 0])
    np.testing.assert_allclose(found.radius[:, 1], alone.radius[:, 0])
    assert np.isnan(found.upto[:, 0, 1]).all()
    assert np.isnan(found.upto[:, :, 2]).all()
    assert not found.log_density[:, :, 2].any()


def test_counts_and_bits_are_their_own_distributions():
    family = Product(((Poisson(), (0, 2)), (Bernoulli(), (1,))))
    params = ProductParams((PoissonParams(np.array([[2.0, 0.5]])), BernoulliParams(np.array([[0.3]]))))
    rows = np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 2.0]]).T
    found = family.in_turn(params, rows)
    np.testing.assert_allclose(found.upto[0, 0], stats.poisson(2.0).cdf([3, 0]))
    np.testing.assert_allclose(found.below[0, 0], stats.poisson(2.0).cdf([2, -1]))
    np.testing.assert_allclose(found.log_density[0, 2], stats.poisson(0.5).logpmf([0, 2]))
    np.testing.assert_allclose(found.upto[0, 1] - found.below[0, 1], [0.3, 0.7])
    assert found.radius is None


def test_the_mixtures_density_is_the_product_of_its_columns():
    family, params = student_case()
    rows = np.random.default_rng(100).normal(size=(3, 20))
    found = family.in_turn(params, rows)
    np.testing.assert_allclose(found.log_density[0].sum(axis=0), joint("student", 0, [0, 1, 2]).logpdf(rows.T))
