from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.grammar.pcfg.cases import ASTRONOMERS, SENTENCE
from unveil import PCFG
from unveil.engines import Threads
from unveil.grammar import Grammar, Tree, read_bracketed, read_grammar

TEXT = [SENTENCE, "stars saw ears", "ears saw saw", "stars with ears saw ears with ears with ears", "saw saw saw"]


def test_posteriors_of_spans() -> None:
    model = PCFG.from_grammar(ASTRONOMERS)
    (found,) = model.predict_proba([SENTENCE])
    names = [symbol.name for symbol in model.grammar_.nonterminals]
    assert found.shape == (6, 6, len(names))
    assert found[2, 5, names.index("NP")] == pytest.approx(0.0009072 / 0.0015876)
    assert found[1, 3, names.index("VP")] == pytest.approx(0.0006804 / 0.0015876)
    assert found[0, 5, names.index("S")] == pytest.approx(1.0)


def test_prefixes_and_next_words() -> None:
    grammar = read_grammar("S -> A S [0.3] | A [0.5] | B A [0.2] \n A -> 'a' [0.6] | 'b' [0.4] \n B -> 'b' [1.0]")
    model = PCFG.from_grammar(grammar)
    every = [" ".join(words) for n in range(1, 9) for words in product("ab", repeat=n)]
    chances = dict(zip(every, np.exp(model.score_samples(every)), strict=True))
    for prefix in ("a", "b", "b a"):
        begun = sum(chance for sentence, chance in chances.items() if f"{sentence} ".startswith(f"{prefix} "))
        assert model.prefix_proba([prefix])[0] == pytest.approx(begun, abs=1e-3)
        ahead = model.next_word(prefix)
        assert sum(ahead.values()) == pytest.approx(1.0)
        assert ahead[None] == pytest.approx(chances[prefix] / model.prefix_proba([prefix])[0], rel=1e-9)
        for word in "ab":
            joint = model.prefix_proba([f"{prefix} {word}"])[0]
            assert ahead[word] == pytest.approx(joint / model.prefix_proba([prefix])[0], rel=1e-9)
    assert next(iter(model.next_word(""))) == "b"
    with pytest.raises(ValueError, match="beginning of some sentence"):
        PCFG.from_grammar(ASTRONOMERS).next_word("with")


def test_draws_follow_the_grammar() -> None:
    model = PCFG.from_grammar(ASTRONOMERS, random_state=0)
    sentences, trees = model.sample(3000)
    assert [list(tree.leaves) for tree in trees] == sentences
    assert model.sample(3)[0] == sentences[:3]
    counted = Grammar.from_trees(trees)
    for rule in counted.rules:
        assert counted.probability(rule) == pytest.approx(model.grammar_.probability(rule), abs=0.03)
    assert model.sample(3, random_state=7)[0] == model.sample(3, random_state=np.random.RandomState(7))[0]
    assert model.sample(30, random_state=7)[0] != model.sample(30)[0]
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        model.sample(0)
    with pytest.raises(ValueError, match="may never end"):
        PCFG.from_grammar("S -> S S [0.9] | 'a' [0.1]", random_state=0).sample(50)


def test_criteria() -> None:
    model = PCFG(ASTRONOMERS).fit(TEXT)
    total = model.score_samples(TEXT).sum()
    parameters = 1 + 4  # of VP, and of NP, of which telescopes are never said
    words = sum(len(sentence.split()) for sentence in TEXT)
    assert model.score(TEXT) == pytest.approx(total / 5)
    assert model.aic(TEXT) == pytest.approx(-2 * total + 2 * parameters)
    assert model.bic(TEXT) == pytest.approx(-2 * total + parameters * np.log(5))
    assert model.perplexity(TEXT) == pytest.approx(np.exp(-total / (words + 5)))


