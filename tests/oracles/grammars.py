"""Small random grammars with all that may go wrong: ambiguity, unary cycles, empty rules, long and mixed rules."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from unveil.grammar import Grammar, Nonterminal, Rule
from unveil.grammar.language.rules import normalised

WORDS = ("a", "b")
WEIGHTS = st.integers(1, 20).map(float)


@st.composite
def grammars(
    draw: st.DrawFn, most_symbols: int = 3, longest: int = 3, empty: bool = True, cyclic: bool = True
) -> Grammar:
    """A grammar in which every symbol soon ends: words have at least three tenths of its probability.

    Without `empty` no rule is empty. Without `cyclic` unary rules lead only to later symbols; with neither, sentences
    have finitely many trees.
    """
    symbols = [Nonterminal(name) for name in ("S", "A", "B", "C")[: draw(st.integers(1, most_symbols))]]
    rules: dict[Rule, float] = {}
    for number, parent in enumerate(symbols):
        own: dict[Rule, float] = {}
        for _ in range(draw(st.integers(0, 4))):
            length = draw(st.integers(0 if empty else 1, longest))
            children = tuple(draw(st.sampled_from([*symbols, *WORDS])) for _ in range(length))
            later = length != 1 or children[0] in WORDS or children[0] in symbols[number + 1 :]
            if cyclic or later:
                own[Rule(parent, children)] = draw(WEIGHTS)
        rules |= _ended(parent, own, draw(SOME_WORDS))
    return normalised(symbols[0], tuple(rules), list(rules.values()))


@st.composite
def gapped_grammars(draw: st.DrawFn, most_symbols: int = 2) -> Grammar:
    """A grammar in which children of long rules may be empty, so that chains pass symbols that the normal form made.

    Every symbol has a rule of three or four children; the start, and some of the others, make nothing at times.
    """
    symbols = [Nonterminal(name) for name in ("S", "A", "B", "C")[: draw(st.integers(1, most_symbols))]]
    child = st.sampled_from([*symbols, *symbols, *symbols, *WORDS])
    rules: dict[Rule, float] = {}
    for number, parent in enumerate(symbols):
        own = {Rule(parent, tuple(draw(st.lists(child, min_size=3, max_size=4)))): draw(WEIGHTS)}
        for children in draw(st.lists(st.lists(child, min_size=1, max_size=3), max_size=2)):
            own[Rule(parent, tuple(children))] = draw(WEIGHTS)
        if number == 0 or draw(st.booleans()):
            own[Rule(parent, ())] = draw(WEIGHTS)
        rules |= _ended(parent, own, draw(SOME_WORDS))
    return normalised(symbols[0], tuple(rules), list(rules.values()))


def _ended(parent: Nonterminal, own: dict[Rule, float], words: list[str]) -> dict[Rule, float]:
    """The rules of a parent, and some words, with at least three tenths of its probability."""
    for word in words:
        own[Rule(parent, (word,))] = max(own.get(Rule(parent, (word,)), 0.0), 0.45 * sum(own.values()) + 1)
    return own


SOME_WORDS = st.lists(st.sampled_from(WORDS), min_size=1, unique=True)
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=3).map(tuple)
SEVERAL_WORDS = st.lists(st.sampled_from(WORDS), min_size=3, max_size=4).map(tuple)


class Marked(NamedTuple):
    """A grammar, a sentence and brackets (first, last, label or None), one for a span."""

    grammar: Grammar
    words: tuple[str, ...]
    brackets: list[tuple[int, int, str | None]]


@st.composite
def marked(draw: st.DrawFn, named: bool = True) -> Marked:
    """Half of them with empty children, and with brackets that something may cross, most of these without a name.

    Where those are not to be `named` at all, there is a name in the other half alone.
    """
    gapped = draw(st.booleans())
    grammar = draw(gapped_grammars() if gapped else grammars())
    words = draw(SEVERAL_WORDS if gapped else SENTENCES.filter(len))
    names = [symbol.name for symbol in grammar.nonterminals]
    labels = st.sampled_from([None, None, *names[:named]] if gapped else [None, *names])
    spans = [(i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    crossed = [(i, j) for i, j in spans if 1 < j - i < len(words)] if gapped else spans
    places = draw(st.lists(st.sampled_from(crossed), min_size=1, max_size=2, unique=True))
    return Marked(grammar, words, [(*place, draw(labels)) for place in places])
