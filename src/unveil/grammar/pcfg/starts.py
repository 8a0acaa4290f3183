"""Where a grammar starts: as given, as counted in trees, or drawn at random for given symbols.

A random grammar derives every sentence of its words: each nonterminal may become any pair of symbols, and each
preterminal any word. Without preterminals every symbol may do both (the grammar of Lari & Young 1990). Probabilities
are drawn near to equal, since equal ones would be a saddle that no step leaves; half of the pairs are kept out of
nonterminals, so that trees end soon. Several are run a few passes on some of the sentences, and the best go on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.loop import Parts, fit
from unveil.core.result import Fit, Status
from unveil.grammar import Grammar, Nonterminal, Rule
from unveil.grammar.pcfg.input import Sentence, words_of
from unveil.grammar.pcfg.model import GrammarParams

Sizes = tuple[int | None, Sequence[str] | None, int | None, Sequence[str] | None]
"""Nonterminals and preterminals, how many or by name."""

PHRASE_SHARE = 0.4  # of nonterminals among the children of a random rule: below a half, so that trees end
START_SHAPE = 2.0  # of the gamma draws that make random probabilities unequal: small is rough
SHORT_RUNS = 5  # random grammars tried for each that is run to the end
SHORT_RUN_PASSES = 6
SHORT_RUN_WORDS = 4000  # of the sentences that they look at


@dataclass(frozen=True)
class Symbols:
    """What a random grammar is made of; without preterminals every nonterminal has words of its own."""

    start: Nonterminal
    nonterminals: tuple[Nonterminal, ...]  # the start first
    preterminals: tuple[Nonterminal, ...]
    named: bool  # by the user: names stay with their symbols


def symbols_of(
    start: str | None,
    n_nonterminals: int | None,
    nonterminals: Sequence[str] | None,
    n_preterminals: int | None,
    preterminals: Sequence[str] | None,
) -> Symbols:
    """The symbols that are asked for; made-up names are N1, N2 ... and P1, P2 ..., those in use passed over."""
    phrases = _given_names("nonterminals", n_nonterminals, nonterminals)
    parts = _given_names("preterminals", n_preterminals, preterminals)
    first = _start_of(start, phrases)
    both = sorted({*phrases, first} & set(parts))
    if both:
        raise ValueError(f"a symbol is a nonterminal or a preterminal, got {both[0]!r} among both")
    used = {first, *phrases, *parts}
    phrases = phrases or (first, *islice(made_up("N", used), (n_nonterminals or 1) - 1))
    parts = parts or tuple(islice(made_up("P", used), n_preterminals or 0))
    ordered = (first, *(name for name in phrases if name != first))
    named = nonterminals is not None or preterminals is not None
    return Symbols(Nonterminal(first), tuple(map(Nonterminal, ordered)), tuple(map(Nonterminal, parts)), named)


def made_up(letter: str, used: Collection[str]) -> Iterator[str]:
    """Names that nothing has: a letter and a number from 1 on."""
    return (name for name in (f"{letter}{number}" for number in count(1)) if name not in used)


def _start_of(start: str | None, names: Sequence[str]) -> str:
    """The start symbol: as named, or S, or, where symbols have names and S is none of them, the first."""
    if start is None:
        return names[0] if names and "S" not in names else "S"
    if names and start not in names:
        raise ValueError(f"start must be one of nonterminals, got {start!r}; they are {', '.join(names):.80}")
    return start


def _given_names(argument: str, number: int | None, names: Sequence[str] | None) -> tuple[str, ...]:
    """Names as given, or none."""
    if names is None:
        return ()
    if number is not None:
        raise ValueError(f"give {argument} or n_{argument}, not both; got {list(names)!r:.80} and {number}")
    wrong = [name for name in names if not isinstance(name, str) or not name]
    if not len(names) or wrong or len(set(names)) != len(names):
        raise ValueError(f"{argument} must be different names, at least one, got {names!r:.80}")
    return tuple(map(str, names))


def first_grammar(
    sentences: Sequence[Sentence], weights: Floats | None, start: str | None, sizes: Sizes, seed: int
) -> tuple[Grammar, Symbols | None]:
    """Where nobody gave a grammar: that of the trees among the sentences, or a random one and what it is made of."""
    counted = [(one, 1.0 if weights is None else float(weights[n])) for n, one in enumerate(sentences)]
    counted = [(sentence, weight) for sentence, weight in counted if weight > 0]
    trees = [(sentence.tree, weight) for sentence, weight in counted if sentence.tree is not None]
    if sizes[0] is None and sizes[1] is None:
        if sizes[2] is not None or sizes[3] is not None:
            got = sizes[2] if sizes[3] is None else sizes[3]
            raise ValueError(f"preterminals are part of a random grammar, got {got!r:.80} of them and no nonterminals")
        if trees:
            return Grammar.from_trees([tree for tree, _ in trees], start, weights=[weight for _, weight in trees]), None
        raise ValueError(
            "grammar must be a Grammar or text in nltk's notation, or n_nonterminals a number of symbols for a "
            "random one, or there must be trees among the sentences; got none of these"
        )
    symbols = symbols_of(start, *sizes)
    words = words_of(sentence for sentence, _ in counted)
    if not words:
        raise ValueError("X must hold a word: all its sentences are empty, and a random grammar would have no rules")
    empty = any(not sentence.words for sentence, _ in counted)
    return random_start(symbols, words, empty, np.random.default_rng([seed, 0])), symbols


def random_start(symbols: Symbols, words: Sequence[str], empty: bool, random: np.random.Generator) -> Grammar:
    """A grammar of these symbols and words with random probabilities; with `empty` it derives the empty sentence too.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.grammar.pcfg.starts import random_start, symbols_of
    >>> symbols = symbols_of("S", 2, None, None, None)
    >>> grammar = random_start(symbols, ["a", "b"], empty=False, random=np.random.default_rng(0))
    >>> len(grammar.rules), [round(float(p), 12) for p in np.bincount([0] * 6 + [1] * 6, weights=grammar.probabilities)]
    (12, [1.0, 1.0])
    """
    rules: list[Rule] = []
    shares: list[Floats] = []
    for symbol in (*symbols.nonterminals, *symbols.preterminals):
        own = _rules_of(symbol, symbols, words, empty)
        drawn = random.gamma(START_SHAPE, size=len(own)) * np.array([share for _, share in own])
        rules.extend(rule for rule, _ in own)
        shares.append(drawn / drawn.sum())
    return Grammar(symbols.start, tuple(rules), np.concatenate(shares))


def _rules_of(symbol: Nonterminal, symbols: Symbols, words: Sequence[str], empty: bool) -> list[tuple[Rule, float]]:
    """All rules of a symbol, each with its share before anything is drawn."""
    spelled = [(Rule(symbol, (word,)), 1.0 / len(words)) for word in words]
    if symbol in symbols.preterminals:
        return spelled
    if not symbols.preterminals:
        every = symbols.nonterminals
        pairs = [(Rule(symbol, (a, b)), PHRASE_SHARE / len(every) ** 2) for a in every for b in every]
        single = [(rule, (1.0 - PHRASE_SHARE) * share) for rule, share in spelled]
    else:
        shares = {a: PHRASE_SHARE / len(symbols.nonterminals) for a in symbols.nonterminals}
        shares |= {a: (1.0 - PHRASE_SHARE) / len(symbols.preterminals) for a in symbols.preterminals}
        pairs = [(Rule(symbol, (a, b)), shares[a] * shares[b]) for a in shares for b in shares]
        alone = symbols.preterminals if symbol == symbols.start else ()  # a sentence of a single word
        single = [(Rule(symbol, (a,)), 0.5 * shares[a]) for a in alone]
    nothing = [(Rule(symbol, ()), 0.1)] if empty and symbol == symbols.start else []
    return [*pairs, *single, *nothing]


def canonical(grammar: Grammar, uses: Floats, named: bool) -> tuple[Grammar, NDArray[np.intp]]:
    """A grammar of random start in an order of its own: symbols by falling use, the start first; and the old numbers.

    Made-up names follow the order, so that N1 is always the most used; within a parent rules go by the order of their
    children. `uses` (n_rules,) are the expected uses of the rules.
    """
    total: dict[Nonterminal, float] = {}
    for rule, times in zip(grammar.rules, uses, strict=True):
        total[rule.parent] = total.get(rule.parent, 0.0) + float(times)
    branching = {rule.parent for rule in grammar.rules if len(rule.children) == 2}
    kinds = [
        lambda a: a == grammar.start,
        lambda a: a != grammar.start and a in branching,
        lambda a: a not in branching,
    ]
    ordered = [symbol for kind in kinds for symbol in sorted(filter(kind, total), key=lambda a: (-total[a], a.name))]
    names = {symbol: symbol for symbol in ordered} if named else _renamed(ordered, grammar.start, branching)
    place = {symbol: number for number, symbol in enumerate(ordered)}

    def key(number: int) -> tuple[object, ...]:
        rule = grammar.rules[number]
        children = tuple(place[child] if not isinstance(child, str) else len(place) for child in rule.children)
        words = tuple(child for child in rule.children if isinstance(child, str))
        return place[rule.parent], -len(rule.children), children, words

    order = np.array(sorted(range(len(grammar.rules)), key=key), dtype=np.intp)
    rules = tuple(_with_names(grammar.rules[number], names) for number in order)
    return Grammar(grammar.start, rules, grammar.probabilities[order]), order


def _renamed(
    ordered: Sequence[Nonterminal], start: Nonterminal, branching: set[Nonterminal]
) -> dict[Nonterminal, Nonterminal]:
    names, fresh = {start: start}, {letter: made_up(letter, {start.name}) for letter in "NP"}
    for symbol in ordered:
        if symbol != start:
            names[symbol] = Nonterminal(next(fresh["N" if symbol in branching else "P"]))
    return names


def _with_names(rule: Rule, names: dict[Nonterminal, Nonterminal]) -> Rule:
    return Rule(names[rule.parent], tuple(child if isinstance(child, str) else names[child] for child in rule.children))


def short_runs(parts: Parts, symbols: Symbols, grammar: Grammar, n_init: int) -> Iterator[GrammarParams]:
    """The highest of several random grammars after a few passes each, as many as are to go on; the first of equals."""
    empty = any(not rule.children for rule in grammar.rules)
    outcomes: list[Fit] = []
    for number in range(SHORT_RUNS * n_init):
        drawn = random_start(symbols, grammar.words, empty, np.random.default_rng([parts.seed, number]))
        begin = GrammarParams(drawn.probabilities, np.ones(len(drawn.nonterminals)))
        outcomes.append(fit(parts, begin))
        if outcomes[-1].status is Status.INTERRUPTED:
            break
    for outcome in sorted(outcomes, key=lambda one: -one.objective)[:n_init]:
        yield outcome.params
