import json

import numpy as np
import pytest

import unveil

GRAMMAR = "S -> NP VP [1.0]\nNP -> 'dogs' [0.5] | 'cats' [0.5]\nVP -> 'bark' [0.5] | V NP [0.5]\nV -> 'chase' [1.0]\n"


@pytest.fixture
def grammar(tmp_path):
    unveil.PCFG(GRAMMAR, random_state=0).fit(["dogs bark", "cats chase dogs", "dogs chase cats"]).save(tmp_path / "g")
    return "g"


def test_trees_of_sentences_and_of_files(run, grammar, tmp_path):
    (tmp_path / "s.txt").write_text("cats bark\n\ndogs chase cats\n")
    done = run("parse", grammar, "dogs bark", "s.txt")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("100% of the sentence's probability") == 3
    assert "(S (NP cats) (VP bark))" in done.stdout


def test_sentences_that_are_none(run, refused, grammar, tmp_path):
    done = run("parse", grammar, "bark dogs", "birds bark")
    assert done.exit_code == 0
    assert (
        "birds bark\n  no tree: the grammar cannot derive this sentence (words that no rule has: birds)" in done.stdout
    )
    unveil.PCA(1).fit(np.eye(3)).save(tmp_path / "p")
    assert "must be a grammar to parse with, got a PCA" in refused("parse", "p", "dogs bark")


def test_json_for_machines(run, grammar):
    lines = [json.loads(line) for line in run("parse", grammar, "dogs bark", "dogs", "--json").stdout.splitlines()]
    assert lines[0]["tree"] == "(S (NP dogs) (VP bark))"
    assert lines[0]["log_probability"] == pytest.approx(lines[0]["log_probability_of_tree"])
    assert lines[1] == {"sentence": "dogs", "tree": None, "log_probability_of_tree": None, "log_probability": None}
