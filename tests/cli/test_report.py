from pathlib import Path

import pytest


def test_report_on_bundled_data(run, faithful, tmp_path):
    result = run("report", faithful, "-o", "out.html", "--max-components", 2, "--seed", 1, "--threads", 2)
    assert result.exit_code == 0, result.output
    assert "272 rows" in result.stdout
    assert "out.html" in result.stdout
    page = (tmp_path / "out.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "eruptions" in page


def test_columns_and_weight(run, tmp_path):
    rows = "".join(f"{i % 7},{i * i % 11},{1 + i % 2}\n" for i in range(40))
    (tmp_path / "d.csv").write_text("left,right,w\n" + rows)
    result = run("report", "d.csv", "-o", "o.html", "--max-components", 1, "--columns", "left,right", "--weight", "w")
    assert result.exit_code == 0, result.output
    assert "2 columns" in result.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "the file is empty"), ("a,b\n", "no rows"), ("name\nx\ny\n", "no column"), ("a,b\n1,2\n3\n", "cells")],
    ids=["empty", "header only", "no numbers", "ragged"],
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


def test_structures_by_name(run, refused, faithful):
    words = ("report", faithful, "-o", "o.html", "--max-components", 1, "--covariance")
    assert run(*words, "eee,VII").exit_code == 0
    page = Path("o.html").read_text(encoding="utf-8")
    assert "--covariance EEE,VII" in page
    assert run(*words, "mclust").exit_code == 0
    assert Path("o.html").read_text(encoding="utf-8").count('<th scope="col" class="num" title=') == 14
    assert "--covariance must be one of full" in refused(*words, "EEE,round")
