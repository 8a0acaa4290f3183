"""Grammars and sentences, and what tests do with them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unveil import PCFG
from unveil.core.loop import ExpectationStep
from unveil.core.protocols import Block
from unveil.core.statistics import Statistics
from unveil.expectations import Exact
from unveil.grammar import Grammar, normal_form, read_grammar, read_trees
from unveil.grammar.pcfg.input import Reader, read_sentences, weights_of
from unveil.grammar.pcfg.model import GrammarModel

ASTRONOMERS = """
S -> NP VP [1.0]
PP -> P NP [1.0]
VP -> V NP [0.7] | VP PP [0.3]
NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | 'saw' [0.04] | 'stars' [0.18] | 'telescopes' [0.1]
P -> 'with' [1.0]
V -> 'saw' [1.0]
"""
SENTENCE = "astronomers saw stars with ears"
CYCLIC = """
S -> A [0.3] | S S [0.15] | B 'b' S [0.1] | 'a' [0.2] | A B [0.25]
A -> B [0.4] | 'a' [0.3] | [0.3]
B -> A [0.2] | S [0.1] | 'b' [0.5] | [0.2]
"""
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


def even(notation: str) -> Grammar:
    """The rules of a grammar, each as likely as the others of its parent."""
    grammar = read_grammar(notation)
    return grammar.with_probabilities(1.0 / np.bincount(grammar.parents)[grammar.parents])


def model_of(grammar: Grammar, **settings_: Any) -> GrammarModel:
    return GrammarModel(normal_form(grammar), grammar.parents, **settings_)


def block_of(grammar: Grammar, sentences: Any, weights: Any = None) -> Block:
    read = read_sentences(sentences)
    source = Reader(grammar, normal_form(grammar)).source(read, weights_of(weights, len(read)))
    blocks = list(source.read())
    assert len(blocks) == 1
    return blocks[0]


def expect(
    grammar: Grammar, sentences: Any, weights: Any = None, expectation: Any = None, **settings_: Any
) -> Statistics:
    model = model_of(grammar, **settings_)
    plan = model.prepare(model.begin(grammar.probabilities))
    step = ExpectationStep(model, plan, expectation or Exact(), 0, 0)
    return step(block_of(grammar, sentences, weights), None)[0]
