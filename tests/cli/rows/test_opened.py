"""What models take of a table, and that a new table is taken the same way."""

import numpy as np
import pyarrow.csv
import pytest

import unveil
from unveil.cli.models import named
from unveil.cli.rows import opened
from unveil.cli.rows.opened import Asked, opened_for
from unveil.sources import DataError


@pytest.fixture
def messy(tmp_path):
    """Semicolons, decimal commas, a key, a constant, yes and no, words, whole numbers with -999 for nothing."""
    random = np.random.default_rng(0)
    lines = ["Kunde;Alter;Betrag;Stadt;aktiv;Land"]
    for number in range(120):
        cells = [
            f"K{1000 + 7 * number % 991}",
            str(random.integers(18, 80)),
            f"{random.normal(50, 9):.2f}".replace(".", ","),
        ]
        cells += [str(random.choice(["Köln", "Bonn"])), str(random.choice(["ja", "nein"])), "DE"]
        lines.append(";".join(cells))
    path = tmp_path / "kunden.csv"
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    return str(path)


def test_a_model_takes_columns_of_its_kind(messy):
    taken = {word: opened_for(named(word), Asked(messy)).names for word in ("kmeans", "mixed-mixture")}
    assert taken == {"kmeans": ("Alter", "Betrag"), "mixed-mixture": ("Alter", "Betrag", "Stadt", "aktiv")}
    assert opened_for(named("categorical-mixture"), Asked(messy)).names == ("Stadt", "aktiv")
    ready = opened_for(named("kmeans"), Asked(messy, drop=["Alter"]))
    assert ready.names == ("Betrag",)
    assert "Kunde (identifier)" in ready.left_out
    assert "Land (constant)" in ready.left_out
    assert any("semicolon" in words for words in ready.said)


def test_columns_and_roles_as_told(messy):
    assert opened_for(named("gaussian-mixture"), Asked(messy, ["Betrag", "Alter"])).names == ("Betrag", "Alter")
    with pytest.raises(DataError, match="column 'Stadt' cannot be a number"):
        opened_for(named("gaussian-mixture"), Asked(messy, ["Betrag", "Stadt"]))
    assert opened_for(named("mixed-mixture"), Asked(messy, roles={"Alter": "category"})).kinds[0] == "category"
    with pytest.raises(ValueError, match="did you mean 'Betrag'"):
        opened_for(named("pca"), Asked(messy, ["Betrg"]))
    with pytest.raises(DataError, match="more than once, or has another part"):
        opened_for(named("pca"), Asked(messy, ["Betrag", "Alter"], weight="Alter"))


def test_a_new_file_is_read_by_the_recipe(run, messy, tmp_path):
    assert run("fit", "mixed-mixture", messy, "-k", 2, "-o", "m").exit_code == 0
    assert unveil.load("m").recipe_["identifiers"] == ["Kunde"]
    (tmp_path / "neu.csv").write_text("aktiv;Stadt;Betrag;Kunde;Alter\nja;Bonn;49,5;N1;40\nnein;Köln;;N2;33\n", "utf-8")
    assert run("predict", "m", "neu.csv", "-o", "out.csv").exit_code == 0
    found = pyarrow.csv.read_csv("out.csv").to_pydict()
    assert (found["row"], found["Kunde"]) == ([1, 2], ["N1", "N2"])
    assert np.isfinite(found["log_density"]).all()


def test_how_a_file_is_read_may_be_said(run, tmp_path):
    (tmp_path / "d.txt").write_text("1.5|x|2\n2.5|-|3.25\n4.5|x|9\n0.5|x|1.75\n", "utf-8")
    done = run(
        "fit", "probabilistic-pca", "d.txt", "--separator", "|", "--no-header", "--missing", "x,-", "-k", 1, "-o", "m"
    )
    assert done.exit_code == 0, done.output
    assert unveil.load("m").n_features_in_ == 2


def test_large_tables_of_numbers_are_streamed(run, faithful, monkeypatch):
    assert run("fit", "gaussian-mixture", faithful, "-k", 2, "-o", "whole").exit_code == 0
    monkeypatch.setattr(opened, "STREAMED", 0)
    assert run("fit", "gaussian-mixture", faithful, "-k", 2, "-o", "streamed").exit_code == 0
    assert isinstance(opened_for(named("pca"), Asked(faithful)).X, type(unveil.scan(faithful)))
    whole, streamed = unveil.load("whole"), unveil.load("streamed")
    np.testing.assert_array_equal(whole.means_, streamed.means_)
    assert whole.recipe_ == streamed.recipe_
