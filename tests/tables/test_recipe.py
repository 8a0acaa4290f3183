"""A recipe makes of another table what was made of the first, and takes nothing unchecked from a file."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from tests.tables.columns import COLUMNS, N
from unveil.sources import DataError
from unveil.tables import Recipe, prepare


def again(recipe):
    """The recipe after a journey through a file."""
    return Recipe.from_dict(json.loads(json.dumps(recipe.to_dict())))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=10, unique_by=lambda one: one[0]))
def test_the_same_table_gives_the_same_frame(columns):
    table = {name: cells for name, cells, _ in columns}
    ready = prepare(table)
    assert again(ready.recipe) == ready.recipe
    found = again(ready.recipe).apply(table)
    assert found.frame.equals(ready.frame)
    assert found.unknown == {}
    assert [role.role for role in found.roles] == [role.role for role in ready.roles]


def test_the_same_file_gives_the_same_frame(tmp_path):
    simple = [one for one in COLUMNS if one[0] not in ("waiting", "blanks", "")]
    frame = pd.DataFrame({name: cells for name, cells, _ in simple})
    path = tmp_path / "many.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    ready = prepare(path)
    expected = {name: role for name, _, role in simple}
    roles = {role.name: role.role for role in ready.roles}
    assert {name: role for name, role in roles.items() if role not in ("near-copy", expected[name])} == {}
    found = again(ready.recipe).apply(path)
    assert found.frame.equals(ready.frame)
    assert np.array_equal(found.numbers, ready.numbers, equal_nan=True)
    few = tmp_path / "few.csv"
    frame.head(3).to_csv(few, index=False, sep=";", decimal=",")  # from so few rows nothing could be guessed
    assert again(ready.recipe).apply(few).frame.slice(0, 3).equals(ready.frame.slice(0, 3))


TABLE = {
    "size": np.random.default_rng(0).lognormal(size=N),
    "kind": ["a", "b", "c"] * (N // 3),
    "sure": ["yes", "no"] * (N // 2),
    "n_seen": np.random.default_rng(0).poisson(1.5, N),
}


def test_what_is_new_is_missing_and_counted():
    recipe = prepare(TABLE).recipe
    found = recipe.apply({"size": [1.0, None], "kind": ["z", "a"], "sure": ["YES", "perhaps"], "n_seen": [-1, 2.5]})
    assert found.unknown == {"kind": 1, "sure": 1, "n_seen": 2}
    assert found.frame.to_pydict() == {
        "size": [1.0, None],
        "kind": [None, "a"],
        "sure": [True, None],
        "n_seen": [None, None],
    }
    assert found.frame["kind"].chunk(0).dictionary.to_pylist() == ["a", "b", "c"]


def test_rare_values_stay_together_and_new_ones_join_them():
    cities = [f"city {k}" for k in range(70) for _ in range(1 + (k < 30) * 9)]
    recipe = prepare({"city": cities}).recipe
    column = recipe.columns[0]
    assert column.rest == "other (21 values)"
    found = recipe.apply({"city": ["city 3", "city 69", "elsewhere", None]})
    assert found.frame["city"].to_pylist() == ["city 3", column.rest, column.rest, None]
    assert found.unknown == {}


def test_a_column_that_is_not_there_is_named():
    recipe = prepare(TABLE, label="sure").recipe
    with pytest.raises(ValueError, match=r"the model takes a column 'kind'.*did you mean 'Kind'"):
        recipe.apply({"size": [1.0], "Kind": ["a"], "n_seen": [1]})
    assert recipe.apply({"size": [1.0], "kind": ["a"], "n_seen": [1]}).label is None


def test_transforms_are_done_and_kept():
    ready = prepare({"size": [0.0, 1.0, 10.5, None, *np.arange(16) + 0.25] * 2, "other": np.arange(40) + 0.5})
    moved = ready.with_transforms({"size": "log1p"})
    want = np.log1p([0.0, 1.0, 10.5])
    assert moved.frame["size"].to_pylist()[:3] == pytest.approx(want)
    assert moved.numbers[:3, 0] == pytest.approx(want)
    assert again(moved.recipe).apply(ready.table).frame.equals(moved.frame)
    assert moved.recipe.with_transforms({"size": ""}) == ready.recipe
    assert ready.recipe.with_transforms({"size": "log"}).apply(ready.table).unknown == {"size": 2}
    with pytest.raises(ValueError, match="the transform of 'size' must be one of"):
        ready.recipe.with_transforms({"size": "exp"})
    with pytest.raises(ValueError, match="no column 'sise'; did you mean 'size'"):
        ready.recipe.with_transforms({"sise": "log"})


def spoilt(**changes):
    return {**prepare(TABLE).recipe.to_dict(), **changes}


def spoilt_column(**changes):
    stored = prepare(TABLE).recipe.to_dict()
    stored["columns"][1].update(changes)
    return stored


@pytest.mark.parametrize(
    "stored",
    [
        [],
        {},
        spoilt(version=2),
        spoilt(more=1),
        spoilt(columns=3),
        spoilt(columns=[{}]),
        spoilt(columns=spoilt()["columns"] * 2),
        spoilt(label="nobody"),
        spoilt(label=["size"]),
        spoilt(identifiers="size"),
        spoilt(reading="x"),
        spoilt_column(name=3),
        spoilt_column(role="king"),
        spoilt_column(role="identifier"),
        spoilt_column(kind="number"),
        spoilt_column(levels=["a", "a"]),
        spoilt_column(levels=[1]),
        spoilt_column(rest="z"),
        spoilt_column(sentinels=[float("nan")]),
        spoilt_column(sentinels=["-1"]),
        spoilt_column(transform="exp"),
        spoilt_column(transform="log"),
        spoilt_column(more=1),
    ],
)
def test_what_no_recipe_can_be_is_refused(stored):
    with pytest.raises(ValueError, match=r"must|cannot|not known"):
        Recipe.from_dict(stored)


def test_a_reading_that_is_malformed_is_an_error_of_data(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size\n1.5\n")
    recipe = Recipe.from_dict({**prepare(path).recipe.to_dict(), "reading": {"version": 1}})
    with pytest.raises(DataError, match="malformed"):
        recipe.apply(path)


def test_a_model_keeps_its_recipe(tmp_path):
    ready = prepare(TABLE)
    model = unveil.MixedMixture(2, random_state=0, n_init=1, max_iter=3, tol=1e9).fit(ready.frame)
    model.recipe_ = ready.recipe.to_dict()
    model.save(tmp_path / "model.unveil")
    loaded = unveil.load(tmp_path / "model.unveil")
    assert loaded.recipe_ == model.recipe_
    frame = Recipe.from_dict(loaded.recipe_).apply(TABLE).frame
    assert np.array_equal(loaded.predict_proba(frame), model.predict_proba(ready.frame))
