"""One hump of greatest likelihood: what a search of all four numbers finds is no better."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from unveil.judgement.real.one_hump import Hump, best_hump

DRAWS = {
    "normal": lambda random: random.normal(size=200),
    "uniform": lambda random: random.uniform(size=200),
    "exponential": lambda random: random.exponential(size=200),
    "student": lambda random: random.standard_t(3, size=200),
    "two": lambda random: np.concatenate([random.normal(size=100), random.normal(4.0, 1.0, size=100)]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_no_other_hump_is_likelier(name):
    t = DRAWS[name](np.random.default_rng(7))
    t = (t - np.median(t)) / t.std()
    found = best_hump(t)

    def cost(place):
        widths = np.exp(np.clip(place[1:], -30.0, 30.0))
        return -Hump(place[0], widths[0], widths[1], float(np.clip(widths[2], 0.4, 20.0))).log_likelihood(t)

    start = [found.mode, *np.log(found[1:])]
    again = minimize(cost, start, method="Nelder-Mead", options={"maxiter": 2000, "xatol": 1e-6, "fatol": 1e-6})
    assert -again.fun <= found.log_likelihood(t) + 0.05
    assert found.log_likelihood(t) == pytest.approx(-cost(start))


def test_a_side_without_rows_has_no_width():
    t = np.arange(1.0, 50.0)
    assert np.isfinite(best_hump(t).log_likelihood(t))
    assert np.isfinite(best_hump(np.zeros(9)).log_likelihood(np.zeros(9)))
