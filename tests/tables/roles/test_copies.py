"""Columns that repeat another are found, and chance does not make them."""

import numpy as np
import pandas as pd
import pytest

from unveil.tables import prepare
from unveil.tables.roles.copies import correlations

rng = np.random.default_rng(3)
N = 300
CELSIUS = np.round(rng.normal(15, 8, N), 1)
CLASSES = rng.integers(1, 4, N)


def copies(data, **said):
    return {role.name: role.copy_of for role in prepare(data, **said).roles if role.role == "near-copy"}


def test_the_same_measurement_in_another_unit():
    table = {"celsius": CELSIUS, "other": rng.normal(size=N), "fahrenheit": np.round(CELSIUS * 1.8 + 32, 1)}
    assert copies(table) == {"fahrenheit": "celsius"}
    assert copies({**table, "below": -CELSIUS}) == {"fahrenheit": "celsius", "below": "celsius"}


def test_rows_that_one_lacks_do_not_matter_unless_they_are_most():
    some = np.where(np.arange(N) % 10 == 0, np.nan, CELSIUS)
    assert copies({"a": some, "b": CELSIUS + 3.5}) == {"b": "a"}
    few = np.where(np.arange(N) % 10 == 0, CELSIUS, np.nan)
    assert copies({"a": few, "b": CELSIUS + 3.5}) == {}


def test_one_row_far_out_makes_no_copy():
    first, second = rng.normal(size=N), rng.normal(size=N)
    first[0] = second[0] = 1e6
    assert copies({"a": first, "b": second}) == {}


def test_strong_correlation_is_no_copy():
    assert copies({"a": CELSIUS, "b": CELSIUS + rng.normal(0, 0.5, N)}) == {}


def test_codes_and_names_of_the_same_thing_keep_the_names():
    names = np.array(["First", "Second", "Third"])[CLASSES - 1]
    assert copies({"pclass": CLASSES, "class": names}) == {"pclass": "class"}
    assert copies({"class": names, "pclass": CLASSES}) == {"pclass": "class"}
    assert copies({"s": CLASSES == 1, "alive": np.where(CLASSES == 1, "yes", "no")}) == {"alive": "s"}


def test_a_word_of_the_user_decides_which_is_kept():
    names = np.array(["First", "Second", "Third"])[CLASSES - 1]
    assert copies({"pclass": CLASSES, "class": names}, roles={"pclass": "category"}) == {"class": "pclass"}
    both = {"pclass": "category", "class": "category"}
    assert copies({"pclass": CLASSES, "class": names}, roles=both) == {}


def test_what_repeats_the_label_is_not_modelled():
    table = {"alive": np.where(CLASSES == 1, "yes", "no"), "survived": (CLASSES == 1).astype(int), "x": CELSIUS}
    ready = prepare(table, label="survived")
    assert {role.name: role.copy_of for role in ready.roles if role.role == "near-copy"} == {"alive": "survived"}
    assert ready.names == ("x",)


def test_chance_makes_no_copy_of_rare_values():
    rare = np.zeros(N, dtype=int)
    rare[7] = 1
    assert copies({"a": rare, "b": np.where(rare, "on", "off")}) == {}


def test_correlations_over_shared_rows_are_those_of_pandas():
    rows = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4)) + 1000
    rows[rng.random(rows.shape) < 0.2] = np.nan
    assert correlations(rows) == pytest.approx(pd.DataFrame(rows).corr().to_numpy(), abs=1e-9)


def test_logs_squares_and_powers_repeat_what_they_are_made_of():
    price, age = rng.lognormal(11, 0.4, N).round(), rng.integers(0, 60, N)
    table = {"price": price, "lprice": np.log(price).round(5), "age": age, "agesq": age**2, "other": rng.normal(size=N)}
    assert copies(table) == {"lprice": "price", "agesq": "age"}
    assert copies({"l": np.log(price), "lsq": np.log(price) ** 2, "price": price}) == {"lsq": "l", "price": "l"}
    assert copies({"a": price, "b": price ** rng.normal(2, 0.01, N)}) == {}


def test_dummies_follow_from_their_category():
    year = rng.choice([1978, 1981, 1984], N)
    table = {
        "year": year,
        "y81": (year == 1981) * 1,
        "nearly": np.where(np.arange(N) == 7, 1 - (year == 1981), year == 1981),
    }
    assert copies(table) == {"y81": "year"}
    assert copies(table, label="y81") == {}


def test_a_rare_word_follows_from_nothing():
    rare = np.where(np.arange(N) == 7, "yes", "no")
    assert copies({"day": rng.choice(list("abcdefg"), N), "rare": rare}) == {}


def test_codes_of_which_one_is_missing_are_codes_all_the_same():
    names = [f"country {k:03d}" for k in range(100)]
    codes = [None if k == 50 else f"c{k:03d}" for k in range(100)]
    assert copies({"name": names * 3, "short": codes * 3}) == {"short": "name"}
