"""Whether derivations end: a grammar seen as a branching process.

M[A, B] is the expected number of B among the children of A. Derivations end with probability 1 if the spectral radius
of M, over the symbols that the start leads to, is below 1, and only then if it is not exactly 1 (Booth and Thompson,
1973). At 1 they end too, unless each of a set of symbols always leads to exactly one of the set (Harris, 1963).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.grammar.language.empty_rules import CRITICAL_MARGIN, null_probabilities, reachability, spectral_radius
from unveil.grammar.language.normal_form import normal_form
from unveil.grammar.language.rules import Grammar, Nonterminal


def expected_children(grammar: Grammar) -> Floats:
    """M: expected number of each nonterminal (columns) among the children of each (rows), in the grammar's order."""
    number = {symbol: index for index, symbol in enumerate(grammar.nonterminals)}
    matrix = np.zeros((len(number), len(number)))
    for rule, probability in zip(grammar.rules, grammar.probabilities, strict=True):
        for child in rule.children:
            if isinstance(child, Nonterminal):
                matrix[number[rule.parent], number[child]] += probability
    return matrix


def is_consistent(grammar: Grammar) -> bool:
    """Whether derivations from the start end with probability 1."""
    matrix = expected_children(grammar)
    reach = reachability(matrix > 0)
    left = reach[grammar.nonterminals.index(grammar.start)].copy()
    while left.any():
        symbol = int(np.argmax(left))
        together = np.flatnonzero(reach[symbol] & reach[:, symbol])
        left[together] = False
        radius = spectral_radius(matrix[np.ix_(together, together)])
        if radius > 1 + CRITICAL_MARGIN or (radius >= 1 - CRITICAL_MARGIN and _endless(grammar, together)):
            return False
    return True


def finite_mass(grammar: Grammar) -> float:
    """The probability that a derivation from the start ends: 1 for a consistent grammar.

    Examples
    --------
    >>> from unveil.grammar import read_grammar
    >>> from unveil.grammar.language.consistency import finite_mass
    >>> round(finite_mass(read_grammar("S -> S S [0.75] | 'a' [0.25]")), 12)
    0.333333333333
    """
    form = normal_form(grammar)  # with every word erased, all finite trees are empty trees
    erased = replace(
        form,
        empty=np.concatenate((form.empty, form.lexical[:, 0])),
        empty_rule=np.concatenate((form.empty_rule, form.lexical_rule)),
        lexical=form.lexical[:0],
        lexical_rule=form.lexical_rule[:0],
    )
    return float(null_probabilities(erased, erased.weights(grammar.probabilities))[form.start])


def _endless(grammar: Grammar, together: NDArray[np.intp]) -> bool:
    """Whether every rule of these symbols leads to exactly one of them."""
    symbols = {grammar.nonterminals[index] for index in together}
    used = [rule for rule in grammar.rules if rule.parent in symbols and grammar.probability(rule) > 0]
    return all(sum(child in symbols for child in rule.children) == 1 for rule in used)