def test_a_tree_has_its_own_probability() -> None:
    model = PCFG(ASTRONOMERS, unknown_words="rare").fit(["stars saw ears", "ears saw astronomers"])
    for sentence in ("stars saw ears", "stars saw comets"):
        (parse,) = model.parse([sentence])
        assert model.score_samples([parse.tree])[0] == pytest.approx(parse.log_probability, rel=1e-12)
    others = [Tree("S", (Tree("XP", ("stars",)),)), Tree("S", ("comets",)), Tree("NP", ("stars",))]
    assert model.score_samples(others).tolist() == [-np.inf] * 3
    strict = PCFG(ASTRONOMERS, unknown_words="impossible").fit(["stars saw ears"])
    assert strict.score_samples([parse.tree])[0] == -np.inf


def test_brackets_are_taken_or_refused() -> None:
    model = PCFG.from_grammar(ASTRONOMERS)
    low = read_bracketed("astronomers saw (stars with ears)")
    names = [symbol.name for symbol in model.grammar_.nonterminals]
    free, bound = model.predict_proba([SENTENCE, low])
    assert free[2, 5, names.index("NP")] < 1.0
    assert bound[2, 5, names.index("NP")] == pytest.approx(1.0)
    assert model.predict_proba([model.parse([low])[0].tree])[0][2, 5, names.index("NP")] < 1.0
    for refused in (lambda: model.kbest(low, 2), lambda: model.next_word(low), lambda: model.prefix_proba([low])):
        with pytest.raises(ValueError, match=r"must be words alone here, got a Bracketed"):
            refused()
    assert model.kbest(model.parse([low])[0].tree, 9) == model.kbest(SENTENCE, 9)


def test_posteriors_and_prefixes_change_no_bit_over_threads() -> None:
    text = TEXT * 60
    runs = [PCFG.from_grammar(ASTRONOMERS, engine=Threads(count)) for count in (1, 2, 5)]
    found = [b"".join(one.tobytes() for one in run.predict_proba(text)) for run in runs]
    assert len(set(found)) == 1
    assert len({run.prefix_proba(text).tobytes() for run in runs}) == 1
    alone = PCFG.from_grammar(ASTRONOMERS).predict_proba(TEXT[3:4])[0]
    assert runs[1].predict_proba(text)[3].tobytes() == alone.tobytes()


@pytest.mark.parametrize("method", ["score_samples", "score", "parse", "predict_proba", "prefix_proba", "perplexity"])
def test_no_sentences_are_refused_everywhere_and_generators_taken(method: str) -> None:
    model = PCFG.from_grammar(ASTRONOMERS)
    with pytest.raises(ValueError, match="X must hold at least one sentence"):
        getattr(model, method)([])
    found: Any = getattr(model, method)(sentence for sentence in TEXT)
    wanted = getattr(model, method)(TEXT)
    assert len(found) == len(wanted) == 5 if hasattr(wanted, "__len__") else found == wanted


def test_weights_of_a_score_are_not_all_0() -> None:
    with pytest.raises(ValueError, match="sample_weight must be above 0 for some sentence"):
        PCFG.from_grammar(ASTRONOMERS).score(TEXT, sample_weight=np.zeros(5))


def test_a_ready_model_needs_a_grammar() -> None:
    with pytest.raises(ValueError, match="grammar must be a Grammar or text in nltk's notation, got None"):
        PCFG.from_grammar(None)


def test_a_long_sentence_keeps_its_digits() -> None:
    """Trees of n words are counted by Catalan numbers, and each has the same probability."""
    from math import lgamma, log

    n, share = 300, 1e-9
    grammar = read_grammar(f"S -> S S [{share:.9f}] | 'a' [{share:.9f}] | 'b' [{1 - 2 * share:.9f}]")
    trees = lgamma(2 * n - 1) - lgamma(n) - lgamma(n + 1)
    model = PCFG.from_grammar(grammar)
    assert model.score([["a"] * n]) == pytest.approx(trees + (2 * n - 1) * log(share), rel=1e-12)
    assert model.parse([["a"] * n])[0].log_probability == pytest.approx((2 * n - 1) * log(share), rel=1e-12)


def test_a_grammar_that_was_not_fitted_learns_from_batches():
    model = PCFG.from_grammar("S -> S S [0.25] | 'ha' [0.75]", random_state=0)
    assert model.partial_fit(["ha ha", "ha"]).n_iter_ == 1
