import json

from hypothesis import given
from hypothesis import strategies as st

from unveil.reporting.paper.shelf import shelved

leaves = st.none() | st.booleans() | st.integers() | st.text()
long = st.just([0.125, 0.25, 0.375, 0.5, 0.625, 0.75])
names = st.text() | st.sampled_from(["@", "@@", "x"])
values = st.recursive(leaves | long, lambda parts: st.lists(parts) | st.dictionaries(names, parts), max_leaves=30)


def taken(value, shelf):
    """What the page's script does (scripts/unpack.js)."""
    if isinstance(value, list):
        return [taken(part, shelf) for part in value]
    if not isinstance(value, dict):
        return value
    if "@" in value:
        return taken(shelf[value["@"]], shelf)
    return {key[1:] if key.startswith("@") else key: taken(part, shelf) for key, part in value.items()}


@given(values)
def test_what_was_put_on_the_shelf_comes_back(value):
    stored = json.loads(json.dumps(shelved(value)))
    assert taken(stored["value"], stored["shelf"]) == value


def test_arrays_in_several_figures_are_stored_once():
    x = [number / 7 for number in range(200)]
    z = [[row + number for number in range(30)] for row in range(4)]
    figures = {"a": {"data": [{"x": x, "z": z}]}, "b": {"data": [{"x": x}, {"z": z[2]}], "frames": [{"y": x}]}}
    text = json.dumps(shelved(figures))
    assert text.count(json.dumps(x)[1:-1]) == 1
    assert text.count(json.dumps(z[2])[1:-1]) == 1
    assert "shelf" in text
    assert shelved([[1, 2], [1, 2]]) == {"value": [[1, 2], [1, 2]], "shelf": []}  # shorter than a reference


def test_one_and_true_are_not_the_same():
    arrays = [[1] * 20, [True] * 20, [1.0] * 20]
    stored = shelved(arrays)
    assert repr(taken(stored["value"], stored["shelf"])) == repr(arrays)
