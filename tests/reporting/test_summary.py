"""docs/report.md says what summary.json and rows.csv hold; these tests hold it to that, and the other way round."""

import json
import re

import numpy as np
import pytest

import unveil
from tests.places import ROOT
from tests.reporting.schema import mistakes
from tests.reporting.study.made import blobs

SCHEMA = json.loads((ROOT / "docs" / "summary.schema.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found():
    """A report with all that there can be: a label, an order in time, a row that fits nowhere."""
    table = blobs(120)
    table["kind"] = np.repeat(["low", "high"], 60)
    table["day"] = np.arange("2024-01-01", "2024-04-30", dtype="datetime64[D]")[:120]
    table.loc[7, "x0"] = 60.0
    return unveil.report(table, label="kind", time="day", max_components=2)


@pytest.fixture(scope="module")
def said():
    """The table of the page: for each key of summary.json, the keys below it."""
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", PAGE.partition("| key | what it holds |")[2], re.M)
    return {key: set(re.findall(r"`(\w+)`", words)) for keys, words in rows for key in re.findall(r"`(\w+)`", keys)}


def test_every_key_is_in_the_table_of_the_page(found, said):
    assert set(said) == set(found.summary)


def test_keys_below_are_in_the_table_of_the_page(found, said):
    for key, value in found.summary.items():
        one = next(iter(value), None) if isinstance(value, list) else value
        below = set(one) if isinstance(one, dict) else set()
        assert said[key] == below, key
    assert found.summary["outliers"]
    assert found.summary["groups"]


def test_it_is_json_as_everybody_reads_it(found):
    assert json.loads(json.dumps(found.summary, allow_nan=False)) == found.summary


def test_it_keeps_its_schema(found):
    assert mistakes(found.summary, SCHEMA) == []


def test_one_of_no_groups_that_was_cut_short_keeps_it_too():
    random = np.random.default_rng(0)
    table = {"a": random.normal(size=80), "b": [None, *random.choice(["x", "y", "z"], 79)], "c": ["same"] * 80}
    found = unveil.report(table, max_components=2, time_limit=1e-3).summary
    assert found["cut"]
    assert mistakes(found, SCHEMA) == []


def test_the_schema_refuses_what_it_should(found):
    wrong = json.loads(json.dumps(found.summary)) | {"clusters": "2", "more": 1}
    wrong["verdicts"]["real"] = "perhaps"
    wrong["groups"][0]["name"] = "group 0"
    del wrong["rows"]["imputed"]
    assert len(mistakes(wrong, SCHEMA)) == 5


def test_the_schema_knows_all_roles():
    from unveil.tables.roles.role import ROLES

    assert SCHEMA["properties"]["columns"]["items"]["properties"]["role"]["enum"] == list(ROLES)


def test_facts(found):
    summary = found.summary
    roles = {column["name"]: (column["role"], column["used"]) for column in summary["columns"]}
    number = ("number", True)
    assert roles == {"x0": number, "x1": number, "kind": ("label", False), "day": ("time", False)}
    assert summary["rows"] == {"read": 120, "used": 120, "imputed": 0}
    assert summary["clusters"] == found.n_clusters
    assert summary["headline"] == found.headline
    assert summary["label"]["classes"] == ["high", "low"]
    assert 8 in [outlier["row"] for outlier in summary["outliers"]]


def test_rows_have_the_columns_that_the_page_names(found, tmp_path):
    bullet = re.search(r"^\* `rows\.csv`.*?(?=^\* )", PAGE, re.M | re.DOTALL)
    assert bullet
    named = re.findall(r"`(\w+)`", bullet[0])
    found.save_outputs(tmp_path)
    header = (tmp_path / "rows.csv").read_text().partition("\n")[0].replace('"', "").split(",")
    assert header == ["x0", "x1", "kind", "day", *named]
