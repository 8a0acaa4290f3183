import json

import numpy as np
import pandas as pd

from unveil.reporting.comparison.compare import compare


def people(random, rows, shift=0.0, share=0.5):
    """Two kinds of people: heights, towns with holes, and a key."""
    tall = random.random(rows) < share
    towns = np.where(random.random(rows) < 0.1, None, np.where(tall, "York", "Bath"))
    heights = random.normal(1.5 + 0.4 * tall + shift, 0.05).round(3)
    return pd.DataFrame({"key": [f"p{n:05d}" for n in range(rows)], "height": heights, "town": towns})


def test_equal_tables_do_not_differ():
    random = np.random.default_rng(0)
    found = [compare(people(random, 300), people(random, 200), max_components=3) for _ in range(3)]
    assert sum(one.words[0] == "Nothing changed beyond chance." for one in found) >= 2  # groups: one in twenty
    assert not any(one.drifted for one in found)


def test_drift_groups_and_misfits():
    random = np.random.default_rng(1)
    new = people(random, 300, share=0.8)
    new.loc[7, "height"] = 9.0
    new.loc[10:100, "town"] = None
    new.loc[101:110, "town"] = "Hull"
    found = compare(people(random, 400), new, max_components=3)
    by_name = {column.name: column for column in found.columns}
    assert by_name["key"].size == "none"
    assert by_name["height"].drifted
    assert "missing in" in by_name["town"].words
    assert "new: Hull (10 rows)" in by_name["town"].words
    assert found.misfits.rows[0] == 8
    assert found.row_names[0] == "p00007"
    assert sum(group.changed for group in found.groups) == 2
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["misfits"]["row_names"][0] == "p00007"


def test_many_rows_do_not_make_a_drift():
    random = np.random.default_rng(2)
    old, new = random.normal(size=(60_000, 1)), random.normal(0.05, size=(60_000, 1))
    found = compare(old, new, max_components=1)
    assert found.columns[0].p < 1e-6
    assert found.columns[0].size == "none"


def test_columns_that_are_something_else_now():
    random = np.random.default_rng(3)
    old = pd.DataFrame({"a": random.normal(size=90), "b": random.normal(size=90), "gone": random.normal(size=90)})
    new = pd.DataFrame({"a": random.choice(["low", "high"], 90), "b": 1.5, "come": random.normal(size=90)})
    found = compare(old, new, max_components=2)
    assert {column.name: column.size for column in found.columns} == {"a": "kind", "b": "kind"}
    assert (found.came, found.went) == (("come",), ("gone",))
    assert found.misfits is None
    assert any("not compared" in words for words in found.remarks)
