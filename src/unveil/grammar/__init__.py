"""Probabilistic context-free grammars: rules, trees, their notations, the normal form and its closure."""

from unveil.grammar.best import BestClosure, best_chain, best_closure, best_nothing
from unveil.grammar.brackets import Bracketed, read_bracketed, read_trees
from unveil.grammar.closure import Closed, close, rule_counts
from unveil.grammar.draws import Draws
from unveil.grammar.normal import NormalForm, Weights, normal_form
from unveil.grammar.notation import read_grammar, write_grammar
from unveil.grammar.rules import Grammar, Nonterminal, Rule
from unveil.grammar.trees import Span, Tree

__all__ = [
    "BestClosure",
    "Bracketed",
    "Closed",
    "Draws",
    "Grammar",
    "Nonterminal",
    "NormalForm",
    "Rule",
    "Span",
    "Tree",
    "Weights",
    "best_chain",
    "best_closure",
    "best_nothing",
    "close",
    "normal_form",
    "read_bracketed",
    "read_grammar",
    "read_trees",
    "rule_counts",
    "write_grammar",
]
