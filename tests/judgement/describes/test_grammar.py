"""Grammars against words drawn one by one."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from unveil import PCFG
from unveil.judgement.describes.grammar import bigrams, unigrams
from unveil.judgement.examine import examine

R = np.random.default_rng(500)


def sentence() -> str:
    noun, verb = (lambda: R.choice(["cat", "dog", "bird"])), R.choice(["sees", "likes"])
    return f"{R.choice(['the', 'a'])} {noun()} {verb} {R.choice(['the', 'a'])} {noun()}"


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_a_grammar_of_sentences_beats_their_words():
    X = [sentence() for _ in range(150)]
    model = PCFG(n_nonterminals=3, n_preterminals=3, random_state=0, n_init=3).fit(X)
    assert examine(model, X).verdicts["describes"] == "yes"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::unveil.certificate.FitWarning")
def test_a_grammar_of_noise_does_not():
    X = [" ".join(R.choice(["a", "b", "c", "d"], size=R.geometric(0.25))) for _ in range(150)]
    model = PCFG(n_nonterminals=3, n_preterminals=3, random_state=0).fit(X)
    certificate = examine(model, X)
    assert certificate.verdicts["describes"] == "no"
    assert certificate.reasons("describes")[0].kind == "unigram"


def test_words_and_pairs_are_counted():
    known = 2 * log(2 / 6) + 2 * log(2 / 6) + 2 * log(2 / 6)
    assert unigrams([["a", "b"], ["b", "a"]]) == (pytest.approx(known), 2)
    assert bigrams([["a", "b"], ["b", "a"]]) == (pytest.approx(6 * log(0.5)), 3)
