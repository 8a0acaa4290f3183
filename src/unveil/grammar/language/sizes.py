"""Trees drawn from a grammar: from the root down, every symbol is replaced by a rule of its own at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.grammar.language.rules import Grammar, Nonterminal, Rule
from unveil.grammar.language.trees import Tree

LONGEST = 100_000  # nodes of a drawn tree: one that is larger would hardly ever end


def grow_trees(grammar: Grammar, count: int, random: np.random.RandomState) -> list[Tree]:
    """Trees, each with the probability that the grammar gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.grammar import read_grammar
    >>> from unveil.grammar.language.sizes import grow_trees
    >>> for tree in grow_trees(read_grammar("S -> S S [0.4] | 'a' [0.6]"), 2, np.random.RandomState(6)):
    ...     print(tree)
    (S a)
    (S (S a) (S (S (S a) (S a)) (S a)))
    """
    running = _running(grammar)
    return [_grown(grammar.start, running, random) for _ in range(count)]


def _running(grammar: Grammar) -> dict[Nonterminal, tuple[list[Rule], Floats]]:
    """The rules of every symbol that have a chance, and their probabilities added up."""
    numbers: dict[Nonterminal, list[int]] = {symbol: [] for symbol in grammar.nonterminals}
    for number, rule in enumerate(grammar.rules):
        if grammar.probabilities[number] > 0:
            numbers[rule.parent].append(number)
    return {
        symbol: ([grammar.rules[number] for number in own], np.cumsum(grammar.probabilities[own]))
        for symbol, own in numbers.items()
    }


def _grown(
    start: Nonterminal, running: dict[Nonterminal, tuple[list[Rule], Floats]], random: np.random.RandomState
) -> Tree:
    """A tree: nodes in preorder, as `Tree.unflat` takes them."""
    flat: list[Any] = []
    waiting: list[Nonterminal | str] = [start]
    while waiting:
        symbol = waiting.pop()
        if isinstance(symbol, str):
            flat.append(symbol)
            continue
        rules, sums = running[symbol]
        place = int(np.searchsorted(sums, random.random_sample() * sums[-1], side="right"))
        children = rules[min(place, len(rules) - 1)].children
        flat.append((symbol.name, len(children)))
        waiting.extend(reversed(children))
        if len(flat) > LONGEST:
            raise ValueError(
                f"a drawn tree has more than {LONGEST} nodes: its derivation may never end (see is_consistent)"
            )
    return Tree.unflat(tuple(flat))
