"""Sums four at a time are sums, whatever the length."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from unveil.projections.factors.line_sums import added, squared


@numba.njit
def _both(line, weight, count):
    return added(line, count), squared(line, weight, count)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 11])
def test_sums_of_the_first_few(count):
    random = np.random.default_rng(count)
    line, weight = random.normal(size=13), random.random(13)
    total, squares = _both(line, weight, count)
    assert total == pytest.approx(line[:count].sum(), abs=1e-14)
    assert squares == pytest.approx(np.sum(weight[:count] * line[:count] ** 2), abs=1e-14)
