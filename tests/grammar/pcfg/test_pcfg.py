from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import estimator_checks as checks

from tests.grammar.pcfg.test_model import ASTRONOMERS, CYCLIC, SENTENCE
from tests.oracles import inside_outside as oracle
from unveil import PCFG
from unveil.grammar import Bracketed, Rule, Span, Tree, read_bracketed, read_grammar, read_trees
from unveil.schedules import Stepwise

TEXT = [
    SENTENCE,
    "stars saw ears",
    "astronomers saw stars with telescopes",
    "astronomers with telescopes saw stars with ears with ears",
    "ears saw saw",
]
TREES = read_trees(
    """
    (S (NP astronomers) (VP (V saw) (NP (NP stars) (PP (P with) (NP ears)))))
    (S (NP stars) (VP (V saw) (NP ears)))
    (S (NP stars) (VP (VP (V saw) (NP ears)) (PP (P with) (NP telescopes))))
    """
)


def quietly(model: PCFG, X: Any, **arguments: Any) -> PCFG:
    """Fitted, whether or not it converged: that is not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **arguments)


def shares(model: PCFG) -> dict[str, float]:
    return {str(rule): float(p) for rule, p in zip(model.rules_, model.probabilities_, strict=True)}


# -- the textbook ------------------------------------------------------------------------------------------------------


def test_the_textbook_sentence_has_its_probability_and_its_parses() -> None:
    model = PCFG.from_grammar(ASTRONOMERS)
    assert np.exp(model.score_samples([SENTENCE]))[0] == pytest.approx(0.0015876, rel=1e-12)
    found = model.kbest(SENTENCE, 5)
    assert [float(np.exp(parse.log_probability)) for parse in found] == pytest.approx([0.0009072, 0.0006804], rel=1e-12)
    assert {parse.tree for parse in found} == set(oracle.trees(model.grammar_, SENTENCE.split()))
    (best,) = model.parse([SENTENCE])
    assert best.tree == found[0].tree
    assert best.log_probability == pytest.approx(found[0].log_probability, rel=1e-14)


def test_one_step_of_inside_outside_is_that_of_the_textbook() -> None:
    found = shares(quietly(PCFG(ASTRONOMERS, max_iter=1), [SENTENCE]))
    wanted = {"NP -> NP PP": 0.16, "NP -> 'astronomers'": 0.28, "NP -> 'ears'": 0.28, "NP -> 'stars'": 0.28}
    wanted |= {"NP -> 'saw'": 0.0, "NP -> 'telescopes'": 0.0, "VP -> V NP": 0.7, "VP -> VP PP": 0.3}
    for rule, probability in wanted.items():
        assert found[rule] == pytest.approx(probability, abs=1e-12), rule


def test_a_step_of_the_estimator_is_that_of_brute_force() -> None:
    sentences = ["a b", "", "b a b", "a"]
    model = quietly(PCFG(CYCLIC, max_iter=1), sentences)
    grammar = read_grammar(CYCLIC)
    counts = np.sum([oracle.uses(grammar, sentence.split())[1] for sentence in sentences], axis=0)
    wanted = counts / np.bincount(grammar.parents, weights=counts)[grammar.parents]
    np.testing.assert_allclose(model.counts_, counts, rtol=1e-10)
    np.testing.assert_allclose(model.probabilities_, wanted, rtol=1e-10)


# -- fitting -----------------------------------------------------------------------------------------------------------


def test_a_fit_climbs_converges_and_says_so() -> None:
    model = PCFG(ASTRONOMERS, tol=1e-9).fit(TEXT)
    assert model.converged_
    assert model.n_iter_ == len(model.history_) == len(model.lower_bounds_)
    assert model.history_.largest_fall() <= 1e-12
    assert model.lower_bound_ == pytest.approx(model.score_samples(TEXT).sum() / 25, abs=1e-7)
    assert model.certificate_.ok
    assert model.certificate_["stationarity"].severity == "fine"
    assert model.certificate_["consistency"].severity == "fine"
    assert "rules that no tree uses" not in str(model.certificate_)
    with pytest.warns(ConvergenceWarning, match="not converged"):
        assert not PCFG(ASTRONOMERS, max_iter=2, tol=0).fit(TEXT).converged_


def test_weights_are_repetitions() -> None:
    times = [3, 0, 1, 2, 0]
    repeated = [sentence for sentence, n in zip(TEXT, times, strict=True) for _ in range(n)]
    weighted = PCFG(ASTRONOMERS, tol=1e-8).fit(TEXT, sample_weight=times)
    plain = PCFG(ASTRONOMERS, tol=1e-8).fit(repeated)
    np.testing.assert_allclose(weighted.probabilities_, plain.probabilities_, rtol=1e-9, atol=1e-12)
    assert weighted.score(TEXT[:4], sample_weight=times[:4]) == pytest.approx(plain.score(repeated), rel=1e-9)
    np.testing.assert_array_equal(weighted.word_counts_, plain.word_counts_)


def test_a_sentence_of_weight_0_may_be_anything() -> None:
    model = PCFG(ASTRONOMERS).fit([SENTENCE, "never heard of"], sample_weight=[1.0, 0.0])
    assert len(model.skipped_) == 0
    assert PCFG(n_nonterminals=2, random_state=0).fit(["a b", "c"], sample_weight=[1.0, 0.0]).words_ == ("a", "b")
    other = [Tree("S", (Tree("XP", ("stars",)),)), read_bracketed("(XP stars)", labels={"XP"})]
    assert PCFG().fit([*TREES, *other], sample_weight=[1, 1, 1, 0, 0]).grammar_ == PCFG().fit(list(TREES)).grammar_


@pytest.mark.parametrize(
    "sentences", [["stars saw ears"] * 7, [["stars", "saw", "ears"]], np.array(["stars saw ears"])]
)
def test_equal_sentences_in_any_form(sentences: Any) -> None:
    found = shares(PCFG(ASTRONOMERS).fit(sentences))
    assert found["NP -> 'stars'"] == pytest.approx(0.5)
    assert found["VP -> V NP"] == pytest.approx(1.0)


def test_sentences_of_one_word_and_of_none() -> None:
    model = PCFG("S -> 'a' [0.5] | [0.25] | S S [0.25]", tol=1e-10).fit(["a", "", "a", "a"])
    found = shares(model)
    assert found["S -> 'a'"] == pytest.approx(0.75, abs=1e-5)
    assert found["S ->"] == pytest.approx(0.25, abs=1e-5)
    assert np.exp(model.score([""])) == pytest.approx(0.25, abs=1e-5)
    assert PCFG("S -> [0.5] | 'a' [0.5]").fit([""]).score([""]) == pytest.approx(0.0)
    drawn = PCFG(n_nonterminals=2, random_state=0, tol=1e-3).fit(["a", "", "b"])
    assert np.all(np.isfinite(drawn.score_samples(["a", "", "b"])))


def test_a_cyclic_grammar_climbs() -> None:
    model = quietly(PCFG(CYCLIC, max_iter=60, tol=1e-9), ["a b", "", "b a b", "a", "b b b a"])
    assert model.history_.largest_fall() <= 1e-12
    assert np.all(np.isfinite(model.history_.log_likelihood))


def test_priors_smooth_and_prune() -> None:
    smooth = shares(PCFG(ASTRONOMERS, rule_prior=2.0).fit([SENTENCE]))
    assert min(smooth.values()) > 0.05
    assert smooth["NP -> 'telescopes'"] == pytest.approx(smooth["NP -> 'saw'"], rel=1e-12)
    one = shares(PCFG(ASTRONOMERS, rule_prior={"NP -> 'telescopes'": 4.0}).fit([SENTENCE]))
    assert one["NP -> 'telescopes'"] > 0.3
    assert one["NP -> 'saw'"] < 1e-9
    sparse = quietly(PCFG(ASTRONOMERS, rule_prior={"VP -> VP PP": 0.1}, tol=1e-9), TEXT)
    assert sparse.history_.largest_fall() <= 1e-9
    plain = PCFG(ASTRONOMERS, tol=1e-9).fit(TEXT)
    assert shares(sparse)["VP -> VP PP"] < shares(plain)["VP -> VP PP"]
    assert np.all(np.isfinite(sparse.score_samples(TEXT)))
    for schedule in ("gradient", "ascent", "lbfgs"):
        with pytest.raises(ValueError, match="rule_prior below 1 has no gradient"):
            PCFG(ASTRONOMERS, rule_prior=0.5, schedule=schedule).fit(TEXT)
    for schedule in ("incremental", "squarem", "stepwise"):
        few = quietly(PCFG(ASTRONOMERS, rule_prior=0.5, schedule=schedule, tol=1e-9), TEXT)
        assert np.all(np.isfinite(few.lower_bounds_))
        assert schedule == "stepwise" or few.history_.largest_fall() <= 1e-9


def test_rules_that_end_low_are_dropped() -> None:
    model = PCFG(ASTRONOMERS, prune=0.01).fit([SENTENCE])
    assert "NP -> 'saw'" not in shares(model)
    assert model.certificate_["pruned"].value == 12 - len(model.rules_) >= 2
    assert len(model.counts_) == len(model.rules_) == len(model.probabilities_)
    np.testing.assert_allclose(np.bincount(model.grammar_.parents, weights=model.probabilities_), 1.0)
    assert np.isfinite(model.score([SENTENCE]))
    assert PCFG(ASTRONOMERS, prune=0.999).fit(["stars saw ears"]).grammar_.is_consistent
    assert set(read_grammar(ASTRONOMERS).rules) - set(model.rules_) == set(model.pruned_rules_)


def test_what_is_said_of_rules_that_were_dropped_is_no_mistake() -> None:
    said = {"rule_prior": {"NP -> 'saw'": 1.00001, "PP": 1.5}, "fixed": ["NP -> NP PP"]}
    model = PCFG(ASTRONOMERS, prune=0.05, warm_start=True, **said).fit(["stars saw ears"])
    assert "NP -> 'saw'" not in shares(model)
    assert shares(model)["NP -> NP PP"] == 0.4  # what is fixed is neither dropped nor given a share of what was
    assert model.fit(["ears saw stars"]).partial_fit(["ears saw stars"]).converged_ is False
    assert np.isfinite(model.bic(["ears saw stars"]))
    low = PCFG(ASTRONOMERS, prune=0.05, fixed=["NP -> 'saw'"]).fit(["stars saw ears"])
    assert shares(low)["NP -> 'saw'"] == 0.04
    assert sum(p for rule, p in shares(low).items() if rule.startswith("NP")) == pytest.approx(1.0)


def test_words_keep_their_counts_when_rules_change_places() -> None:
    text = ["z a", "z z a", "z z z b c"]
    drawn = quietly(PCFG(n_nonterminals=2, random_state=0, max_iter=5), text)
    assert dict(zip(drawn.words_, drawn.word_counts_, strict=True)) == {"z": 6, "a": 2, "b": 1, "c": 1}
    fewer = PCFG(ASTRONOMERS, prune=0.01, unknown_words="rare").fit(["stars saw ears"])
    assert dict(zip(fewer.words_, fewer.word_counts_, strict=True)) == {"stars": 1, "saw": 1, "ears": 1}
    assert np.isfinite(fewer.score(["stars saw comets"]))


def test_fixed_rules_stay() -> None:
    found = shares(PCFG(ASTRONOMERS, fixed=["VP", Rule(*read_grammar(ASTRONOMERS).rules[4])]).fit(TEXT))
    assert found["VP -> V NP"] == 0.7
    assert found["NP -> NP PP"] == 0.4
    assert sum(p for rule, p in found.items() if rule.startswith("NP")) == pytest.approx(1.0)
    woken = PCFG("S -> 'a' [0.7] | 'b' [0.3] | 'c' [0.0]", fixed=["S -> 'a'"], rule_prior=2.0).fit(["a", "b"])
    np.testing.assert_allclose(woken.probabilities_, [0.7, 0.2, 0.1], rtol=1e-12)
    every = PCFG(ASTRONOMERS, fixed=["S", "VP", "NP", "PP", "P", "V"]).fit(TEXT)
    assert every.grammar_ == read_grammar(ASTRONOMERS)
    assert every.converged_


def test_a_batch_may_need_what_a_fit_ruled_out() -> None:
    model = PCFG(ASTRONOMERS).fit(["stars saw ears"] * 3)
    assert shares(model)["NP -> 'telescopes'"] == 0.0
    model.partial_fit(["stars saw telescopes"]).partial_fit(list(read_trees("(S (NP saw) (VP (V saw) (NP ears)))")))
    assert np.all(np.isfinite(model.lower_bounds_))
    assert min(shares(model)["NP -> 'telescopes'"], shares(model)["NP -> 'saw'"]) > 0.01
    with pytest.raises(ValueError, match="grammar must be that of the batches before"):
        model.set_params(grammar="S -> 'a' [1.0]").partial_fit(["a"])


def test_partial_fit_follows_a_stream() -> None:
    sentences, _ = PCFG.from_grammar(ASTRONOMERS, random_state=3).sample(400)
    even = read_grammar(ASTRONOMERS)
    even = even.with_probabilities(1.0 / np.bincount(even.parents)[even.parents])
    model = PCFG(even)
    for first in range(0, 400, 50):
        model.partial_fit(sentences[first : first + 50])
    assert model.n_iter_ == 8
    assert model.score(sentences) > PCFG(even, tol=1e-6).fit(sentences).score(sentences) - 0.1
    assert model.word_counts_.sum() == sum(map(len, sentences))
    model.fit(sentences[:50]).partial_fit(sentences[50:100])
    assert model.word_counts_.sum() == sum(map(len, sentences[:100]))
    fresh = PCFG(n_nonterminals=2, random_state=0).partial_fit(sentences[:50])
    words = set(fresh.words_)
    assert np.isfinite(fresh.partial_fit([s for s in sentences[50:] if set(s) <= words]).score(sentences[:50]))


def test_a_warm_start_goes_on() -> None:
    model = quietly(PCFG(ASTRONOMERS, max_iter=3, tol=0, warm_start=True), TEXT)
    first = model.lower_bound_
    assert quietly(model, TEXT).lower_bounds_[0] > first
    through = quietly(PCFG(ASTRONOMERS, max_iter=6, tol=0), TEXT)
    np.testing.assert_allclose(model.probabilities_, through.probabilities_, rtol=1e-10, atol=1e-12)


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
    grammar = read_grammar(ASTRONOMERS).with_probabilities(mixed_start())
    model = quietly(PCFG(grammar, max_iter=1), [trees[0], SENTENCE])
    np.testing.assert_allclose(
        model.counts_, grammar.counts([trees[0]]) + oracle.uses(grammar, SENTENCE.split())[1], rtol=1e-10
    )


def mixed_start() -> np.ndarray:
    grammar = read_grammar(ASTRONOMERS)
    return 1.0 / np.bincount(grammar.parents)[grammar.parents]


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


# -- random grammars ---------------------------------------------------------------------------------------------------


def test_a_random_grammar_learns_classes_of_words() -> None:
    truth = read_grammar(
        "S -> D N V [0.5] | D N V D N [0.5] \n D -> 'the' [0.6] | 'a' [0.4] \n"
        "N -> 'dog' [0.5] | 'cat' [0.3] | 'girl' [0.2] \n V -> 'saw' [0.7] | 'bit' [0.3]"
    )
    sentences, _ = PCFG.from_grammar(truth, random_state=0).sample(150)
    model = quietly(PCFG(n_nonterminals=2, n_preterminals=3, n_init=2, tol=1e-4, random_state=0), sentences)
    classes = {}
    for rule, p in zip(model.rules_, model.probabilities_, strict=True):
        if p > 0.05 and isinstance(rule.children[0], str):
            classes.setdefault(rule.parent.name, set()).add(rule.children[0])
    assert sorted(map(sorted, classes.values())) == [["a", "the"], ["bit", "saw"], ["cat", "dog", "girl"]]
    assert model.score(sentences) > PCFG.from_grammar(truth).score(sentences) - 0.3
    uses = dict(
        zip(model.grammar_.nonterminals, np.bincount(model.grammar_.parents, weights=model.counts_), strict=True)
    )
    names = [symbol.name for symbol in uses]
    assert names == ["S", "N1", "P1", "P2", "P3"]
    by_name = {symbol.name: count for symbol, count in uses.items()}
    assert by_name["P1"] >= by_name["P2"] >= by_name["P3"]
    again = quietly(PCFG(n_nonterminals=2, n_preterminals=3, n_init=2, tol=1e-4, random_state=0), sentences)
    assert again.grammar_ == model.grammar_
    assert len(model.history_.restarts) == 2


def test_symbols_may_have_names() -> None:
    model = quietly(
        PCFG(start="A", nonterminals=["B", "A"], preterminals=["x", "y"], max_iter=5, random_state=1), ["a b"]
    )
    assert {symbol.name for symbol in model.grammar_.nonterminals} == {"A", "B", "x", "y"}
    assert model.grammar_.start.name == "A"
    first = quietly(PCFG(nonterminals=["A", "B"], max_iter=2, random_state=1), ["a b"])
    assert [symbol.name for symbol in first.grammar_.nonterminals] == ["A", "B"]
    kept = quietly(PCFG(n_nonterminals=3, fixed=["N1"], max_iter=9, random_state=0), ["a b", "b b a"])
    moved = quietly(PCFG(n_nonterminals=3, max_iter=9, random_state=0), ["a b", "b b a"])
    assert [symbol.name for symbol in moved.grammar_.nonterminals] == ["S", "N1", "N2"]
    assert all(p > 1e-4 for rule, p in shares(kept).items() if rule.startswith("N1"))
    for wrong in ({"n_nonterminals": 2, "nonterminals": ["A"]}, {"nonterminals": ["A"], "preterminals": ["A"]}):
        with pytest.raises(ValueError, match=r"not both|among both"):
            PCFG(**wrong).fit(["a"])
    with pytest.raises(ValueError, match="start must be one of nonterminals, got 'X'"):
        PCFG(nonterminals=["A", "B"], start="X").fit(["a"])
    with pytest.raises(ValueError, match="preterminals are part of a random grammar, got 3"):
        PCFG(n_preterminals=3).fit(list(TREES))


@pytest.mark.parametrize("start", ["N1", "N2", "P1"])
def test_made_up_names_pass_over_the_start(start: str) -> None:
    model = quietly(PCFG(start=start, n_nonterminals=3, n_preterminals=2, max_iter=3, random_state=0), ["a b", "b a a"])
    names = [symbol.name for symbol in model.grammar_.nonterminals]
    assert names[0] == start
    assert len(set(names)) == 5
    assert np.isfinite(model.score(["a b"]))


# -- words that were not there -----------------------------------------------------------------------------------------


def test_unseen_words_follow_the_policy() -> None:
    text, strange = ["stars saw ears", "stars saw astronomers", "stars saw stars"], "stars saw comets"
    fitted = {
        word: PCFG(ASTRONOMERS, unknown_words=word).fit(text) for word in ("error", "impossible", "rare", "uniform")
    }
    with pytest.raises(ValueError, match="sentence 1 of X has the word 'comets', which was not there at fit time"):
        fitted["error"].score(["stars saw ears", strange])
    assert fitted["impossible"].score_samples([strange])[0] == -np.inf
    assert fitted["impossible"].parse([strange]) == [(None, -np.inf)]
    found = shares(fitted["rare"])
    average = (found["NP -> 'ears'"] + found["NP -> 'astronomers'"]) / 2  # the words that were seen once
    assert np.exp(fitted["rare"].score([strange])) == pytest.approx(found["NP -> 'stars'"] * average)
    uniform = np.exp(fitted["uniform"].score([strange]))
    assert uniform == pytest.approx(found["NP -> 'stars'"] / 6)
    for name in ("rare", "uniform"):
        (parse,) = fitted[name].parse([strange])
        assert str(parse.tree) == "(S (NP stars) (VP (V saw) (NP comets)))"
        assert fitted[name].kbest(strange, 3)[0] == parse


def test_sentences_that_cannot_be_derived_are_named_or_left_out() -> None:
    text = [SENTENCE, "stars stars", "comets saw ears"]
    with pytest.raises(ValueError, match=r"sentence 1 of X, 'stars stars', cannot be derived from the grammar \(nor"):
        PCFG(ASTRONOMERS).fit(text)
    with pytest.raises(ValueError, match="which has no word 'comets'"):
        PCFG(ASTRONOMERS).fit(text[2:])
    model = PCFG(ASTRONOMERS, impossible="skip").fit(text)
    assert model.skipped_.tolist() == [1, 2]
    assert model.certificate_["impossible"].value == 2
    assert model.grammar_ == PCFG(ASTRONOMERS).fit(text[:1]).grammar_
    with pytest.raises(ValueError, match="no sentence of X can be derived"):
        PCFG(ASTRONOMERS, impossible="skip").fit(text[1:])
    other = Tree("S", (Tree("XP", ("stars",)),))
    kept = PCFG(ASTRONOMERS, impossible="skip").fit([other, *text[:1]])
    assert kept.skipped_.tolist() == [0]
    assert kept.grammar_ == model.grammar_


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("stars saw ears", "X must be a list of sentences"),
        ([], "at least one sentence"),
        ([3], "sentence 0 of X must be"),
        ([["stars", 3]], "made of words"),
        (np.zeros((3, 2)), "shape"),
        (TREES[0], "X must be a list of sentences"),
        ([Tree("S", ("boo",))], "which has no word 'boo'"),
        ([Tree("S", ("saw",))], "which has no rule S -> 'saw' as its tree has"),
        ({"stars saw ears": 1}, "a single dict"),
        (read_bracketed("stars (saw ears)"), "a single Bracketed"),
        ([Bracketed(("stars", "saw", "ears"), (Span(1, 4),))], r"brackets of sentence 0 of X .* got \(1, 4\)"),
        ([Bracketed(("stars", 3), ())], "made of words"),
    ],
    ids=[
        *("string", "empty", "number", "no words", "table", "tree", "other words", "other rules", "mapping"),
        *("one bracketed", "brackets out of range", "no words in brackets"),
    ],
)
def test_what_is_no_text_is_refused_by_name(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PCFG(ASTRONOMERS).fit(X)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({}, "grammar must be a Grammar"),
        ({"grammar": ASTRONOMERS, "n_nonterminals": 3}, "n_nonterminals is for a grammar that is not given"),
        ({"grammar": ASTRONOMERS, "fixed": ["XP"]}, "fixed must name rules"),
        ({"grammar": ASTRONOMERS, "rule_prior": {"NP": -1.0}}, "rule_prior must hold numbers above 0"),
        ({"grammar": ASTRONOMERS, "unknown_words": "what"}, "'unknown_words' parameter"),
        ({"grammar": ASTRONOMERS, "tol": -1}, "'tol' parameter"),
    ],
    ids=["nothing", "both", "fixed", "prior", "policy", "tol"],
)
def test_wrong_settings_are_refused_by_name(settings_: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PCFG(**settings_).fit([SENTENCE])


# -- what is left behind -----------------------------------------------------------------------------------------------


def test_an_inconsistent_grammar_is_told_of() -> None:
    with pytest.warns(UserWarning, match="derivations may go on for ever") as caught:
        model = PCFG("S -> S S [0.9] | 'a' [0.1]", fixed=["S"], tol=1.0).fit(["a a"])
    assert model.certificate_["consistency"].value == pytest.approx(1 / 9)
    assert caught[0].filename == __file__


def test_text_pickles_and_clones_round_trip() -> None:
    model = PCFG(ASTRONOMERS).fit(TEXT)
    assert read_grammar(str(model.grammar_)) == model.grammar_
    other = pickle.loads(pickle.dumps(model))
    assert other.score(TEXT) == model.score(TEXT)
    copy = clone(PCFG(model.grammar_, tol=1e-5))
    assert copy.tol == 1e-5
    with pytest.raises(NotFittedError):
        copy.parse(TEXT)


def test_a_model_file_round_trips(tmp_path: Any) -> None:
    import unveil

    model = PCFG(ASTRONOMERS, schedule=Stepwise(decay=0.7)).fit(TEXT)
    model.save(tmp_path / "grammar.unveil")
    other = unveil.load(tmp_path / "grammar.unveil")
    assert other.grammar_ == model.grammar_
    assert other.score(TEXT) == model.score(TEXT)
    assert str(other.certificate_) == str(model.certificate_)
    np.testing.assert_array_equal(other.partial_fit(TEXT).probabilities_, model.partial_fit(TEXT).probabilities_)


# -- scikit-learn's checks ---------------------------------------------------------------------------------------------


ABOUT_THE_CLASS = (
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_set_params,
    checks.check_get_params_invariance,
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_mixin_order,
    checks.check_valid_tag_types,
)


@pytest.mark.parametrize("check", ABOUT_THE_CLASS, ids=lambda check: check.__name__)
def test_scikit_learn_checks(check: Any) -> None:
    """All others feed tables of numbers, which is why the tags say that this takes text."""
    check("PCFG", PCFG(ASTRONOMERS))


def test_the_tags_say_that_it_takes_text() -> None:
    tags = PCFG().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
