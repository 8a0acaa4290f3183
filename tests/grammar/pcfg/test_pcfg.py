from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks as checks

from tests.grammar.pcfg.cases import ASTRONOMERS, CYCLIC, SENTENCE, TEXT, TREES, quietly, shares
from tests.oracles import derivations as oracle
from unveil import PCFG
from unveil.grammar import Bracketed, Span, Tree, read_bracketed, read_grammar
from unveil.schedules import Stepwise

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
    counts = np.sum([oracle.rule_counts(grammar, sentence.split()) for sentence in sentences], axis=0)
    wanted = counts / np.bincount(grammar.parents, weights=counts)[grammar.parents]
    np.testing.assert_allclose(model.counts_, counts, rtol=1e-10)
    np.testing.assert_allclose(model.probabilities_, wanted, rtol=1e-10)


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


def test_rules_that_were_chosen_from_more_than_there_are_words_are_doubtful() -> None:
    few = ["the dog saw a cat", "a cat saw the dog", "the cat ran", "a dog saw the cat"]
    found = PCFG(n_nonterminals=6, random_state=0).fit(few).certificate_["words_per_parameter"]
    assert (found.severity, found.kind) == ("doubt", "rows_per_parameter")
    assert "for each that the fit began with" in found.message
    given = PCFG("S -> S S [0.3] | 'a' [0.4] | 'b' [0.3]").fit(["a b a", "b b", "a a b a b"])
    assert given.certificate_["words_per_parameter"].severity == "fine"
