"""Sums and products of twice the precision against fractions, whatever kernel they are pasted into."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest

from unveil.clusters.assignment.double_double import add, product


def _products(a, b, high, low):
    for i in range(len(a)):
        high[i], low[i] = product(a[i], b[i])


def _total(more, less):
    high, low = 0.0, 0.0
    for i in range(len(more)):
        high, low = add(high, low, more[i], less[i])
    return high, low


@pytest.fixture(scope="module", params=[False, {"contract"}], ids=["strict", "contract"])
def compiled(request):
    """Both as a kernel of each kind compiles them: what it relaxes holds for what is pasted into it."""
    return tuple(numba.njit(fastmath=request.param, error_model="numpy")(f) for f in (_products, _total))


def test_products_are_split_without_error(compiled):
    random = np.random.default_rng(0)
    a, b = (random.normal(size=3000) * 10.0 ** random.integers(-60, 60, size=3000) for _ in range(2))
    high, low = np.empty(3000), np.empty(3000)
    compiled[0](a, b, high, low)
    np.testing.assert_array_equal(high, a * b)
    for x, y, h, rest in zip(a.tolist(), b.tolist(), high.tolist(), low.tolist(), strict=True):
        assert Fraction(x) * Fraction(y) == Fraction(h) + Fraction(rest)


@pytest.mark.parametrize("spread", [0, 8, 30])
def test_sums_hold_twice_the_digits(compiled, spread):
    random = np.random.default_rng(spread)
    more = random.normal(size=2000) * 10.0 ** random.integers(-spread, spread + 1, size=2000)
    less = more * 2.0**-54 * random.random(2000)
    high, low = compiled[1](more, less)
    exact = sum(map(Fraction, more.tolist())) + sum(map(Fraction, less.tolist()))
    size = sum(map(Fraction, np.abs(more).tolist()))
    assert abs(Fraction(high) + Fraction(low) - exact) <= size * Fraction(2) ** -92
    assert high == high + low  # what is left fits below the last digit


def test_what_was_put_in_can_be_taken_out(compiled):
    values = np.random.default_rng(1).normal(size=500)
    values = np.concatenate([values, -values[np.random.default_rng(2).permutation(500)]])
    assert compiled[1](values, np.zeros(1000)) == (0.0, 0.0)
