import json
from pathlib import Path

import pytest

from unveil.cli.errors import LONGEST_LINE

QUICK = ("--max-components", 2)


@pytest.fixture
def sold(tmp_path):
    """Two groups of numbers with a key, a weight, and codes that say which group a row is of."""
    lines = ["key,left,right,times,code"]
    for number in range(60):
        high = number % 2
        cells = (f"K-{number * 37 % 61:04d}", number * number % 13 / 4 + 20 * high, number * 7 % 11 / 3 + 20 * high)
        lines.append(",".join(map(str, (*cells, 1 + number % 3, 7 + high))))
    path = tmp_path / "sold.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def summarised(run, *words):
    result = run("report", *words, *QUICK, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def roles_of(summary):
    return {column["name"]: column["role"] for column in summary["columns"]}


def test_report_on_bundled_data(run, faithful, tmp_path):
    result = run("report", faithful, "-o", "out.html", *QUICK, "--seed", 1, "--threads", 2)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Read as comma-separated text")
    assert lines[1] == "There are two groups among the 272 rows."
    assert "  It rests on 272 rows and 2 columns, all of numbers." in lines
    assert lines[-2].startswith("Is the fit sound? Yes.")
    assert lines[-1] == "The report is in out.html"
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "eruptions" in page


def test_what_it_rests_on_is_said_to_the_end(run, tmp_path):
    names = [f"{'a long name of a column ' * 2}{number}" for number in range(12)]
    rows = [",".join(["1"] * 10 + [str(i * i % 17), str(i * 7 % 13)]) for i in range(40)]
    (tmp_path / "d.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    result = run("report", "d.csv", "--max-components", 1)
    assert result.exit_code == 0, result.output
    assert len(result.stdout) > LONGEST_LINE
    assert all(line.endswith(".") for line in result.stdout.splitlines()[:-1])
    assert "..." not in result.stdout


def test_columns_weights_and_roles(run, sold):
    found = summarised(run, sold, "--weights", "times", "--roles", "code=drop")
    used = [column["name"] for column in found["columns"] if column["used"]]
    assert used == ["left", "right"]
    assert roles_of(found) | {"left": "", "right": ""} == {
        "key": "identifier",
        "left": "",
        "right": "",
        "times": "weights",
        "code": "dropped",
    }
    assert found["clusters"] == 2
    found = summarised(run, sold, "--columns", "left,code", "--roles", "code=category")
    assert roles_of(found) == {"left": "number", "code": "category"}
    assert found["model"]["class"] == "MixedMixture"


def test_a_label_is_set_against_the_groups(run, sold):
    found = summarised(run, sold, "--label", "code", "--drop", "times")
    assert found["label"] == {"name": "code", "classes": ["7", "8"], "agreement": 1.0}
    assert "Not part of the model: key (identifier), times (dropped) and code (label)." in found["rests_on"]


def test_outputs_beside_the_page(run, refused, faithful, tmp_path):
    words = ("report", faithful, *QUICK, "--outputs", "out", "-o", "out/page.html")
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("Beside it: out/model.unveil, out/rows.csv, out/summary.json\n")
    assert run(*words).exit_code == 0  # what a report wrote is its own
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "model.unveil",
        "page.html",
        "rows.csv",
        "summary.json",
    ]
    assert run("predict", "out/model.unveil", faithful, "-o", "groups.csv").exit_code == 0
    Path("out/summary.json").unlink()
    assert "has model.unveil and rows.csv already, not written by unveil report; --force" in refused(*words)
    assert run(*words, "--force").exit_code == 0


def test_outputs_do_not_replace_what_is_read(refused, faithful, tmp_path):
    (tmp_path / "rows.csv").write_text(Path(faithful).read_text())
    assert "is an input" in refused("report", "rows.csv", "--outputs", ".", "--force")
    assert "must be one of csv, parquet; got 'xml'" in refused(
        "report", faithful, "--outputs", "o", "--rows-format", "xml"
    )


def test_json_is_the_summary_and_the_page(run, faithful):
    found = summarised(run, faithful, "--outputs", "out", "--time-limit", 600)
    assert found.pop("page") == "report.html"  # without -o
    assert found == json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert found["cut"] == []
    assert "--time-limit 600" in Path("report.html").read_text(encoding="utf-8")


def test_only_pages_of_unveil_are_replaced_unasked(run, refused, faithful):
    words = ("report", faithful, "--max-components", 1)
    Path("report.html").write_text("<p>mine</p>")
    assert "report.html: is there already; --force replaces it" in refused(*words)
    assert run(*words, "--force").exit_code == 0
    assert run(*words).exit_code == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "the file is empty"), ("a,b\n", "no rows"), ("a,b\nx,1\nx,1\n", "no column"), ("a,b\n1,2\n3\n", "cells")],
    ids=["empty", "header only", "constants", "ragged"],
)
def test_tables_without_a_report(refused, tmp_path, content, said):
    (tmp_path / "d.csv").write_text(content)
    assert said in refused("report", "d.csv", "-o", "o.html")
    assert not (tmp_path / "o.html").exists()


def test_input_and_folders_are_safe(refused, tmp_path, faithful):
    (tmp_path / "d.csv").write_text("a\n1\n")
    assert "is an input" in refused("report", "d.csv", "-o", "d.csv")
    assert "is a folder" in refused("report", faithful, "-o", tmp_path)
    assert "gone.csv: no such file" in refused("report", "gone.csv", "-o", "o.html")
    assert "time_limit must be a number of seconds above 0" in refused("report", faithful, "--time-limit", 0)


def test_structures_by_name(run, refused, faithful):
    words = ("report", faithful, "-o", "o.html", "--max-components", 1, "--covariance")
    assert run(*words, "eee,VII").exit_code == 0
    page = Path("o.html").read_text(encoding="utf-8")
    assert "--covariance EEE,VII" in page
    assert run(*words, "mclust").exit_code == 0
    page = Path("o.html").read_text(encoding="utf-8")
    assert "--covariance EII,VII,EEI,VEI,EVI,VVI,EEE,VEE,EVE,VVE,EEV,VEV,EVV,VVV" in page
    assert "--covariance must be one of full" in refused(*words, "EEE,round")
