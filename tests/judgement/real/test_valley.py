"""Valleys along a line: found between groups, not in one hump, whatever its shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom

from unveil.judgement.real import valley as module
from unveil.judgement.real.null import one_hump_rows, quantiles
from unveil.judgement.real.one_hump import Hump, TwoNormals, best_hump, two_normals_log_likelihood
from unveil.judgement.real.valley import valley_between

HUMPS = {
    "normal": lambda random, n: random.normal(size=n),
    "uniform": lambda random, n: random.uniform(size=n),
    "t3": lambda random, n: random.standard_t(3, size=n),
    "exponential": lambda random, n: random.exponential(size=n),
    "Laplace": lambda random, n: random.laplace(size=n),
}


@pytest.mark.parametrize("hump", [Hump(0.3, 0.5, 2.0, 1.3), Hump(-1.0, 1.0, 1.0, 2.0), Hump(0.0, 3.0, 0.1, 15.0)])
def test_a_hump_is_a_density_with_one_mode(hump):
    def density(t):
        return np.exp(hump.log_likelihood(np.array([t])))

    assert quad(density, -60, 60, points=[hump.mode], limit=200)[0] == pytest.approx(1.0, abs=1e-6)
    grid = np.linspace(-3, 3, 301)
    steps = np.sign(np.diff([density(t) for t in grid]))
    assert np.all(np.diff(steps[steps != 0]) <= 0)


def test_quantiles_of_a_hump_invert_its_distribution():
    hump = Hump(0.3, 0.5, 2.0, 1.3)
    for u in (0.05, 0.2, 0.6, 0.95):
        upto = quad(lambda t: np.exp(hump.log_likelihood(np.array([t]))), -40, quantiles(hump, np.array([u]))[0])[0]
        assert upto == pytest.approx(u, abs=1e-6)


@pytest.mark.parametrize("name", HUMPS)
def test_the_best_hump_is_as_good_as_the_truth(name):
    t = HUMPS[name](np.random.default_rng(1), 500)
    t = (t - np.median(t)) / t.std()
    found = best_hump(t).log_likelihood(t)
    for other in (
        Hump(0.0, 1.0, 1.0, 2.0),
        Hump(t.min(), 1e-3, 1.0, 1.0),
        Hump(0.0, 1.7, 1.7, 19.0),
        Hump(0, 0.7, 0.7, 1),
    ):
        assert found >= other.log_likelihood(t) - 0.5


def test_two_gaussians_climb():
    random = np.random.default_rng(2)
    t = np.concatenate([random.normal(-1, 0.3, 100), random.normal(1, 0.5, 60)])
    first = TwoNormals(np.array([0.5, 0.5]), np.array([-0.8, 0.5]), np.array([0.6, 0.6]))
    true = TwoNormals(np.array([100, 60]) / 160, np.array([-1.0, 1.0]), np.array([0.3, 0.5]))
    density = sum(
        w * np.exp(-0.5 * ((t - m) / s) ** 2) / (s * np.sqrt(2 * np.pi)) for w, m, s in zip(*true, strict=True)
    )
    assert two_normals_log_likelihood(t, first) >= np.log(density).sum()


@pytest.mark.parametrize(("inside", "beside", "share"), [(0, 5, 0.5), (3, 20, 0.4), (7, 7, 0.6)])
def test_the_chance_is_a_binomial_tail_with_half_of_its_end(inside, beside, share):
    rows = inside + beside
    tail = binom.cdf(inside, rows, share) - 0.5 * binom.pmf(inside, rows, share)
    assert module._chance(inside, beside, share, 1.0 - share) == pytest.approx(tail)


@pytest.mark.parametrize("name", HUMPS)
def test_one_hump_cut_in_two_has_no_valley(name):
    random = np.random.default_rng(3)
    apart = 0
    for _ in range(20):
        t = HUMPS[name](random, 200)
        apart += valley_between(t, t > np.quantile(t, random.uniform(0.2, 0.8))).chance < 0.06
    assert apart <= 1


@pytest.mark.parametrize(("sizes", "distance"), [((100, 100), 4.5), ((200, 25), 7.0), ((40, 30), 6.0)])
def test_two_groups_have_one(sizes, distance):
    random, found = np.random.default_rng(4), 0
    for _ in range(10):
        t = np.concatenate([random.normal(size=sizes[0]), random.normal(distance, size=sizes[1])])
        found += valley_between(t, np.arange(len(t)) >= sizes[0]).chance < 0.06
    assert found >= 9


def test_the_valley_does_not_care_for_units():
    t = np.concatenate([np.random.default_rng(5).normal(size=80), np.random.default_rng(6).normal(5, size=80)])
    second = np.arange(160) >= 80
    assert valley_between(t, second) == pytest.approx(valley_between(1e6 * t - 3e7, second))
    assert valley_between(t, np.zeros(160, dtype=bool)) == module.NONE
    assert valley_between(np.ones(160), second) == module.NONE


def test_rows_with_one_mode_keep_correlations_and_spread():
    random = np.random.default_rng(7)
    rows = random.multivariate_normal([0, 50], [[1, 8], [8, 100]], size=800)
    drawn = one_hump_rows(rows, random, 1)[0]
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(0.8, abs=0.05)
    assert drawn.std(axis=0) == pytest.approx(rows.std(axis=0), rel=0.1)
    assert drawn.mean(axis=0) == pytest.approx(rows.mean(axis=0), abs=1.5)
