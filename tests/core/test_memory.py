"""A limit of memory: sizes as people write them, the strictest of nested ones, what is left of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import unveil
from unveil.core.memory import budget, bytes_of, resident


@pytest.mark.parametrize(
    ("said", "bytes_"),
    [("2GB", 2e9), ("500 mb", 5e8), ("1.5GiB", 1.5 * 2**30), ("2g", 2e9), (10**9, 1e9), ("100000000", 1e8)],
)
def test_sizes_as_people_write_them(said, bytes_):
    assert bytes_of(said) == bytes_


@pytest.mark.parametrize("said", ["2 pounds", "", "GB", "-2GB", 3, True, None, math.nan, "10MB"])
def test_what_is_no_size_is_refused(said):
    with pytest.raises(ValueError, match="size must be as '2GB'"), unveil.memory_limit(said):
        pass


def test_the_budget_is_what_is_left_of_the_strictest_limit():
    assert budget() == math.inf
    held = resident()
    assert held > 1e7
    with unveil.memory_limit(held + 4e9), unveil.memory_limit(held + 1e9):
        with unveil.memory_limit(held + 8e9):
            assert 0 < budget() < 1.2e9
        assert 0 < budget() < 1.2e9
    taken = np.ones(1 << 24)  # 128 MiB
    with unveil.memory_limit("64MiB"):
        assert budget() == 0.0
    del taken
    assert budget() == math.inf
