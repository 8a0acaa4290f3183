import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.storage.values import decode, encode

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.floats().map(np.float64)
    | st.floats(width=32).map(np.float32)
    | st.integers(-128, 127).map(np.int8)
    | st.booleans().map(np.bool_)
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


def there_and_back(value):
    arrays = {}
    return decode(json.loads(json.dumps(encode(value, "v", arrays), allow_nan=False)), arrays)


@given(VALUES)
def test_values_come_back_equal_and_of_the_same_type(value):
    back = there_and_back(value)
    assert type(back) is type(value)
    assert repr(back) == repr(value)  # nan equals itself here


def test_arrays_are_put_aside_under_the_name():
    arrays = {}
    table = np.eye(2)
    assert encode([table, 1], "x", arrays) == [{"array": "x.0"}, 1]
    assert arrays["x.0"] is table


def test_names_come_back_as_an_array_of_objects():
    names = np.array(["a", "ü<b>", ""], dtype=object)
    back = there_and_back(names)
    assert back.dtype == object
    assert back.tolist() == names.tolist()
    assert there_and_back(np.array(["x", "yy"])).tolist() == ["x", "yy"]


def test_word_subclass_of_numpy_becomes_a_word():
    assert there_and_back(np.str_("ward")) == "ward"


def test_keys_that_are_numbers_make_pairs():
    assert encode({2: "category", "x": 1}, "v", {}) == {"pairs": [[2, "category"], ["x", 1]]}
    assert there_and_back({np.int64(2): "a"}) == {2: "a"}


@pytest.mark.parametrize(
    "cells", [["a", 1, 2.5, True], [np.int64(1), np.float32(2.5), np.bool_(True)], [float("nan"), float("-inf"), 0]]
)
def test_objects_come_back_with_their_types(cells):
    back = there_and_back(np.array(cells, dtype=object))
    assert back.dtype == object
    assert [type(cell) for cell in back] == [type(cell) for cell in cells]
    assert repr(back.tolist()) == repr(cells)


def test_what_is_inside_may_be_for_somebody_else():
    def shout(value, name, arrays):
        return f"{name}={value}".upper()

    assert encode([1, (2,)], "v", {}, shout) == ["V.0=1", "V.1=(2,)"]
    assert decode({"dict": {"a": [1]}}, {}, lambda stored, arrays: str(stored)) == {"a": "[1]"}


def test_infinities_and_nan_are_words():
    assert encode(-math.inf, "v", {}) == {"float": "-inf"}
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize(
    "value", [object(), len, {1.5: 2}, {True: 2}, {1, 2}, b"x", np.array([1j]), np.array([{}]), 1j]
)
def test_what_cannot_be_stored_is_named(value):
    with pytest.raises(TypeError, match=r"thing is .* cannot be stored"):
        encode(value, "thing", {})


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"a": 1, "b": 2},
        {"call": "os.system"},
        {"float": "1e5"},
        {"float": []},
        {"array": "gone"},
        {"array": []},
        {"scalar": ["object", 1]},
        {"scalar": 3},
        {"strings": [1]},
        {"strings": "abc"},
        {"tuple": "abc"},
        {"tuple": 3},
        {"dict": [1]},
        {"objects": [None]},
        {"objects": "abc"},
        {"pairs": [[1]]},
        {"pairs": [[1.5, 2]]},
        {"pairs": [[True, 2]]},
        {"pairs": [3]},
        {"pairs": {"a": 1}},
        [{"nested": 1}],
    ],
    ids=str,
)
def test_what_was_never_written_is_refused(stored):
    with pytest.raises(ValueError, match="is no stored value"):
        decode(stored, {})
