"""Products of long lines, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.families.kernels.dot_products import FEWEST, LANES, LINES, SHORTEST, dot_products


@pytest.mark.parametrize("n_left", [1, LINES, LINES + 1, 16])
@pytest.mark.parametrize("n_right", [2, FEWEST - 1, FEWEST, FEWEST + 3, 153])
@pytest.mark.parametrize("length", [1, SHORTEST - LANES, SHORTEST, SHORTEST + 1, 240])
def test_products_are_those_of_numpy(n_left: int, n_right: int, length: int) -> None:
    random = np.random.default_rng(length)
    left, right = random.normal(size=(n_left, length)), random.normal(size=(n_right, length))
    out = np.full((n_left, n_right), np.nan)
    dot_products(left, right, out)
    np.testing.assert_allclose(out, left @ right.T, rtol=1e-12, atol=1e-12)
