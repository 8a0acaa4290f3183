"""Codes that follow from a number by limits, and codes of groups that stand apart."""

import numpy as np
import pytest

from tests.tables.roles.test_copies import copies

rng = np.random.default_rng(5)
N = 200
GRAMS = np.round(rng.normal(2_900, 700, N))
AGE = rng.integers(18, 80, N).astype(float)
BANDS = np.array(["young", "middle", "old"])[np.digitize(AGE, [35, 60])]


def test_a_limit_of_a_number_makes_no_column_of_its_own():
    assert copies({"low": (GRAMS < 2_500).astype(int), "grams": GRAMS, "x": rng.normal(size=N)}) == {"low": "grams"}
    holes = np.where(np.arange(N) % 20 == 0, np.nan, AGE)
    assert copies({"age": holes, "group": BANDS}) == {"group": "age"}
    assert copies({"age": AGE, "group": BANDS}, roles={"group": "category"}) == {}


@pytest.mark.parametrize("apart", [12.0, 30.0])
def test_groups_that_stand_apart_are_no_cut(apart):
    kind = rng.integers(0, 2, N)
    assert copies({"kind": np.array(["a", "b"])[kind], "x": rng.normal(size=N) + apart * kind}) == {}


def test_one_row_on_the_wrong_side_is_enough_to_doubt():
    low = (GRAMS < 2_500).astype(int)
    low[np.argmax(GRAMS)] = 1
    assert copies({"low": low, "grams": GRAMS}) == {}


def test_whole_numbers_may_repeat():
    many = rng.integers(18, 80, 3_000).astype(float)
    assert copies({"age": many, "adult": (many >= 40).astype(int)}) == {"adult": "age"}
    kind = rng.integers(0, 2, 3_000)
    rounded = np.round(rng.normal(10, 8, 3_000) + 100 * kind)
    assert copies({"kind": np.array(["a", "b"])[kind], "x": rounded}) == {}
