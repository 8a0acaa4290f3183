import shlex

import pytest
from typer.testing import CliRunner

import unveil
from tests.places import EXAMPLES
from unveil.cli.app import app
from unveil.reporting.reproduce import ReportRequest, command_line, python_lines

ASKED = {
    "columns": ["eruptions", "waiting"],
    "drop": ["waiting"],
    "time": False,
    "header": True,
    "max_components": 2,
    "covariance_types": ["full", "diag"],
    "time_limit": 60.0,
}


@pytest.fixture(scope="module")
def found():
    return unveil.report(EXAMPLES / "faithful.csv", **ASKED, seed=3)


def test_the_command_is_one_that_the_command_line_takes(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command_line(found._analysis, found._request))
    assert " ".join(words[5:]) == (
        "--seed 3 --columns eruptions,waiting --drop waiting --time none --header --max-components 2 "
        "--covariance full,diag --time-limit 60"
    )
    assert CliRunner().invoke(app, words[1:]).exit_code == 0


def test_the_python_gives_the_same_answer(found):
    names = {}
    exec(python_lines(found._analysis, found._request).replace("report.save", "str"), names)
    assert names["report"].headline == found.headline
    assert names["report"].summary["seed"] == 3


def test_a_table_without_a_path_has_no_command(found):
    frame = unveil.report([[1.0, 2.0], [3.0, 5.0], [2.0, 2.5]], max_components=1)
    assert command_line(frame._analysis, ReportRequest()) is None
    assert "# data: the table that was handed in" in python_lines(frame._analysis, ReportRequest())
