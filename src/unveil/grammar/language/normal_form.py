"""The normal form: any grammar as rules of two nonterminals, one nonterminal, one word, or nothing.

A rule A -> X Y Z of probability p becomes A -> X (Y Z) with p and (Y Z) -> Y Z with 1, where (Y Z) is a made-up symbol;
a word among several children becomes a made-up symbol that makes that word alone. A made-up symbol has a single rule of
probability 1, so rules that end alike share it, every tree of the grammar is exactly one tree of the normal form with
the same probability, and the uses of a rule are the uses of the one row that carries its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.grammar.language.rules import Grammar, Nonterminal, Symbol
from unveil.grammar.language.trees import Tree

Numbers = NDArray[np.int32]


class Weights(NamedTuple):
    """Weights of the rows of the four tables of a normal form."""

    binary: Floats
    unary: Floats
    lexical: Floats
    empty: Floats


@dataclass(frozen=True, eq=False)
class NormalForm:
    """Tables of a binarised grammar. Rows name the rule that they stand for, or -1 where their weight is always 1.

    Parameters
    ----------
    symbols : tuple of str
        Nonterminals in the grammar's order, then made-up symbols. All differ.
    n_nonterminals : int
        How many of the symbols are the grammar's own.
    start : int
        Number of the start symbol.
    words : tuple of str
        The grammar's words.
    n_rules : int
        How many rules the grammar has.
    binary, binary_rule : arrays of shape (m, 3) and (m,)
        parent, left, right.
    unary, unary_rule : arrays of shape (u, 2) and (u,)
        parent, child.
    lexical, lexical_rule : arrays of shape (l, 2) and (l,)
        parent, word.
    empty, empty_rule : arrays of shape (e,)
        Parents of nothing.

    Examples
    --------
    >>> from unveil.grammar import normal_form, read_grammar
    >>> form = normal_form(read_grammar("S -> 'if' S 'then' S [0.4] | 'x' [0.6]"))
    >>> form.symbols
    ('S', "@'if'", "@S_'then'_S", "@'then'_S", "@'then'")
    >>> form.binary.tolist(), form.binary_rule.tolist()
    ([[0, 1, 2], [2, 0, 3], [3, 4, 0]], [0, -1, -1])
    """

    symbols: tuple[str, ...]
    n_nonterminals: int
    start: int
    words: tuple[str, ...]
    n_rules: int
    binary: Numbers
    binary_rule: Numbers
    unary: Numbers
    unary_rule: Numbers
    lexical: Numbers
    lexical_rule: Numbers
    empty: Numbers
    empty_rule: Numbers

    @property
    def n_symbols(self) -> int:
        """Nonterminals and made-up symbols."""
        return len(self.symbols)

    def weights(self, probabilities: Floats) -> Weights:
        """Weights of all rows at probabilities (n_rules,) of the rules."""
        padded = np.append(np.asarray(probabilities, dtype=np.float64), 1.0)  # number -1 reads the last entry
        return Weights(
            *(padded[rule] for rule in (self.binary_rule, self.unary_rule, self.lexical_rule, self.empty_rule))
        )

    def rule_totals(self, binary: Floats, unary: Floats, lexical: Floats, empty: Floats) -> Floats:
        """What the rows of the four tables add up to for each rule: (n_rules,)."""
        totals = np.zeros(self.n_rules + 1)
        rules = (self.binary_rule, self.unary_rule, self.lexical_rule, self.empty_rule)
        for rule, values in zip(rules, (binary, unary, lexical, empty), strict=True):
            np.add.at(totals, rule, values)
        return totals[:-1]

    def collapse(self, tree: Tree) -> Tree:
        """The grammar's tree that a tree of the normal form stands for: made-up nodes give way to their children."""
        made, done = frozenset(self.symbols[self.n_nonterminals :]), list[Tree | str]()
        for node in tree.postorder():
            if isinstance(node, str):
                done.append(node)
                continue
            first = len(done) - len(node.children)
            # A made-up node's own children are final by now: they stay a tree until its parent takes them over.
            done[first:] = [Tree(node.label, tuple(part for child in done[first:] for part in _parts(child, made)))]
        (root,) = done
        assert isinstance(root, Tree)
        return root


