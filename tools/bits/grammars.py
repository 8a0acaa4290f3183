"""Cases of grammars: given, read from trees, random; brackets, empty rules, priors, and what is done with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tools.bits.case import Case, Parts, feed, fit, grid
from tools.bits.use import of_sentences
from unveil import PCFG
from unveil.grammar import Grammar, read_bracketed, read_grammar, read_trees, write_grammar
from unveil.schedules import Stepwise

STARS = """
S -> NP VP [1.0]
PP -> P NP [1.0]
VP -> V NP [0.7] | VP PP [0.3]
NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | 'saw' [0.04] | 'stars' [0.18] | 'telescopes' [0.1]
P -> 'with' [1.0]
V -> 'saw' [1.0]
"""
CYCLIC = """
S -> A [0.3] | S S [0.15] | B 'b' S [0.1] | 'a' [0.2] | A B [0.25]
A -> B [0.4] | 'a' [0.3] | [0.3]
B -> A [0.2] | S [0.1] | 'b' [0.5] | [0.2]
"""
SEEN = [
    "astronomers saw stars with ears",
    "stars saw ears",
    "astronomers saw stars with telescopes",
    "astronomers with telescopes saw stars with ears with ears",
    "ears saw saw",
]
LETTERS = ["a b", "", "b a b", "a", "b b b a", "a a b"]
TREES = list(
    read_trees(
        "(S (NP astronomers) (VP (V saw) (NP (NP stars) (PP (P with) (NP ears)))))"
        "(S (NP stars) (VP (V saw) (NP ears)))"
        "(S (NP stars) (VP (VP (V saw) (NP ears)) (PP (P with) (NP telescopes))))"
    )
)
BRACKETS = [
    read_bracketed("astronomers saw (stars with ears)"),
    read_bracketed("astronomers (VP (VP saw stars) with ears)", labels={"VP"}),
    "stars saw ears",
]
WEIGHTS = [3.0, 0.0, 1.0, 2.0, 0.5]
MANY = [
    ["abc"[int(letter)] for letter in np.random.default_rng(number).integers(0, 3, 2 + number % 8)]
    for number in range(300)
]
OPTIONS: dict[str, dict[str, Any]] = {
    "rule_prior=2": {"rule_prior": 2.0},
    "rule_prior=0.5": {"rule_prior": 0.5},
    "rule_prior=some": {"rule_prior": {"NP -> 'telescopes'": 4.0, "VP": 1.5}},
    "fixed": {"fixed": ["VP", "NP -> NP PP"]},
    "prune": {"prune": 0.05},
}


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _given()
    yield from _random()
    yield from _used()


def _stars(**options: Any) -> PCFG:
    return PCFG(STARS, random_state=0, **{"max_iter": 8, **options})


def _given() -> Iterator[Case]:
    """Rules that are known."""
    yield from grid(_stars, SEEN, "/stars", use=of_sentences)
    yield from grid(lambda **parts: PCFG(CYCLIC, random_state=0, max_iter=8, **parts), LETTERS, "/cyclic", of_sentences)
    yield from grid(_stars, BRACKETS, "/brackets", use=of_sentences)
    yield from grid(_stars, SEEN, "/weights", use=of_sentences, sample_weight=WEIGHTS)
    for label, options in OPTIONS.items():
        yield fit(label, _stars(**options), SEEN, use=of_sentences)
        for schedule in ("gradient", "lbfgs", "squarem", "stepwise", "incremental"):
            yield fit(f"{label}/schedule={schedule}", _stars(**options, schedule=schedule), SEEN, use=of_sentences)
        for word in ("hard", "sampled", "sparse", "annealed"):
            yield fit(f"{label}/expectation={word}", _stars(**options, expectation=word), SEEN, use=of_sentences)
    yield fit("trees", PCFG(), TREES, use=of_sentences, on=SEEN[:2])
    yield fit("trees and text", PCFG(max_iter=8), [*TREES, SEEN[0]], use=of_sentences, on=SEEN[:2])
    yield fit("start=TOP", PCFG(start="TOP"), [*TREES, *read_trees("(Q (NP stars))")], use=of_sentences, on=SEEN[:2])
    yield fit("weights/trees", PCFG(), TREES, sample_weight=[1.0, 2.0, 0.5], use=of_sentences, on=SEEN[:2])
    for word in ("error", "skip"):
        yield fit(f"impossible={word}", _stars(impossible=word), [*SEEN, "saw with"], use=of_sentences, on=SEEN)
    unknown = [SEEN[1], "comets saw stars"]
    for word in ("error", "impossible", "rare", "uniform"):
        yield fit(f"unknown_words={word}", _stars(unknown_words=word), SEEN, use=of_sentences, on=unknown)
    yield feed("partial_fit", _stars(), [SEEN, SEEN[:2], TREES], use=of_sentences)
    yield feed("partial_fit/stepwise", _stars(schedule=Stepwise(0.9, 3)), [SEEN, SEEN[2:]], use=of_sentences)


def _random() -> Iterator[Case]:
    """Rules that are not."""
    few = {"n_nonterminals": 3, "random_state": 0, "max_iter": 5}
    yield from grid(lambda **parts: PCFG(**few, **parts), LETTERS, "/random", use=of_sentences)
    kinds: dict[str, dict[str, Any]] = {
        "n_nonterminals=2,n_preterminals=3": {"n_nonterminals": 2, "n_preterminals": 3},
        "nonterminals": {"nonterminals": ["S", "A", "B"]},
        "preterminals": {"nonterminals": ["S", "A"], "preterminals": ["P", "Q"]},
        "start": {"nonterminals": ["A", "B"], "start": "B"},
        "n_init=2": {"n_nonterminals": 3, "n_init": 2},
        "prune": {"n_nonterminals": 3, "prune": 0.02},
        "rule_prior=0.5": {"n_nonterminals": 3, "rule_prior": 0.5},
    }
    for label, options in kinds.items():
        model = PCFG(random_state=0, max_iter=5, **options)
        yield fit(f"random/{label}", model, MANY[:40], use=of_sentences, on=MANY[:3])
    yield feed("partial_fit/random", PCFG(**few), [MANY[:50], MANY[50:90]], use=of_sentences)


def _used() -> Iterator[Case]:
    yield Case("PCFG/warm_start", _warm)
    yield Case("PCFG/from_grammar", lambda: of_sentences(PCFG.from_grammar(STARS, random_state=0), [*SEEN, *BRACKETS]))
    yield Case("PCFG/from_grammar/cyclic", lambda: of_sentences(PCFG.from_grammar(CYCLIC, random_state=0), LETTERS))
    yield Case("PCFG/grammars", _texts)


def _warm() -> Parts:
    model = _stars(max_iter=3, tol=0, warm_start=True)
    yield "fit", lambda: model.fit(SEEN)
    yield "fit again", lambda: model.fit(SEEN)
    yield "batch", lambda: model.partial_fit(SEEN[:2])
    yield "next words", lambda: [model.next_word(prefix) for prefix in ("", "stars", "stars saw")]
    yield "prefixes", lambda: model.prefix_proba(["", "stars", "stars saw", "with"])
    yield "score with weights", lambda: model.score(SEEN, sample_weight=WEIGHTS)


def _texts() -> Parts:
    grammar = read_grammar(STARS)
    yield "read", lambda: grammar
    yield "written", lambda: write_grammar(grammar)
    yield "pruned", lambda: grammar.pruned(0.1)
    yield "counts", lambda: grammar.counts(TREES)
    yield "from trees", lambda: Grammar.from_trees(TREES)
    yield "trees", lambda: [(str(tree), tree.leaves, tree.depth, tree.spans(), tree.pretty(40)) for tree in TREES]
    yield "log_probability", lambda: [grammar.log_probability(tree) for tree in TREES]
    yield "consistent", lambda: (grammar.is_consistent, read_grammar(CYCLIC).is_consistent)
