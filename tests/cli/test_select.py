import json

import pytest

import unveil
from unveil.cli.select import sizes_in


def test_a_table_a_verdict_and_the_best_model(run, faithful):
    done = run("select", "gaussian-mixture", faithful, "-k", "1-3", "--covariance", "full,tied", "-o", "m")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert sum(line.lstrip("* ").startswith(("1 ", "2 ", "3 ")) for line in lines) == 6
    assert sum(line.startswith("*") for line in lines) == 1
    assert "Best by BIC: n_components = " in done.stdout
    assert "they form 2 clusters" in " ".join(done.stdout.split())
    assert "Is the fit sound? Yes." in done.stdout
    model = unveil.load("m")
    assert model.recipe_["columns"][0]["name"] == "eruptions"
    assert model.certificate_.verdicts["real"] == "yes"
    assert "is in m" in done.stdout


def test_json_for_machines(run, faithful):
    plain = json.loads(run("select", "kmeans", faithful, "-k", "1-4", "--json").stdout)
    assert (plain["criterion"], plain["best"], plain["n_clusters"]) == ("votes", {"n_clusters": 2}, 2)
    assert [row["n_clusters"] for row in plain["table"]] == [1, 2, 3, 4]
    assert plain["output"] is None


def test_what_cannot_be_compared(refused, faithful, tmp_path):
    assert "principal-curve has no number of components" in refused("select", "principal-curve", faithful)
    assert "--covariance is not an option of kmeans" in refused("select", "kmeans", faithful, "--covariance", "full")
    (tmp_path / "m").write_text("mine")
    assert "--force replaces it" in refused("select", "kmeans", faithful, "-o", "m")
    assert "criterion" in refused("select", "gaussian-mixture", faithful, "-k", "1,2", "--criterion", "magic")


@pytest.mark.parametrize(("text", "sizes"), [("1-3", [1, 2, 3]), ("4, 2", [2, 4]), ("2-3,3-4", [2, 3, 4])])
def test_sizes(text, sizes):
    assert sizes_in(text) == sizes


@pytest.mark.parametrize("text", ["", "0-3", "a", "3-1", "1-1000", "2-", "-2"])
def test_sizes_that_are_none(text):
    with pytest.raises(ValueError, match="-k must"):
        sizes_in(text)