def normal_form(grammar: Grammar) -> NormalForm:
    """Binarise a grammar. Order of rows: that of the rules."""
    maker = _Maker({symbol.name: number for number, symbol in enumerate(grammar.nonterminals)}, grammar.words)
    for number, rule in enumerate(grammar.rules):
        maker.add(maker.symbols[rule.parent.name], rule.children, number)
    return NormalForm(
        tuple(maker.symbols),
        len(grammar.nonterminals),
        maker.symbols[grammar.start.name],
        grammar.words,
        grammar.n_rules,
        *_table(maker.binary, 3),
        *_table(maker.unary, 2),
        *_table(maker.lexical, 2),
        *_table(maker.empty, 0),
    )


@dataclass
class _Maker:
    """The tables while they grow."""

    symbols: dict[str, int]
    words: Sequence[str]
    binary: list[tuple[int, ...]] = field(default_factory=list)  # the rows of all tables end with the rule's number
    unary: list[tuple[int, ...]] = field(default_factory=list)
    lexical: list[tuple[int, ...]] = field(default_factory=list)
    empty: list[tuple[int, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.codes = {word: code for code, word in enumerate(self.words)}
        self.made: dict[tuple[Symbol, ...], int] = {}

    def add(self, parent: int, children: tuple[Symbol, ...], rule: int) -> None:
        """A rule, and rules of made-up symbols if it needs new ones: a loop, as a rule may be very long."""
        new: list[tuple[Symbol, ...]] = []
        self._row(parent, children, rule, new)
        while new:
            made = new.pop(0)
            self._row(self.made[made], made, -1, new)

    def _row(self, parent: int, children: tuple[Symbol, ...], rule: int, new: list[tuple[Symbol, ...]]) -> None:
        """The one row of a rule; parts of it that need a made-up symbol for the first time are added to `new`."""
        if not children:
            self.empty.append((parent, rule))
        elif len(children) >= 2:
            left, right = self._number(children[:1], new), self._number(children[1:], new)
            self.binary.append((parent, left, right, rule))
        elif isinstance(children[0], str):
            self.lexical.append((parent, self.codes[children[0]], rule))
        else:
            self.unary.append((parent, self.symbols[children[0].name], rule))

    def _number(self, part: tuple[Symbol, ...], new: list[tuple[Symbol, ...]]) -> int:
        """The symbol for a part of a rule: itself if it is one nonterminal, else a made-up one."""
        if len(part) == 1 and isinstance(part[0], Nonterminal):
            return self.symbols[part[0].name]
        if part not in self.made:
            self.made[part] = len(self.symbols)
            self.symbols[self._name(part)] = len(self.symbols)
            new.append(part)
        return self.made[part]

    def _name(self, part: tuple[Symbol, ...]) -> str:
        """A name that no symbol has yet."""
        name = "@" + "_".join(child.name if isinstance(child, Nonterminal) else repr(child) for child in part)
        while name in self.symbols:
            name = "@" + name
        return name


def _table(rows: list[tuple[int, ...]], width: int) -> tuple[Numbers, Numbers]:
    """A table and the rule of each of its rows."""
    values = np.array(rows, dtype=np.int32).reshape(len(rows), max(width, 1) + 1)
    table = np.ascontiguousarray(values[:, :-1] if width else values[:, 0])
    return table, np.ascontiguousarray(values[:, -1])


def _parts(child: Tree | str, made: frozenset[str]) -> tuple[Tree | str, ...]:
    """What a child is replaced by: its own children if it is made up."""
    return child.children if isinstance(child, Tree) and child.label in made else (child,)
