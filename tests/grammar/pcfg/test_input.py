from __future__ import annotations

import numpy as np
import pytest

from tests.grammar.pcfg.test_model import ASTRONOMERS
from unveil.grammar import Tree, normal_form, read_bracketed, read_grammar
from unveil.grammar.pcfg.expectations import Derivation
from unveil.grammar.pcfg.input import Reader, read_sentence, read_sentences, words_of


def reader() -> Reader:
    grammar = read_grammar(ASTRONOMERS)
    return Reader(grammar, normal_form(grammar))


def test_all_kinds_of_sentences_are_read() -> None:
    tree = Tree("S", (Tree("NP", ("stars",)), Tree("VP", ("shine",))))
    kinds = ["stars  shine\n", ["stars", "shine"], ("stars", "shine"), np.array(["stars", "shine"]), tree]
    kinds.append(read_bracketed("(stars) shine"))
    found = read_sentences(kinds)
    assert {sentence.words for sentence in found} == {("stars", "shine")}
    assert [sentence.tree for sentence in found] == [None, None, None, None, tree, None]
    assert [len(sentence.spans) for sentence in found] == [0, 0, 0, 0, 0, 1]
    assert words_of(found) == ("stars", "shine")
    assert read_sentence([]).words == read_sentence("  ").words == ()


@pytest.mark.parametrize("item", [3, None, b"stars", {"stars": 1}, ["stars", ""], [["stars"]]], ids=repr)
def test_what_is_no_sentence_is_refused(item: object) -> None:
    with pytest.raises(ValueError, match="sentence 1 of X must be"):
        read_sentences(["stars", item])


def test_words_become_codes_and_marks_travel_along() -> None:
    sentences = read_sentences(["stars saw comets", "", read_bracketed("saw (NP stars)", labels={"NP"})])
    source = reader().source(sentences, np.array([1.0, 2.0, 3.0]))
    (block,) = source.read()
    assert block.rows[:, 0].tolist() == [4.0 - 1, 2.0, -1.0, 2.0, 3.0]
    assert block.lengths.tolist() == [3, 0, 2]
    assert block.sequence_weights.tolist() == [1.0, 2.0, 3.0]
    assert block.marks[0] is None
    np.testing.assert_array_equal(block.marks[2], [[1, 2, 3]])
    assert reader().unseen(sentences) == ("comets", 0)


def test_trees_become_numbers_of_rules() -> None:
    tree = read_sentence(Tree("S", (Tree("NP", ("stars",)), Tree("VP", (Tree("V", ("saw",)), Tree("NP", ("ears",)))))))
    mark = reader().mark(tree, 0)
    assert isinstance(mark, Derivation)
    assert [str(reader().grammar.rules[n]) for n in mark.rules] == [
        "S -> NP VP",
        "NP -> 'stars'",
        "VP -> V NP",
        "V -> 'saw'",
        "NP -> 'ears'",
    ]
    assert mark.possible
    other = read_sentence(Tree("NP", ("stars",)))
    assert not reader().mark(other, 7).possible
    assert str(reader().foreign_rule(other.tree)) == "S -> NP"
    unknown = Tree("S", (Tree("NP", ("comets",)), Tree("VP", (Tree("V", ("saw",)), Tree("NP", ("ears",))))))
    guess = reader().mark(read_sentence(unknown), 0)
    assert guess.possible
    assert [reader().form.symbols[symbol] for symbol in guess.guessed] == ["NP"]
    assert not reader().mark(read_sentence(Tree("S", ("comets",))), 0).log_probability(np.zeros(12), None) > -np.inf


def test_partitions_are_runs_of_whole_sentences() -> None:
    source = reader().source(read_sentences(["stars saw ears"] * 400))
    blocks = list(source.read())
    assert len(blocks) > 2
    assert all(len(block.rows) % 3 == 0 for block in blocks)
