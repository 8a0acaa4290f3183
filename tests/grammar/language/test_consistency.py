"""Do derivations end?"""

import numpy as np
import pytest

from tests.oracles import derivations as oracle
from unveil.grammar import read_grammar
from unveil.grammar.language.consistency import expected_children, finite_mass


@pytest.mark.parametrize(
    ("text", "mass"),
    [
        ("S -> 'a' [1]", 1.0),
        ("S -> S S [.4] | 'a' [.6]", 1.0),
        ("S -> S S [.5] | 'a' [.5]", 1.0),  # on the edge, and yet it ends
        ("S -> S S [.75] | 'a' [.25]", 1 / 3),
        ("S -> S [1]", 0.0),
        ("S -> 'a' S [1]", 0.0),
        ("S -> S [.99999999] | [.00000001]", 1.0),
        ("S -> A [.5] | 'a' [.5]\nA -> B [1]\nB -> A [1]", 0.5),
        ("S -> 'a' [1]\nA -> A A [1]", 1.0),  # out of reach
        ("S -> A [0] | 'a' [1]\nA -> A A [1]", 1.0),
        ("S -> A A [.5] | 'a' [.5]\nA -> S S [.5] | 'b' [.5]", 1.0),
    ],
)
def test_mass_on_finite_trees(text, mass):
    grammar = read_grammar(text)
    assert finite_mass(grammar) == pytest.approx(mass, abs=1e-14)
    assert grammar.is_consistent == (mass == 1.0)


def test_expected_children():
    grammar = oracle.astronomers()
    matrix = expected_children(grammar)
    names = [symbol.name for symbol in grammar.nonterminals]
    assert matrix[names.index("NP"), names.index("PP")] == 0.4
    assert matrix[names.index("VP")].sum() == pytest.approx(2.0)
    assert grammar.is_consistent
    assert np.all(matrix[names.index("V")] == 0)
