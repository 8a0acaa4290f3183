"""The fitted grammar: made once and kept until an attribute changes; trees drawn from the root down."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

from tests.grammar.pcfg.cases import ASTRONOMERS, SENTENCE, TEXT
from unveil import PCFG
from unveil.grammar import read_grammar
from unveil.grammar.pcfg.fitted import fitted_grammar, grow_trees, parses, read, scores


def test_what_is_made_ready_serves_every_call() -> None:
    model = PCFG(ASTRONOMERS).fit(TEXT)
    ready = model._fitted
    model.parse(TEXT)
    model.set_params(tol=1e-3, rule_prior=2.0)  # what only a fit would ask for
    assert model._fitted is ready
    assert ready.plan.best.packed is ready.plan.best.packed
    assert pickle.loads(pickle.dumps(model)).score_samples(TEXT).tobytes() == model.score_samples(TEXT).tobytes()


def test_attributes_that_change_are_seen() -> None:
    model, strange = PCFG(ASTRONOMERS, unknown_words="rare").fit(TEXT), ["stars saw comets"]
    before = model.score(strange)
    model.word_counts_[model.words_.index("ears")] = 1
    assert model.score(strange) != before
    model.set_params(unknown_words="impossible")
    assert model.score(strange) == -np.inf
    model.grammar_ = read_grammar("S -> 'ha' S [0.5] | 'ha' [0.5]")
    model.word_counts_ = np.ones(1)
    assert model.score(["ha"]) == pytest.approx(np.log(0.5))
    assert model.fit(TEXT).score([SENTENCE]) == PCFG(ASTRONOMERS).fit(TEXT).score([SENTENCE])


def test_a_grammar_set_by_hand_is_all_it_takes() -> None:
    model = PCFG(unknown_words="rare")
    model.grammar_ = read_grammar(ASTRONOMERS)
    assert np.exp(model.score([SENTENCE])) == pytest.approx(0.0015876, rel=1e-12)
    assert np.isfinite(model.score(["stars saw comets"]))


def test_functions_need_no_estimator() -> None:
    grammar = read_grammar(ASTRONOMERS)
    fitted = fitted_grammar(grammar, np.ones(len(grammar.words)))
    assert np.exp(scores(fitted, read(fitted, [SENTENCE])))[0] == pytest.approx(0.0015876, rel=1e-12)
    assert parses(fitted, [SENTENCE]) == PCFG.from_grammar(grammar).parse([SENTENCE])


class Highest(np.random.RandomState):
    """The largest number that a generator gives."""

    def random_sample(self):
        return np.nextafter(1.0, 0.0)


def test_trees_come_as_often_as_they_are_likely() -> None:
    grammar = read_grammar("S -> 'a' S [0.3] | 'b' [0.4] | [0.3]")
    trees = grow_trees(grammar, 20_000, np.random.RandomState(0))
    seen = Counter(trees)
    for tree in set(trees[:200]):
        assert seen[tree] / len(trees) == pytest.approx(np.exp(grammar.log_probability(tree)), abs=0.012)


def test_a_rule_of_probability_0_is_never_drawn() -> None:
    grammar = read_grammar("S -> 'a' [0.1] | 'b' [0.2] | 'c' [0.7] | 'd' [0.0]")
    (tree,) = grow_trees(grammar, 1, Highest(0))
    assert tree.leaves == ("c",)
