"""The role of every column is the one that a person would give it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables.columns import COLUMNS, N
from unveil.tables import prepare


def roles(data, **said):
    return {role.name: role.role for role in prepare(data, **said).roles}


@pytest.mark.parametrize(("name", "cells", "expected"), COLUMNS, ids=[f"{name}: {role}" for name, _, role in COLUMNS])
def test_a_column_alone(name, cells, expected):
    ready = prepare({name: cells})
    role = ready.roles[0]
    assert role.role == expected, role.why
    assert role.why
    assert role.used == bool(role.kind) == (role.name in ready.frame.column_names)


def few(columns):
    return {name: cells for name, cells, _ in columns}


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(COLUMNS), min_size=2, max_size=8, unique_by=lambda one: one[0]), st.randoms())
def test_the_order_of_columns_changes_no_role(columns, random):
    mixed = list(columns)
    random.shuffle(mixed)
    assert roles(few(columns)) == roles(few(mixed))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=8, unique_by=lambda one: one[0]))
def test_a_key_beside_them_changes_no_role(columns):
    table = few(columns)
    with_key = roles({"record_id": np.arange(N) + 7, **table})
    assert with_key.pop("record_id") == "identifier"
    assert with_key == roles(table)


def test_the_library_of_the_frame_does_not_matter():
    words = few(one for one in COLUMNS if one[0] in ("height", "sibsp", "alive", "level", "day", "email"))
    frame = pd.DataFrame(words)
    assert roles(frame) == roles(words) == roles(pa.Table.from_pandas(frame))


def test_a_small_table_of_whole_numbers_is_one_of_numbers():
    rows = np.random.default_rng(0).integers(0, 100, (12, 3))
    assert set(roles(rows).values()) == {"number"}


def test_many_cities_keep_the_frequent_ones():
    rng = np.random.default_rng(0)
    cities = np.array([f"city {k}" for k in range(200)])[np.minimum(rng.geometric(0.02, 3000) - 1, 199)]
    role = prepare({"city": cities}).roles[0]
    assert role.role == "category"
    assert len(role.levels) == 50
    joined = len(set(cities.tolist())) - 49
    assert role.rest == role.levels[-1] == f"other ({joined} values)"
    assert f"{joined} of" in role.why


def test_missing_and_skewed_and_nearly_constant_columns_are_said():
    rng = np.random.default_rng(0)
    table = {
        "gone": [None if k % 2 else float(k % 7) + 0.5 for k in range(300)],
        "skew": rng.lognormal(0, 3, 300),
        "same": ["a"] * 299 + ["b"],
        "inf": np.where(np.arange(300) == 3, np.inf, rng.normal(size=300)),
        "species": ["x", "y", "z"] * 100,
    }
    said = {role.name: " ".join(role.alerts) for role in prepare(table).roles}
    assert "50% of its cells are missing" in said["gone"]
    assert "very skewed" in said["skew"]
    assert "all but 1 of its cells are 'a'" in said["same"]
    assert "1 infinite cells" in said["inf"]
    assert "--label species" in said["species"]


def test_stray_zeros_and_frequencies_are_said():
    rng = np.random.default_rng(0)
    pressure = rng.normal(70, 8, 200).round(1)
    pressure[[3, 50]] = 0
    said = {
        role.name: " ".join(role.alerts) for role in prepare({"p": pressure, "Freq": rng.integers(2, 90, 200)}).roles
    }
    assert "0 occurs 2 times" in said["p"]
    assert "--weights Freq" in said["Freq"]
    grown = np.where(np.arange(200) % 9 == 0, 0, rng.gamma(1, 10, 200).round(2))
    assert "0 occurs" not in " ".join(prepare({"rain": grown}).roles[0].alerts)
