from __future__ import annotations

import numpy as np
import pytest

from tests.grammar.pcfg.cases import TREES, quietly, shares
from unveil import PCFG
from unveil.grammar import Nonterminal, Rule, read_grammar
from unveil.grammar.pcfg.rules import numbers_named, pruned, revived
from unveil.grammar.pcfg.starts import canonical, random_start, symbols_of


def drawn(n_nonterminals: int, n_preterminals: int | None, empty: bool = False, seed: int = 0):
    symbols = symbols_of("S", n_nonterminals, None, n_preterminals, None)
    return random_start(symbols, ["a", "b", "c"], empty, np.random.default_rng(seed))


@pytest.mark.parametrize(("n_nonterminals", "n_preterminals"), [(1, None), (4, None), (1, 2), (3, 4)])
@pytest.mark.parametrize("empty", [False, True])
def test_random_grammars_derive_everything_and_end(
    n_nonterminals: int, n_preterminals: int | None, empty: bool
) -> None:
    grammar = drawn(n_nonterminals, n_preterminals, empty)
    assert grammar.is_consistent
    found = PCFG.from_grammar(grammar).score_samples(["a", "c b", "a b c a b"])
    assert np.all(np.isfinite(found))
    assert np.isfinite(PCFG.from_grammar(grammar).score([""])) == empty
    assert grammar == drawn(n_nonterminals, n_preterminals, empty)
    assert grammar != drawn(n_nonterminals, n_preterminals, empty, seed=1)
    assert len(grammar.nonterminals) == n_nonterminals + (n_preterminals or 0)


def test_symbols_come_in_falling_order_of_use() -> None:
    grammar = drawn(3, 3)
    uses = np.random.default_rng(1).random(grammar.n_rules)
    ordered, order = canonical(grammar, uses, named=False)
    assert [symbol.name for symbol in ordered.nonterminals] == ["S", "N1", "N2", "P1", "P2", "P3"]
    totals = np.bincount(ordered.parents, weights=uses[order])
    assert totals[1] >= totals[2]
    assert totals[3] >= totals[4] >= totals[5]
    sentences = ["a b", "c", "b a c b"]
    np.testing.assert_allclose(
        PCFG.from_grammar(ordered).score_samples(sentences),
        PCFG.from_grammar(grammar).score_samples(sentences),
        rtol=1e-12,
    )
    names, _ = canonical(grammar, uses, named=True)
    assert set(names.rules) == set(grammar.rules)


def test_rules_are_found_by_name() -> None:
    grammar = read_grammar("S -> S S [0.3] | 'a' [0.3] | [0.4]")
    assert numbers_named(grammar, "S", "fixed").tolist() == [0, 1, 2]
    assert numbers_named(grammar, grammar.start, "fixed").tolist() == [0, 1, 2]
    assert numbers_named(grammar, grammar.rules[1], "fixed").tolist() == [1]
    assert numbers_named(grammar, "S ->", "fixed").tolist() == [2]
    assert numbers_named(grammar, 'S -> "a"', "fixed").tolist() == [1]
    assert numbers_named(grammar, "T -> 'b'", "fixed", (Rule(Nonterminal("T"), ("b",)),)).tolist() == []
    strange = read_grammar("S -> 'a\\b' [0.5] | 'c\u00a0d' [0.5]")
    assert [numbers_named(strange, str(rule), "fixed").tolist() for rule in strange.rules] == [[0], [1]]
    with pytest.raises(ValueError, match="fixed must name rules of the grammar, such as 'S -> S S', or parents; got T"):
        numbers_named(grammar, "T", "fixed")


def test_pruning_keeps_the_likeliest_rule_and_drops_what_is_out_of_reach() -> None:
    grammar = read_grammar("S -> A [0.95] | B [0.05] \n A -> 'a' [0.6] | 'b' [0.4] \n B -> 'c' [1.0]")
    smaller, kept = pruned(grammar, 0.1)
    assert [str(rule) for rule in smaller.rules] == ["S -> A", "A -> 'a'", "A -> 'b'"]
    assert kept.tolist() == [0, 2, 3]
    assert [str(rule) for rule in pruned(grammar, 0.99)[0].rules] == ["S -> A", "A -> 'a'"]
    assert pruned(grammar, 0.0)[0] is grammar
    assert pruned(grammar, 0.01)[0] is grammar
    free = np.array([True, False, True, True, True])
    held, kept = pruned(grammar, 0.5, free)
    assert kept.tolist() == [0, 1, 2, 4]
    np.testing.assert_allclose(held.probabilities, [0.95, 0.05, 1.0, 1.0], rtol=1e-15)


def test_what_is_wanted_is_not_ruled_out() -> None:
    found = revived(np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 0, 0, 1]), np.array([True, True, False, True]), 0.1)
    np.testing.assert_allclose(found, [0.9, 0.1, 0.0, 1.0])
    one, every = np.zeros(4, dtype=np.intp), np.ones(4, dtype=bool)
    held = revived(np.array([0.5, 0.5, 0.0, 0.0]), one, every, 0.1, np.array([False, True, True, False]))
    np.testing.assert_allclose(held, [0.5, 0.45, 0.05, 0.0])


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
