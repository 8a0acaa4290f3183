from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.grammar.pcfg.cases import ASTRONOMERS, SENTENCE, TREES, even, quietly, shares
from tests.oracles import derivations as oracle
from unveil import PCFG
from unveil.grammar import Tree, normal_form, read_bracketed, read_grammar, read_trees
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


# -- trees and brackets ------------------------------------------------------------------------------------------------


NLTK = {
    "S -> NP VP": 1.0,
    "NP -> 'astronomers'": 0.111111,
    "VP -> V NP": 0.75,
    "V -> 'saw'": 1.0,
    "NP -> NP PP": 0.111111,
    "NP -> 'stars'": 0.333333,
    "PP -> P NP": 1.0,
    "P -> 'with'": 1.0,
    "NP -> 'ears'": 0.333333,
    "VP -> VP PP": 0.25,
    "NP -> 'telescopes'": 0.111111,
}
"""nltk 3.10: print(induce_pcfg(Nonterminal("S"), [p for tree in trees for p in tree.productions()])) of TREES."""


def test_trees_give_their_counts_as_in_nltk() -> None:
    model = PCFG().fit(list(TREES))
    assert list(shares(model)) == list(NLTK)
    assert shares(model) == pytest.approx(NLTK, abs=1e-6)
    np.testing.assert_array_equal(model.counts_, model.grammar_.counts(TREES))
    assert model.n_iter_ == 2
    assert model.converged_


class Foreign(list):
    """A tree as nltk has them."""

    def __init__(self, label: str, children: Any) -> None:
        super().__init__(children)
        self._label = label

    def label(self) -> str:
        return self._label


def foreign(tree: Tree | str) -> Any:
    return tree if isinstance(tree, str) else Foreign(tree.label, [foreign(child) for child in tree.children])


def test_trees_of_nltk_will_do() -> None:
    ours, theirs = PCFG().fit(list(TREES)), PCFG().fit([foreign(tree) for tree in TREES])
    assert ours.grammar_ == theirs.grammar_


def test_trees_and_raw_sentences_mix() -> None:
    mixed = PCFG(tol=1e-10).fit([*TREES, "astronomers saw stars with ears"])
    counts = dict(zip(shares(mixed), mixed.counts_, strict=True))
    assert counts["NP -> 'astronomers'"] == pytest.approx(2.0)
    assert 1.0 < counts["NP -> NP PP"] < 2.0
    assert mixed.history_.largest_fall() <= 1e-12
    trees = oracle.trees(read_grammar(ASTRONOMERS), SENTENCE.split())
    grammar = even(ASTRONOMERS)
    model = quietly(PCFG(grammar, max_iter=1), [trees[0], SENTENCE])
    np.testing.assert_allclose(
        model.counts_, grammar.counts([trees[0]]) + oracle.rule_counts(grammar, SENTENCE.split()), rtol=1e-10
    )


def test_the_root_of_trees_may_be_named() -> None:
    two = [*TREES, *read_trees("(Q (NP stars))")]
    with pytest.raises(ValueError, match="one root"):
        PCFG().fit(two)
    found = shares(PCFG(start="TOP").fit(two))
    assert (found["TOP -> S"], found["TOP -> Q"]) == (pytest.approx(0.75), pytest.approx(0.25))


def test_brackets_rule_out_trees() -> None:
    grammar = read_grammar(ASTRONOMERS)
    low = read_bracketed("astronomers saw (stars with ears)")
    high = read_bracketed("astronomers (VP (VP saw stars) with ears)", labels={"VP"})
    model = PCFG.from_grammar(grammar)
    np.testing.assert_allclose(np.exp(model.score_samples([low, high])), [0.0009072, 0.0006804], rtol=1e-12)
    assert [str(parse.tree)[:40] for parse in model.parse([low, high])] == [
        str(parse.tree)[:40] for parse in model.kbest(SENTENCE, 2)
    ]
    fitted = quietly(PCFG(grammar, max_iter=1), [high, high])
    np.testing.assert_allclose(fitted.counts_, 2 * grammar.counts([model.kbest(SENTENCE, 2)[1].tree]), atol=1e-12)
    with pytest.raises(ValueError, match="labels of the grammar, got 'XP'"):
        PCFG(grammar).fit([read_bracketed("(XP stars saw ears)", labels={"XP"})])
