from pathlib import Path

import pytest

from unveil.cli.demo import _demos


def test_every_demonstration_is_listed_on_a_line(run):
    lines = run("demo").stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(_demos())]] == list(_demos())


@pytest.mark.parametrize("name", list(_demos()))
def test_the_known_answer_is_found(run, name):
    done = run("demo", name)
    assert done.exit_code == 0, done.output
    labels = [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "]
    assert labels == [f"{name}:", "Data", "Known", "Done", "Found", "Agreed", "Yours"]
    assert "Agreed  Yes. " in done.stdout
    assert done.stderr == ""


def test_its_data_can_be_written(run, refused):
    assert run("demo", "ruspini", "-o", "r.csv").exit_code == 0
    assert run("select", "kmeans", "r.csv", "-k", "3-5").exit_code == 0
    assert "--force replaces it" in refused("demo", "ruspini", "-o", "r.csv")
    assert run("demo", "sentences", "-o", "s.txt").exit_code == 0
    assert len(Path("s.txt").read_text(encoding="utf-8").splitlines()) == 400


def test_names_that_are_none(refused):
    assert "did you mean geyser?" in refused("demo", "geysir")
