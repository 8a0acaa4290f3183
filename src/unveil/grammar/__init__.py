"""Probabilistic context-free grammars: rules, trees, their notations, the normal form and its closure."""

from unveil.grammar.language.best import BestClosure, best_closure, best_nothing
from unveil.grammar.language.brackets import Bracketed, read_bracketed, read_trees
from unveil.grammar.language.closure import Closed, close, rule_counts
from unveil.grammar.language.normal_form import NormalForm, Weights, normal_form
from unveil.grammar.language.notation import read_grammar, write_grammar
from unveil.grammar.language.rules import Grammar, Nonterminal, Rule
from unveil.grammar.language.trees import Span, Tree

__all__ = [
    "BestClosure",
    "Bracketed",
    "Closed",
    "Grammar",
    "Nonterminal",
    "NormalForm",
    "Rule",
    "Span",
    "Tree",
    "Weights",
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
