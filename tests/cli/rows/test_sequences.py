"""Chains and grammars on the command line."""

import numpy as np
import pyarrow.csv
import pytest

import unveil
from unveil.cli.rows.sequences import lengths_of, read_sentences
from unveil.sources import DataError

GRAMMAR = "S -> NP VP [1.0]\nNP -> 'dogs' [0.5] | 'cats' [0.5]\nVP -> 'bark' [0.5] | V NP [0.5]\nV -> 'chase' [1.0]\n"
SENTENCES = ["dogs bark", "cats chase dogs", "dogs chase cats", "dogs bark"]


@pytest.fixture
def steps(tmp_path):
    """Two sequences of numbers that jump between two levels; the second has a hole."""
    random = np.random.default_rng(0)
    level = np.repeat([0, 5, 0, 5, 0, 5], 20)
    values = level + random.normal(size=120)
    lines = [f"{'ab'[row >= 70]},{value:.4f}" for row, value in enumerate(values)]
    lines[80] = "b,"
    (tmp_path / "steps.csv").write_text("which,value\n" + "\n".join(lines) + "\n")
    return values


def columns(path):
    return {name: np.array(column) for name, column in pyarrow.csv.read_csv(path).to_pydict().items()}


def test_gaussian_chain_with_a_column_of_sequences(run, steps):
    done = run("fit", "gaussian-hmm", "steps.csv", "-k", 2, "--sequence", "which", "-o", "m", "--seed", 3)
    assert done.exit_code == 0, done.output
    model, table = unveil.load("m"), unveil.scan("steps.csv", columns=["value"])
    same = unveil.GaussianHMM(2, random_state=3).fit(table, lengths=[70, 50])
    np.testing.assert_array_equal(model.transmat_, same.transmat_)
    assert model.feature_names_in_.tolist() == ["value"]
    assert run("predict", "m", "steps.csv", "-o", "out.csv").exit_code == 0  # which column it was is in the file
    found = columns("out.csv")
    assert list(found) == ["row", "which", "state", "probability", "probability_1", "probability_2"]
    assert found["which"][[0, 119]].tolist() == ["a", "b"]
    np.testing.assert_array_equal(found["state"], same.predict(table, [70, 50]) + 1)
    np.testing.assert_array_equal(found["probability_2"], same.predict_proba(table, [70, 50])[:, 1])


def test_words_as_emissions(run, tmp_path):
    words = ["rain", "rain", "sun"] * 10 + ["sun", "sun", "rain"] * 10
    (tmp_path / "d.csv").write_text("day,sky\n" + "".join(f"{n // 30},{word}\n" for n, word in enumerate(words)))
    done = run("fit", "categorical-hmm", "d.csv", "-k", 2, "--columns", "sky", "--sequence", "day", "-o", "m")
    assert done.exit_code == 0, done.output
    assert unveil.load("m").emissionprob_.shape == (2, 2)
    assert run("predict", "m", "d.csv", "--sequence", "day", "-o", "out.csv").exit_code == 0
    assert len(columns("out.csv")["state"]) == 60


def test_a_sequence_must_be_in_one_piece(run, refused, tmp_path):
    (tmp_path / "d.csv").write_text("s,x\na,1.5\nb,2.5\na,3.5\n")
    said = refused("fit", "gaussian-hmm", "d.csv", "-k", 1, "--sequence", "s", "-o", "m")
    assert "column 's': the rows of a sequence must follow each other; one goes on in row 3" in said
    assert "no option" in said or "not an option of kmeans" in refused(
        "fit", "kmeans", "d.csv", "-k", 1, "--sequence", "s", "-o", "m"
    )


def test_lengths_are_those_of_runs():
    assert lengths_of(["b", "b", "a", "c", "c"], "s").tolist() == [2, 1, 2]


def test_grammar_from_sentences(run, tmp_path):
    (tmp_path / "g.txt").write_text(GRAMMAR)
    (tmp_path / "s.txt").write_text("\n".join(SENTENCES) + "\n\n")
    done = run("fit", "grammar", "s.txt", "--grammar", "g.txt", "-o", "m", "--json")
    assert done.exit_code == 0, done.output
    model = unveil.load("m")
    same = unveil.PCFG(GRAMMAR, random_state=0).fit(SENTENCES)
    assert str(model.grammar_) == str(same.grammar_)
    assert run("predict", "m", "s.txt", "-o", "out.csv").exit_code == 0
    found = columns("out.csv")
    assert found["tree"][0] == "(S (NP dogs) (VP bark))"
    np.testing.assert_array_equal(found["log_probability"], same.score_samples(SENTENCES))


def test_what_a_grammar_does_not_take(refused, tmp_path):
    (tmp_path / "g.txt").write_text("S => NP")
    (tmp_path / "s.txt").write_text("a b\n")
    (tmp_path / "empty.txt").write_text("\n\n")
    assert "g.txt" in refused("fit", "grammar", "s.txt", "--grammar", "g.txt", "-o", "m")
    assert "no sentences" in refused("fit", "grammar", "empty.txt", "-k", 2, "-o", "m")
    assert "--weight" in refused("fit", "grammar", "s.txt", "-k", 2, "-o", "m", "--weight", "w")
    assert "--grammar is not an option of kmeans" in refused("fit", "kmeans", "s.txt", "--grammar", "g.txt", "-o", "m")


def test_text_that_is_none(tmp_path):
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not a text file"):
        read_sentences(str(tmp_path / "b"))
    with pytest.raises(DataError, match="cannot be read"):
        read_sentences(str(tmp_path / "nothing"))
