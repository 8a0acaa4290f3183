"""KL divergence of densities on the line: known values, symmetries, and what quadrature cannot decide."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import digamma, gammaln

from unveil.information.measures import Gaussian, kl_divergence

inf = math.inf
seeds = st.integers(0, 2**32 - 1)


def law(*strategies: Any, examples: int = 50) -> Any:
    """A property of everything the strategies draw; the same draws on every run."""
    return lambda test: settings(max_examples=examples, deadline=None, derandomize=True)(given(*strategies)(test))


def normal_pdf(mean: float, scale: float) -> Any:
    return lambda x: math.exp(-(((x - mean) / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi))


def normal_kl(mean: float, scale: float, other_mean: float, other_scale: float) -> float:
    ratio = scale / other_scale
    return (ratio**2 - 1) / 2 - math.log(ratio) + ((mean - other_mean) / other_scale) ** 2 / 2


DENSITIES = [
    (stats.norm(1e4, 1e-2), stats.norm(1e4 + 0.01, 2e-2), normal_kl(0, 1e-2, 0.01, 2e-2)),
    (stats.norm(0, 1), stats.norm(1000, 1), 5e5),
    (stats.norm(0, 1e-6), stats.norm(3, 1e3), normal_kl(0, 1e-6, 3, 1e3)),
    (stats.norm(0, 1e3), stats.norm(3, 1e-3), normal_kl(0, 1e3, 3, 1e-3)),
    (Gaussian(0, 1), stats.norm(2, 1), 2.0),
    (stats.t(3), stats.norm(), 1.5 + math.log(2 * math.pi) / 2 - float(stats.t(3).entropy())),
    (stats.cauchy(0, 1), stats.cauchy(5, 3), math.log((16 + 25) / 12)),
    (stats.cauchy(1e4, 1e-3), stats.cauchy(-5, 3), math.log((3.001**2 + 10005**2) / 0.012)),
    (stats.uniform(0, 1), stats.beta(2, 2), 2 - math.log(6)),
    (stats.beta(0.5, 0.5), stats.uniform(0, 1), math.log(4 / math.pi)),
    (stats.uniform(0, 1), stats.uniform(-1, 4), math.log(4)),
    (stats.uniform(0.1, 0.2), stats.uniform(0, 0.3), math.log(1.5)),  # 0.1 + 0.2 > 0.3 in floats
    (stats.gamma(0.1), stats.gamma(0.1, scale=2), 0.1 * (math.log(2) - 0.5)),
    (stats.gamma(1e6), stats.gamma(1e6, scale=1.001), 1e6 * (math.log(1.001) + 1 / 1.001 - 1)),
    (stats.pareto(0.1), stats.pareto(0.2), 1 - math.log(2)),
    (normal_pdf(1000, 1), normal_pdf(1001, 1), 0.5),
    (normal_pdf(0, 1), normal_pdf(1, 0.9), normal_kl(0, 1, 1, 0.9)),
    (normal_pdf(1e4, 1e-2), stats.norm(1e4 + 0.01, 2e-2), normal_kl(0, 1e-2, 0.01, 2e-2)),
    (normal_pdf(0, 1), lambda x: x**2 * normal_pdf(0, 1)(x), np.euler_gamma + math.log(2)),  # p is 0 at one point
    (lambda x: 1.0 * (0 < x < 1), lambda x: 0.25 * (-1 < x < 3), math.log(4)),
]


class TestDensityDivergence:
    @pytest.mark.parametrize(("q", "p", "expected"), DENSITIES)
    def test_known_values(self, q: Any, p: Any, expected: float) -> None:
        assert kl_divergence(q, p) == pytest.approx(expected, rel=1e-8, abs=1e-8)

    @pytest.mark.parametrize(
        ("q", "p"),
        [
            (stats.uniform(-1, 4), stats.uniform(0, 1)),
            (stats.norm(40, 1), stats.expon()),  # the mass that p lacks is below the smallest float
            (lambda x: 0.25 * (-1 < x < 3), lambda x: 1.0 * (0 < x < 1)),
            (lambda x: 0.25 * (-1 < x < 3), stats.expon()),
            (stats.cauchy(), stats.norm()),  # the integral diverges in the tails
            (stats.t(2), stats.norm()),
            (stats.expon(), stats.invgamma(2)),  # and at 0
        ],
    )
    def test_infinite(self, q: Any, p: Any) -> None:
        assert kl_divergence(q, p) == inf

    @law(st.floats(0.3, 5), st.floats(0.3, 5), st.floats(0.3, 5), st.floats(0.3, 5), examples=4)
    def test_gibbs_and_closed_form_of_gammas(self, a: float, b: float, c: float, d: float) -> None:
        value = kl_divergence(stats.gamma(a, scale=1 / b), stats.gamma(c, scale=1 / d))
        closed = (a - c) * digamma(a) - gammaln(a) + gammaln(c) + c * math.log(b / d) + a * (d - b) / b
        assert value >= 0
        assert value == pytest.approx(closed, abs=1e-7)

    @law(st.floats(-1, 1), st.floats(0.3, 1.5), st.floats(-1, 1), st.floats(0.3, 1.5), examples=4)
    def test_invariant_under_a_monotone_map(self, m: float, s: float, n: float, t: float) -> None:
        """The exponential turns normals into log-normals and leaves their divergence alone."""
        mapped = kl_divergence(stats.lognorm(s, scale=math.exp(m)), stats.lognorm(t, scale=math.exp(n)))
        assert mapped == pytest.approx(kl_divergence(stats.norm(m, s), stats.norm(n, t)), rel=1e-7, abs=1e-8)

    def test_asymmetric(self) -> None:
        q, p = stats.laplace(0, 1), stats.norm(0, 1)
        assert kl_divergence(q, p) == pytest.approx(0.5 * math.log(2 * math.pi) + 1 - math.log(2) - 1, abs=1e-8)
        assert kl_divergence(p, q) == pytest.approx(
            math.log(2) + math.sqrt(2 / math.pi) - 0.5 * math.log(2 * math.pi * math.e)
        )

    def test_support_narrows_the_search(self) -> None:
        q, p = normal_pdf(12345.678, 1e-2), normal_pdf(12345.678, 2e-2)
        with pytest.raises(ValueError, match=r"q must integrate to 1; found 0 over \(-inf, inf\).*closer `support`"):
            kl_divergence(q, p)
        assert kl_divergence(q, p, support=(12345, 12346)) == pytest.approx(normal_kl(0, 1, 0, 2), abs=1e-8)

    def test_two_narrow_modes(self) -> None:
        left, right = normal_pdf(0, 1e-2), normal_pdf(10, 1e-2)
        value = kl_divergence(lambda x: (left(x) + right(x)) / 2, stats.norm(5, 5), support=(-1, 11))
        differential = 0.5 * math.log(2 * math.pi * math.e * 1e-4) + math.log(2)
        assert value == pytest.approx(math.log(5) + 0.5 * math.log(2 * math.pi) + 0.500002 - differential, abs=1e-8)

    def test_takes_any_object_with_logpdf_and_support(self) -> None:
        exponential = SimpleNamespace(logpdf=lambda x: -x, support=lambda: (0.0, inf))
        assert kl_divergence(exponential, stats.expon(scale=2)) == pytest.approx(math.log(2) - 0.5, abs=1e-8)

    @pytest.mark.parametrize("names", [("q", "p"), ("p", "q")])
    def test_refuses_a_density_that_does_not_integrate_to_one(self, names: tuple[str, str]) -> None:
        given = dict(zip(names, (lambda x: math.exp(-(x**2) / 2), stats.norm()), strict=True))
        with pytest.raises(ValueError, match=rf"{names[0]} must integrate to 1; found 2\.506628"):
            kl_divergence(**given)

    def test_refuses_to_take_underflow_for_zero(self) -> None:
        with pytest.raises(ValueError, match=r"p underflows to 0 near x = -?3\.8\d+, where q has mass.*logpdf"):
            kl_divergence(normal_pdf(0, 1), normal_pdf(0, 0.1))
        assert kl_divergence(normal_pdf(0, 1), stats.norm(0, 0.1)) == pytest.approx(normal_kl(0, 1, 0, 0.1))

    def test_refuses_what_misses_the_tolerance(self) -> None:
        with pytest.raises(ArithmeticError, match=r"KL\(q \|\| p\) = .* may be off by .*, above tolerance=1e-09"):
            kl_divergence(stats.beta(0.5, 0.5), stats.uniform(), tolerance=1e-9)

    @pytest.mark.parametrize("value", [-1.0, math.nan])
    def test_refuses_negative_and_nan(self, value: float) -> None:
        with pytest.raises(ValueError, match=rf"q must give one density.*; at x = .* it gave {value}"):
            kl_divergence(lambda x: value, stats.norm(), support=(1, 2))

    def test_refuses_many_densities_at_once(self) -> None:
        with pytest.raises(ValueError, match="the support of q must be one interval"):
            kl_divergence(stats.norm([0, 1], 1), stats.norm())
        with pytest.raises(ValueError, match="q must give one density"):
            kl_divergence(lambda x: np.array([1.0, 1.0]), stats.norm(), support=(1, 2))

    @pytest.mark.parametrize("support", [(1, 0), (0, 0), (0, math.nan), (0, 1, 2)])
    def test_refuses_a_support(self, support: Any) -> None:
        with pytest.raises(ValueError, match=r"the support of q must be one interval \(a, b\) with a < b; got"):
            kl_divergence(normal_pdf(0, 1), normal_pdf(0, 1), support=support)

    @pytest.mark.parametrize("tolerance", [0, -1e-3, math.nan, inf])
    def test_refuses_a_tolerance(self, tolerance: float) -> None:
        with pytest.raises(ValueError, match="tolerance must be positive and finite; got"):
            kl_divergence(stats.norm(), stats.norm(), tolerance=tolerance)
