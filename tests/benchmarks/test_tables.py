"""A third of the tables that reports are held to, and that the judge can tell right from wrong. All: `make tables`."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from benchmarks.tables import __main__ as command
from benchmarks.tables import held_out
from benchmarks.tables.case import Case, Made, Skipped
from benchmarks.tables.catalogue import CATALOGUE, WITHOUT_GROUPS, chosen
from benchmarks.tables.expected import (
    BAD_CELLS,
    BEGINS,
    CONSTANT,
    IDENTIFIER,
    MIXED,
    NEAR_COPY,
    NOT_CLAIMED,
    NUMBER,
    YES,
    Facts,
    column,
    some,
)
from benchmarks.tables.judge import LARGEST_PAGE, Output, judged
from benchmarks.tables.run import left_behind, visible

LABELS = np.repeat([0, 1], 50)
CASE = Case(
    "made_up",
    "for the judge",
    lambda folder, random: Made(folder / "none"),
    (
        column("number", IDENTIFIER),
        column("cm", NUMBER, NEAR_COPY, alerts=(BAD_CELLS,)),
        column("inch", NUMBER, NEAR_COPY),
        column("twice", CONSTANT, named=BEGINS),
    ),
    Facts(
        100,
        some(2),
        real=frozenset({YES}),
        models=MIXED,
        agreement=0.9,
        one_of=(("cm", "inch"),),
        page_says=("two regimes",),
        page_never=(r"0\.0\b",),
    ),
)


def summary() -> dict:
    return {
        "columns": [
            {"name": "number", "role": "identifier", "used": False, "alerts": []},
            {"name": "cm", "role": "number", "used": True, "alerts": ["2 cells do not fit"]},
            {"name": "inch", "role": "near-copy", "used": False, "alerts": []},
            {"name": "twice (2)", "role": "constant", "used": False, "alerts": []},
        ],
        "rows": {"read": 100, "used": 100, "imputed": 3},
        "model": {"class": "MixedMixture", "parameters": {}},
        "components": 2,
        "clusters": 2,
        "verdicts": {"sound": "yes", "describes": "doubtful", "real": "yes"},
        "headline": "There are two groups. Left out: number, twice.",
    }


def output(**changes: object) -> Output:
    right = Output(0, "done", summary(), "two regimes", 10_000, (LABELS + 1).tolist(), 100)
    return dataclasses.replace(right, **changes)


def test_what_is_right_is_called_right():
    verdict = judged(CASE, output(), LABELS)
    assert verdict.wrong == []
    assert (verdict.columns_right, verdict.columns) == (4, 4)
    assert verdict.facts_right == verdict.facts > 10


def changed(*path: object, to: object) -> dict:
    """The right summary with one thing in it changed."""
    made = summary()
    place = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return made


WRONG = {
    "a role": (("columns", 0, "role"), "number", "number: role 'number', expected identifier"),
    "used": (("columns", 0, "used"), True, "number: used is True"),
    "used in words": (("columns", 1, "used"), "yes", "cm: used is 'yes'"),
    "an alert": (("columns", 1, "alerts"), [], "no alert says"),
    "a name": (("columns", 2, "name"), "foot", "'inch' is called 'foot'"),
    "both copies": (("columns", 2, "used"), True, "of cm and inch one is to be used"),
    "a column is gone": (("columns",), summary()["columns"][:3], "3 columns in the summary"),
    "rows read": (("rows", "read"), 99, "rows read: 99, expected 100"),
    "rows used": (("rows", "used"), 70, "rows used: 70"),
    "the model": (("model", "class"), "GaussianMixture", "model: 'GaussianMixture'"),
    "groups": (("clusters",), 3, "clusters: 3, expected 2"),
    "not real": (("verdicts", "real"), "no", "groups are real: 'no', expected yes"),
    "no verdict": (("verdicts",), {"real": "yes"}, "sound: None"),
    "the headline is silent": (("headline",), "There are groups.", "does not say that there are 2 groups"),
    "the headline on a key": (("headline",), "Two groups: high number.", "the headline speaks of number"),
    "no headline": (("headline",), "", "no headline"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_in_a_summary_is_called_wrong(what):
    path, value, said = WRONG[what]
    verdict = judged(CASE, output(summary=changed(*path, to=value)), LABELS)
    assert any(said in line for line in verdict.wrong), verdict.wrong


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exit_code": 2, "said": "unveil: error: no"}, "exit code 2, expected 0"),
        ({"exit_code": 2, "said": "unveil: error: unexpected KeyError: 'x'"}, "ended in a traceback"),
        ({"said": "Traceback: ValueError"}, "ended in a traceback"),
        ({"summary": None}, "no summary.json"),
        ({"page": "one regime, 0.0"}, "does not say 'two regimes'"),
        ({"page": "two regimes, differs by 0.0"}, "the page says '0.0'"),
        ({"page_bytes": LARGEST_PAGE + 1}, "bytes"),
        ({"groups": np.tile([1, 2], 50).tolist()}, "agree with the planted ones"),
        ({"groups": None}, "no column of groups"),
        ({"n_rows": 99}, "the rows file has 99 rows"),
    ],
)
def test_what_is_wrong_beside_the_summary_is_called_wrong(changes, said):
    wrong = judged(CASE, output(**changes), LABELS).wrong
    assert any(said in line for line in wrong), wrong


def test_a_refusal_is_right_where_it_is_expected():
    refused = dataclasses.replace(CASE, facts=Facts(0, exit_codes=frozenset({2})))
    assert judged(refused, Output(2, "unveil: error: the file has no rows")).right
    assert not judged(refused, Output(2, "unveil: error: unexpected IndexError: 0")).right
    assert not judged(refused, Output(2, "unveil: error: No such option: --outputs")).right
    assert not judged(refused, output()).right


def test_groups_that_are_not_real_have_to_be_denied():
    facts = Facts(100, real=NOT_CLAIMED)
    none = dataclasses.replace(CASE, facts=facts)
    doubted = changed("verdicts", "real", to="no")
    assert not judged(none, output(summary={**doubted, "headline": "There are two groups."})).right
    assert judged(none, output(summary={**doubted, "headline": "There are no groups."})).right


def test_what_a_report_leaves_behind_is_read(tmp_path):
    page = tmp_path / "report.html"
    page.write_text("<style>p {}</style><p>two <b>regimes</b></p>", encoding="utf-8")
    (tmp_path / "summary.json").write_text(json.dumps(summary()), encoding="utf-8")
    lines = ['"a\nb",1'] * 50 + ["c,2"] * 50
    (tmp_path / "rows.csv").write_text("text,group\n" + "\n".join(lines) + "\n", encoding="utf-8")
    assert judged(CASE, left_behind(tmp_path, page, "", 1.0), LABELS).right
    (tmp_path / "summary.json").write_text('{"clusters": NaN}', encoding="utf-8")
    assert "NaN" in left_behind(tmp_path, page, "", 1.0).trouble
    assert visible("<p>a</p><script>b</script>") == "a"


def test_there_are_as_many_tables_as_there_should_be():
    assert len(CATALOGUE) >= 60
    assert len(chosen(third=True)) >= len(CATALOGUE) / 3
    assert len(WITHOUT_GROUPS) >= 12
    assert all(YES not in CATALOGUE[name].facts.real for name in WITHOUT_GROUPS)


@pytest.mark.parametrize("case", [*chosen(third=True), *held_out.drawn(0, 5)], ids=lambda case: case.name)
def test_a_table_is_the_same_each_time(case, tmp_path):
    try:
        first, second = case.write(tmp_path / "a"), case.write(tmp_path / "b")
    except Skipped as why:
        pytest.skip(str(why))
    if first.path.suffix != ".xlsx":  # which keeps the time at which it was written
        assert first.path.read_bytes() == second.path.read_bytes()
    assert first.labels is None or len(first.labels) == case.facts.rows


def test_the_exit_code_is_1_where_a_table_is_wrong(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "reported", lambda case, made, folder: output(said="Traceback: KeyError"))
    assert command.main(["--only", "two_rows", "--keep", str(tmp_path)]) == 1
    assert "WRONG" in capsys.readouterr().out
    assert (tmp_path / "two_rows" / "two_rows.csv").exists()


@pytest.mark.parametrize("case", chosen(third=True), ids=lambda case: case.name)
def test_the_report_says_what_a_careful_analyst_would(case, tmp_path):
    verdict, _ = command.checked(case, tmp_path)
    assert verdict.right, "\n".join(verdict.wrong)
