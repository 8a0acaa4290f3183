"""What a user says of columns is done, and what cannot be is said."""

import numpy as np
import pyarrow as pa
import pytest

from unveil.sources import DataError
from unveil.tables import prepare
from unveil.tables.roles.role import ROLES, SYNONYMS, role_word

N = 60
rng = np.random.default_rng(4)
TABLE = {
    "key": [f"k{k}" for k in range(N)],
    "size": rng.normal(size=N),
    "stars": rng.integers(1, 6, N),
    "kind": rng.choice(["a", "b", "c"], N),
    "sure": rng.choice(["yes", "no"], N),
    "w": rng.uniform(0.5, 3.0, N),
    "day": np.datetime64("2020-01-01") + np.arange(N)[::-1],
}


def roles(**said):
    return {role.name: role.role for role in prepare(TABLE, **said).roles}


GUESSED = {
    "key": "identifier",
    "size": "number",
    "stars": "ordered category",
    "kind": "category",
    "sure": "yes/no",
    "w": "number",
    "day": "date",
}


def test_what_is_guessed():
    assert roles() == GUESSED
    ready = prepare(TABLE)
    assert ready.names == ("size", "stars", "kind", "sure", "w")
    assert ready.kinds == ("number", "category", "category", "yes/no", "number")
    words = pa.dictionary(pa.int32(), pa.string())
    assert ready.frame.schema.types == [pa.float64(), words, words, pa.bool_(), pa.float64()]
    assert ready.number_names == ("size", "w")
    assert ready.numbers.tolist() == np.stack([TABLE["size"], TABLE["w"]], axis=1).tolist()
    assert ready.row_names.tolist() == TABLE["key"]
    assert (ready.rows_read, ready.rows_used) == (N, N)


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ({"roles": {"stars": "number"}}, {"stars": "number"}),
        ({"roles": {"stars": "count"}}, {"stars": "count"}),
        ({"roles": {"stars": "Categorical"}}, {"stars": "category"}),
        ({"roles": {"size": "id"}}, {"size": "identifier"}),
        ({"roles": {"kind": "ordinal", "size": "drop"}}, {"kind": "ordered category", "size": "dropped"}),
        ({"roles": {"key": "category"}}, {"key": "category"}),
        ({"roles": {"sure": "category"}}, {"sure": "category"}),
        ({"drop": ["w", "kind"]}, {"w": "dropped", "kind": "dropped"}),
        ({"drop": "w"}, {"w": "dropped"}),
        ({"label": "kind"}, {"kind": "label"}),
        ({"roles": {"kind": "label"}}, {"kind": "label"}),
        ({"weights": "w"}, {"w": "weights"}),
        ({"time": "size"}, {"size": "time"}),
    ],
)
def test_the_user_has_the_last_word(said, changed):
    assert roles(**said) == {**GUESSED, **changed}
    ready = prepare(TABLE, **said)
    assert all(ready.role(name).used == bool(ROLES[role]) for name, role in changed.items())


def test_some_columns_and_those_that_are_named():
    assert roles(columns=["size", "kind"], label="sure") == {"size": "number", "kind": "category", "sure": "label"}


def test_label_weights_and_time():
    ready = prepare(TABLE, label="stars", weights="w")
    assert ready.label.name == "stars"
    assert ready.label.values.tolist() == [str(star) for star in TABLE["stars"]]
    assert ready.weights.tolist() == TABLE["w"].tolist()
    assert ready.time.name == "day"
    assert ready.time.order.tolist() == list(range(N))[::-1]
    assert ready.time.values.dtype.kind == "M"
    assert prepare(TABLE, time=False).time is None
    by_size = prepare(TABLE, time="size").time
    assert by_size.values[by_size.order].tolist() == sorted(TABLE["size"])
    mixed = {**TABLE, "day": rng.permutation(TABLE["day"])}
    assert prepare(mixed).time is None
    assert prepare(mixed, time="day").time.name == "day"
    assert prepare({"t": np.arange(N), "x": TABLE["size"]}).time.name == "t"
    assert prepare({"row": np.arange(N), "x": TABLE["size"]}).time is None


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"roles": {"sise": "number"}}, "roles: there is no column 'sise'; did you mean 'size'"),
        ({"roles": {"size": "catgory"}}, "'size' cannot be 'catgory'; did you mean 'category'"),
        ({"drop": ["nothing at all"]}, "drop: there is no column 'nothing at all'. The table has 'key'"),
        ({"label": "Kind"}, "label: there is no column 'Kind'; did you mean 'kind'"),
        ({"label": "kind", "roles": {"sure": "label"}}, "label must be one column, got 'kind', 'sure'"),
        ({"label": "w", "weights": "w"}, "must be different columns"),
        ({"columns": "size"}, "columns must be a list of names"),
        ({"roles": {"kind": "number"}}, "'kind' cannot be a number: most of its cells are no numbers"),
        ({"roles": {"size": "count"}}, "'size' cannot be a count"),
        ({"roles": {"kind": "yes/no"}}, "'kind' cannot be yes/no: it has 3 different values"),
        ({"weights": "size"}, "weights: column 'size' must hold numbers from 0 on; that of row"),
        ({"time": "kind"}, "time: column 'kind' must hold dates or numbers, got text"),
        ({"weights": "kind"}, "weights: column 'kind' must hold numbers from 0 on; that of row 1 is missing or no"),
    ],
)
def test_mistakes_are_named(said, match):
    with pytest.raises(ValueError, match=match):
        prepare(TABLE, **said)


def test_an_empty_column_cannot_be_modelled():
    with pytest.raises(DataError, match="all of its cells are missing"):
        prepare({"x": [None, None]}, roles={"x": "number"})


def test_synonyms_mean_roles():
    assert set(SYNONYMS.values()) <= set(ROLES)
    assert [role_word(word, "x") for word in ("ID", "ordered_category", "Yes/No", "near copy")] == [
        "identifier",
        "ordered category",
        "yes/no",
        "near-copy",
    ]


def test_rows_without_a_cell_or_a_weight_are_not_used():
    table = {"x": [1.5, None, 2.5, 3.5, 7.25], "kind": ["a", None, None, "b", "a"], "w": [1, 1, 1, 0, 2]}
    ready = prepare(table, weights="w", roles={"kind": "category"})
    assert (ready.rows_read, ready.rows_used) == (5, 3)


def test_a_table_with_nothing_to_model_is_prepared_all_the_same():
    ready = prepare({"key": TABLE["key"]})
    assert ready.names == ()
    assert ready.numbers.shape[1] == 0
    assert ready.rows_used == 0
