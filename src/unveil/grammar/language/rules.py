"""Probabilistic context-free grammars: symbols, rules and their probabilities.

A grammar makes a tree from the top: a symbol A is replaced by the children of one of its rules A -> X Y ..., drawn with
that rule's probability, until only words are left (Booth and Thompson, 1973). The probability of a tree is therefore

    p(tree) = product over rules r of p_r ** (uses of r in the tree),        sum of p_r over the rules of one parent = 1
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Indices
from unveil.core.once import cached_property

if TYPE_CHECKING:
    from unveil.grammar.language.trees import Tree


SUM_TOLERANCE = 1e-6  # how far from 1 the probabilities of a parent may sum: float32 passes, mistakes do not
SUM_ROUNDING = 4 * np.finfo(np.float64).eps  # a sum this close to 1 stays as it is, so that normalising twice is once


@dataclass(frozen=True, order=True, slots=True)
class Nonterminal:
    """A symbol that rules replace. Words are plain strings, so that a word and a symbol never meet."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


Symbol = Nonterminal | str


class Rule(NamedTuple):
    """What a parent may be replaced by: nonterminals and words (str), or nothing at all; as text, nltk's notation."""

    parent: Nonterminal
    children: tuple[Symbol, ...]

    def __str__(self) -> str:
        from unveil.grammar.language.notation import write_rule

        return write_rule(self)


