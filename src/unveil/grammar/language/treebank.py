"""The grammar of a treebank: every rule that occurs, with its share among those of its parent (Charniak, 1996).

With the trees known nothing is hidden, and the maximum of the likelihood is p_r = uses of r / uses of its parent.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from unveil.grammar.language.rules import Grammar, Nonterminal, Rule, normalised
from unveil.grammar.language.trees import Tree


def rule_uses(trees: Iterable[Tree], weights: Iterable[float] | None = None) -> dict[Rule, float]:
    """How often the trees use each rule, in order of first use; a tree of weight 3 counts three times."""
    uses: dict[tuple[str, tuple[str | tuple[str], ...]], float] = defaultdict(float)  # plain keys hash ten times faster
    for tree, weight in _weighted(trees, weights):
        for node in tree.preorder():
            if isinstance(node, Tree):
                key = tuple([child if isinstance(child, str) else (child.label,) for child in node.children])
                uses[node.label, key] += weight
    return {_rule(label, children): count for (label, children), count in uses.items()}


def _rule(label: str, children: tuple[str | tuple[str], ...]) -> Rule:
    """A rule from names: those of nonterminals stand in a tuple."""
    symbols = (child if isinstance(child, str) else Nonterminal(child[0]) for child in children)
    return Rule(Nonterminal(label), tuple(symbols))


def treebank_grammar(
    trees: Iterable[Tree],
    start: str | Nonterminal | None = None,
    smoothing: float = 0.0,
    weights: Iterable[float] | None = None,
) -> Grammar:
    """See `Grammar.from_trees`.

    Examples
    --------
    >>> from unveil.grammar import Grammar, read_trees
    >>> print(Grammar.from_trees(read_trees("(S (S a) b) (S a) (S a)")))
    S -> S 'b' [0.25]
    S -> 'a' [0.75]
    """
    if not 0 <= smoothing < math.inf:
        raise ValueError(f"smoothing must be a number of at least 0, got {smoothing!r}")
    counted = _weighted(trees, weights)
    if not counted:
        raise ValueError("trees must hold at least one tree of a weight above 0")
    uses = rule_uses(*zip(*counted, strict=True))
    roots = [tree.label for tree, _ in counted]
    root = _root(roots, start, uses)
    if root.name not in roots:
        entries: dict[Rule, float] = defaultdict(float)
        for tree, weight in counted:
            entries[Rule(root, (Nonterminal(tree.label),))] += weight
        uses = entries | uses
    return normalised(root, tuple(uses), [count + smoothing for count in uses.values()])


def _weighted(trees: Iterable[Tree], weights: Iterable[float] | None) -> list[tuple[Tree, float]]:
    """The trees that count, and how often."""
    trees = tuple(trees)
    times = (1.0,) * len(trees) if weights is None else tuple(weights)
    if len(times) != len(trees) or not all(0 <= weight < math.inf for weight in times):
        raise ValueError(f"weights must hold a number of at least 0 for each of the {len(trees)} trees, got {times!r}")
    return [(tree, float(weight)) for tree, weight in zip(trees, times, strict=True) if weight > 0]


def _root(roots: Sequence[str], start: str | Nonterminal | None, uses: dict[Rule, float]) -> Nonterminal:
    """The start symbol: the root of all trees, or a new one over them."""
    labels = sorted(set(roots))
    if start is None and len(labels) > 1:
        raise ValueError(f"trees must have one root, or start must name a new one over them; their roots are {labels}")
    symbol = Nonterminal(labels[0] if start is None else str(start))
    if labels != [symbol.name] and any(rule.parent == symbol for rule in uses):
        raise ValueError(
            f"start must be the root of all trees or no label of any; {symbol} is neither, the roots are {labels}"
        )
    return symbol
