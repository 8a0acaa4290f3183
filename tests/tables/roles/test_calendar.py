"""Columns that say together when a row was give the order of the rows, where they do rise."""

import numpy as np
import pytest

from unveil.tables import prepare

rng = np.random.default_rng(4)
MONTHS = np.arange(120)
TABLE = {"Year": 1990 + MONTHS // 12, "Month": 1 + MONTHS % 12, "x": rng.normal(size=120)}


def test_year_and_month_are_the_time():
    ready = prepare(TABLE)
    assert ready.recipe.time == "Year"
    assert [role.role for role in ready.roles] == ["date", "date", "number"]
    assert np.array_equal(ready.time.order, np.arange(120))


@pytest.mark.parametrize(
    "table",
    [
        {name: cells[rng.permutation(120)] for name, cells in TABLE.items()},  # in no order
        {name: np.tile(cells[:40], 3) for name, cells in TABLE.items()},  # of three units, one after the other
        {name: np.repeat(cells[:24], 5) for name, cells in TABLE.items()},  # of many units at a time
        {"Month": TABLE["Month"], "x": TABLE["x"]},  # alone
    ],
    ids=["shuffled", "panel", "repeated", "alone"],
)
def test_other_tables_have_no_time(table):
    ready = prepare(table)
    assert ready.recipe.time is None
    assert ready.role("Month").role == "ordered category"


def test_the_user_has_the_last_word():
    assert prepare(TABLE, time=False).recipe.time is None
    assert prepare(TABLE, roles={"Month": "category"}).role("Month").role == "category"


def test_a_counter_that_begins_again_is_no_time():
    ready = prepare({"t": np.tile(np.arange(1, 61), 3), "x": rng.normal(size=180)})
    assert (ready.role("t").role, ready.recipe.time) == ("row number", None)