@dataclass(frozen=True, eq=False)
class Grammar:
    """A start symbol, rules, and one probability for each rule.

    Parameters
    ----------
    start : Nonterminal
        The symbol at the root of every tree.
    rules : sequence of Rule
        No rule twice; every nonterminal that is used has a rule.
    probabilities : array-like of shape (n_rules,)
        Those of one parent sum to 1 within 1e-6 and are then made to sum to 1 exactly. Zeros are allowed.

    Examples
    --------
    >>> from unveil.grammar import Grammar, Nonterminal, Rule
    >>> S = Nonterminal("S")
    >>> grammar = Grammar(S, [Rule(S, (S, S)), Rule(S, ("ha",))], [0.25, 0.75])
    >>> grammar.words, grammar.is_consistent
    (('ha',), True)
    """

    start: Nonterminal
    rules: tuple[Rule, ...]
    probabilities: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(Rule(parent, tuple(children)) for parent, children in self.rules))
        _check_symbols(self.start, self.rules)
        shares = _shares(self.rules, self.probabilities, SUM_TOLERANCE)
        shares.setflags(write=False)
        object.__setattr__(self, "probabilities", shares)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grammar):
            return NotImplemented
        same = self.start == other.start and self.rules == other.rules
        return same and np.array_equal(self.probabilities, other.probabilities)

    def __hash__(self) -> int:
        return hash((self.start, self.rules))

    def __repr__(self) -> str:
        counts = f"{self.n_rules} rules, {len(self.nonterminals)} nonterminals, {len(self.words)} words"
        return f"Grammar(start={self.start}, {counts})"

    def __str__(self) -> str:
        from unveil.grammar.language.notation import write_grammar

        return write_grammar(self).rstrip("\n")

    @property
    def n_rules(self) -> int:
        """How many rules there are."""
        return len(self.rules)

    @cached_property
    def nonterminals(self) -> tuple[Nonterminal, ...]:
        """All nonterminals, in the order in which their first rules come."""
        return tuple(dict.fromkeys(rule.parent for rule in self.rules))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words, in order of appearance."""
        children = (child for rule in self.rules for child in rule.children)
        return tuple(dict.fromkeys(child for child in children if isinstance(child, str)))

    @cached_property
    def parents(self) -> Indices:
        """Number, within `nonterminals`, of the parent of each rule: (n_rules,)."""
        number = {symbol: index for index, symbol in enumerate(self.nonterminals)}
        return np.array([number[rule.parent] for rule in self.rules], dtype=np.intp)

    @cached_property
    def numbers(self) -> dict[Rule, int]:
        """Where in `rules` a rule is."""
        return {rule: index for index, rule in enumerate(self.rules)}

    def rules_of(self, parent: Nonterminal | str) -> tuple[Rule, ...]:
        """The rules of one parent, in order."""
        return tuple(rule for rule in self.rules if rule.parent.name == str(parent))

    def probability(self, rule: Rule) -> float:
        """The probability of a rule: 0 for one that the grammar does not have."""
        index = self.numbers.get(rule)
        return 0.0 if index is None else float(self.probabilities[index])

    def log_probability(self, tree: Tree) -> float:
        """Log-probability of a tree from its root down: -inf where it uses a rule that is not here."""
        probabilities = [self.probability(rule) for rule in tree.rules()]
        return math.fsum(math.log(p) for p in probabilities) if all(probabilities) else -math.inf

    def counts(self, trees: Iterable[Tree], weights: Iterable[float] | None = None) -> Floats:
        """How often the trees use each rule, each tree counted `weights` times: (n_rules,)."""
        from unveil.grammar.language.treebank import rule_uses

        counts = np.zeros(self.n_rules)
        for rule, count in rule_uses(trees, weights).items():
            if rule not in self.numbers:
                raise ValueError(f"trees must be made of the grammar's rules; {rule} is none of them")
            counts[self.numbers[rule]] = count
        return counts

    def with_probabilities(self, probabilities: ArrayLike) -> Grammar:
        """The same rules with other probabilities."""
        return replace(self, probabilities=np.asarray(probabilities, dtype=np.float64))

    def pruned(self, threshold: float) -> Grammar:
        """Without the rules below `threshold` and those that cannot be reached any more; the rest sums to 1 again.

        A symbol in use must keep a rule, else this is an error. A threshold of 0 drops unreachable rules alone.
        """
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be a number from 0 to 1, got {threshold!r}")
        kept = [bool(p >= threshold) for p in self.probabilities]
        reached = _reached(self.start, [rule for rule, keep in zip(self.rules, kept, strict=True) if keep])
        index = [i for i, rule in enumerate(self.rules) if kept[i] and rule.parent in reached]
        rules = tuple(self.rules[i] for i in index)
        for symbol in sorted(reached - {rule.parent for rule in rules if self.probability(rule) > 0}):
            raise ValueError(f"threshold {threshold!r} leaves no rule of {symbol}, which is in use: lower it")
        return normalised(self.start, rules, self.probabilities[index])

    @property
    def is_consistent(self) -> bool:
        """Whether derivations end with probability 1, so that the probabilities of all finite trees sum to 1."""
        from unveil.grammar.language.consistency import is_consistent

        return is_consistent(self)

    @classmethod
    def random(
        cls,
        nonterminals: int | Sequence[str | Nonterminal],
        words: Sequence[str],
        start: str | Nonterminal | None = None,
        seed: int | np.random.Generator | None = None,
        n_binary: int | None = None,
        concentration: float = 1.0,
    ) -> Grammar:
        """A random grammar over given symbols: rules A -> B C and A -> word, weights drawn from a Dirichlet.

        See `unveil.grammar.language.random_grammar`.
        """
        from unveil.grammar.language.random_grammar import random_grammar

        return random_grammar(nonterminals, words, start, seed, n_binary, concentration)

    @classmethod
    def from_trees(
        cls,
        trees: Iterable[Tree],
        start: str | Nonterminal | None = None,
        smoothing: float = 0.0,
        weights: Iterable[float] | None = None,
    ) -> Grammar:
        """The grammar of a treebank: every rule that occurs, with its share among those of its parent.

        That is the maximum of the likelihood of the trees (Charniak, 1996). `smoothing` is added to every count.
        Without `start` all trees must have the same root. A `start` that is no label of any tree becomes a new root
        over the others, by rules start -> root.
        """
        from unveil.grammar.language.treebank import treebank_grammar

        return treebank_grammar(trees, start, smoothing, weights)


def normalised(start: Nonterminal, rules: Sequence[Rule], weights: ArrayLike) -> Grammar:
    """A grammar from weights of rules: those of one parent are divided by their sum, whatever it is above 0."""
    return Grammar(start, tuple(rules), _shares(rules, weights, math.inf))


def _shares(rules: Sequence[Rule], weights: ArrayLike, tolerance: float) -> Floats:
    """Weights that sum to 1 for each parent, from some whose sums are that far from 1 at most."""
    shares = np.array(weights, dtype=np.float64)
    if shares.shape != (len(rules),):
        raise ValueError(
            f"probabilities must hold one number for each of the {len(rules)} rules, got shape {shares.shape}"
        )
    numbers: dict[Nonterminal, list[int]] = defaultdict(list)
    for index, rule in enumerate(rules):
        numbers[rule.parent].append(index)
    for parent, own in numbers.items():
        part = shares[own]
        if not np.all((part >= 0) & (part < np.inf)):
            wrong = float(part[~((part >= 0) & (part < np.inf))][0])
            raise ValueError(f"probabilities must be numbers of at least 0; a rule of {parent} has {wrong!r}")
        total = math.fsum(part)
        if total == 0 or not abs(total - 1) <= tolerance:
            raise ValueError(f"probabilities of the rules of {parent} must sum to 1, they sum to {total!r}")
        if abs(total - 1) > SUM_ROUNDING:
            shares[own] = part / total
    return shares


def _check_symbols(start: Nonterminal, rules: tuple[Rule, ...]) -> None:
    """Complain of symbols that are no symbols, rules that come twice and nonterminals without a rule."""
    for rule in rules:
        if not isinstance(rule.parent, Nonterminal) or not rule.parent.name:
            raise TypeError(f"the parent of a rule must be a Nonterminal with a name, got {rule.parent!r}")
        for child in rule.children:
            if not isinstance(child, Nonterminal | str) or child == "":
                raise TypeError(
                    f"children must be Nonterminals and words (str, not empty); {rule.parent} has {child!r}"
                )
    for rule, times in Counter(rules).items():
        if times > 1:
            raise ValueError(f"rules must be distinct; {rule} comes {times} times")
    parents = {rule.parent for rule in rules}
    if start not in parents:
        raise ValueError(f"start must be the parent of a rule, got {start!r}; the parents are {_names(parents)}")
    for rule in rules:
        for child in rule.children:
            if isinstance(child, Nonterminal) and child not in parents:
                raise ValueError(f"every nonterminal must have rules; {child}, used in {rule}, has none")


def _names(symbols: Iterable[Nonterminal]) -> str:
    """A short list for messages."""
    names = sorted(symbol.name for symbol in symbols)
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") if names else "none"


def _reached(start: Nonterminal, rules: Sequence[Rule]) -> frozenset[Nonterminal]:
    """The nonterminals that rules lead to from the start, itself included."""
    children: dict[Nonterminal, set[Nonterminal]] = defaultdict(set)
    for rule in rules:
        children[rule.parent].update(child for child in rule.children if isinstance(child, Nonterminal))
    seen, waiting = {start}, [start]
    while waiting:
        new = children[waiting.pop()] - seen
        seen |= new
        waiting.extend(new)
    return frozenset(seen)
