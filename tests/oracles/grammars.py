"""Small random grammars with all that may go wrong: ambiguity, unary cycles, empty rules, long and mixed rules."""

from __future__ import annotations

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
        words = draw(st.lists(st.sampled_from(WORDS), min_size=1, unique=True))
        for word in words:
            own[Rule(parent, (word,))] = max(own.get(Rule(parent, (word,)), 0.0), 0.45 * sum(own.values()) + 1)
        rules |= own
    return normalised(symbols[0], tuple(rules), list(rules.values()))


SENTENCES = st.lists(st.sampled_from(WORDS), max_size=3).map(tuple)
