"""exp and log of our own against mpmath, in units of the last place, over the ranges that the kernels use."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import kernel

Floats = NDArray[np.float64]


@kernel
def exp_all(x: Floats, out: Floats) -> None:
    for i in range(x.size):
        out[i] = exp_nonpositive(x[i], -708.0)


@kernel
def log_all(x: Floats, out: Floats) -> None:
    for i in range(x.size):
        out[i] = log_positive(x[i])


def applied(function: Any, x: Any) -> Floats:
    values = np.array(x, dtype=np.float64)
    out = np.empty_like(values)
    function(values, out)
    return out


def ulps(function: Any, exact: Any, x: Floats) -> Floats:
    """Error of each value, in units of the last place of the right one."""
    with mpmath.workdps(40):
        truth = [exact(mpmath.mpf(float(value))) for value in x]
        found = applied(function, x)
        errors = [abs(mpmath.mpf(float(a)) - b) for a, b in zip(found, truth, strict=True)]
        return np.array([float(e / np.spacing(abs(float(t)))) for e, t in zip(errors, truth, strict=True)])


@pytest.mark.parametrize(("low", "high"), [(-1e-8, 0.0), (-1.0, 0.0), (-40.0, 0.0), (-708.0, 0.0)])
def test_exp_is_right_to_two_units(low: float, high: float) -> None:
    x = np.random.default_rng(0).uniform(low, high, 4000)
    assert ulps(exp_all, mpmath.exp, x).max() < 2.0


def test_exp_at_the_edges() -> None:
    assert applied(exp_all, [0.0, -0.0, -np.inf, -708.1, -1e300]).tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert np.isnan(applied(exp_all, [np.nan])).all()
    tiny = applied(exp_all, [-708.0, -707.9999])
    np.testing.assert_allclose(tiny, np.exp([-708.0, -707.9999]), rtol=1e-15)


def test_exp_rises() -> None:
    values = applied(exp_all, np.sort(np.random.default_rng(1).uniform(-50, 0, 20_000)))
    assert np.all(np.diff(values) >= -np.spacing(values[1:]))


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0001), (1.0, 2.0), (1.0, 1000.0), (1e-300, 1e-290), (1e-3, 1e300)])
def test_log_is_right_to_two_units(low: float, high: float) -> None:
    x = np.random.default_rng(2).uniform(low, high, 4000)
    assert ulps(log_all, mpmath.log, x[x != 1.0]).max() < 2.0


def test_log_at_the_edges() -> None:
    assert applied(log_all, [1.0])[0] == 0.0
    powers = np.array([2.0**n for n in (-1000, -1, 1, 10, 1000)])
    np.testing.assert_allclose(applied(log_all, powers), np.log(powers), rtol=4e-16)
    assert np.isnan(applied(log_all, [np.nan])).all()
