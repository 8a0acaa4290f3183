"""Conjugate priors: their densities against scipy, and that an M step finds the mode of the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, dirichlet, gamma, invwishart, multivariate_normal

from unveil.families.bernoulli import Bernoulli
from unveil.families.categorical import Categorical
from unveil.families.covariance.structure import Full
from unveil.families.exponential import Exponential
from unveil.families.gaussian import Gaussian
from unveil.families.poisson import Poisson
from unveil.families.priors import Beta, Dirichlet, Gamma, NormalInverseWishart

Floats = NDArray[np.float64]
SCALE = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_densities_are_scipys() -> None:
    random = np.random.default_rng(0)
    p, x, rows = random.uniform(0.1, 0.9, (2, 3)), random.uniform(0.1, 5.0, (2, 3)), random.dirichlet(np.ones(4), 5)
    assert Beta(2.0, 3.5).log_density(p) == pytest.approx(beta(2.0, 3.5).logpdf(p).sum(), rel=1e-12)
    assert Gamma(2.0, 3.5).log_density(x) == pytest.approx(gamma(2.0, scale=1 / 3.5).logpdf(x).sum(), rel=1e-12)
    want = sum(dirichlet(np.full(4, 1.5)).logpdf(row) for row in rows)
    assert Dirichlet(1.5).log_density(rows) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("strength", [0.0, 0.7])
def test_normal_inverse_wishart_is_scipys(strength: float) -> None:
    means = np.array([[1.0, 2.0], [0.0, -1.0]])
    covariances = np.array([[[1.0, 0.3], [0.3, 2.0]], [[0.5, 0.0], [0.0, 0.2]]])
    prior = NormalInverseWishart(np.array([0.5, 0.0]), strength, SCALE, 4.0)
    want = sum(invwishart(4.0, SCALE).logpdf(covariance) for covariance in covariances)
    if strength:
        pairs = zip(means, covariances, strict=True)
        want += sum(multivariate_normal(prior.mean, c / strength).logpdf(m) for m, c in pairs)
    assert prior.log_density(means, covariances) == pytest.approx(want, rel=1e-12)


def test_flat_priors_weigh_nothing() -> None:
    p = np.array([[0.25, 0.75]])
    assert Beta().log_density(p) == 0.0
    assert Gamma().log_density(p) == 0.0
    assert Dirichlet().log_density(p) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beta(0.5, 1.0), "Beta prior needs a and b of at least 1, got 0.5 and 1.0"),
        (lambda: Gamma(0.5, 1.0), "shape of at least 1 and a rate of at least 0, got 0.5, 1.0"),
        (lambda: Gamma(1.0, -1.0), "got 1.0, -1.0"),
        (lambda: Gamma(float("nan"), 1.0), "got nan"),
        (lambda: Dirichlet(0.5), "concentration of at least 1, got 0.5"),
    ],
)
def test_priors_without_a_mode_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


NORMAL_MOMENTS = np.array([[20.0, 8.0, -4.0, 30.0, 5.0, 25.0]])
MODES: dict[str, tuple[Any, Floats, str]] = {
    "beta": (Bernoulli(Beta(2.0, 5.0)), np.array([[10.0, 3.0, 7.0]]), "probabilities"),
    "gamma-of-counts": (Poisson(Gamma(3.0, 2.0)), np.array([[10.0, 3.0, 7.0]]), "rates"),
    "gamma-of-times": (Exponential(Gamma(3.0, 2.0)), np.array([[10.0, 3.0, 7.0]]), "rates"),
    "normal": (
        Gaussian(Full(), 0.0, NormalInverseWishart(np.array([0.5, 0.0]), 0.7, SCALE, 4.0)),
        NORMAL_MOMENTS,
        "means",
    ),
    "wishart": (
        Gaussian(Full(), 0.0, NormalInverseWishart(np.array([0.5, 0.0]), 0.7, SCALE, 4.0)),
        NORMAL_MOMENTS,
        "covariances",
    ),
    "free-means": (
        Gaussian(Full(), 0.0, NormalInverseWishart(np.zeros(2), 0.0, SCALE, 4.0)),
        NORMAL_MOMENTS,
        "covariances",
    ),
}


@pytest.mark.parametrize("name", MODES)
def test_the_m_step_is_the_mode_of_the_posterior(name: str) -> None:
    family, moments, field = MODES[name]
    mode = family.first(moments)

    def posterior(values: Floats) -> float:
        params = type(mode)(**{**vars(mode), field: values})
        return float(np.sum(family.natural(params) * moments)) + family.log_prior(params)

    at, best = getattr(mode, field), posterior(getattr(mode, field))
    random = np.random.default_rng(1)
    for _ in range(30):
        step = random.normal(size=at.shape) * 1e-3
        step = step + np.swapaxes(step, 1, 2) if at.ndim == 3 else step
        up, down = posterior(at + step), posterior(at - step)
        assert max(up, down) < best
        assert abs(up - down) < 0.05 * (best - up)  # no slope: what is left is of third order


def test_the_m_step_under_a_dirichlet_is_the_mode() -> None:
    family = Categorical((3,), Dirichlet(2.5))
    moments = np.array([[10.0, 1.0, 4.0, 5.0]])
    mode = family.first(moments).probabilities
    np.testing.assert_allclose(mode, [[2.5 / 14.5, 5.5 / 14.5, 6.5 / 14.5]])
    random = np.random.default_rng(2)
    best = float(moments[0, 1:] @ np.log(mode[0])) + Dirichlet(2.5).log_density(mode)
    for _ in range(30):
        other = mode * np.exp(1e-2 * random.normal(size=3))
        other /= other.sum()
        assert float(moments[0, 1:] @ np.log(other[0])) + Dirichlet(2.5).log_density(other) < best
