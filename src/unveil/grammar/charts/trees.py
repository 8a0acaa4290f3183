"""The likeliest tree of each sentence, as a tree and as uses of rules; `kbest` has the k likeliest.

A word that the grammar does not know is the leaf `unveil.grammar.charts.best.UNKNOWN_LEAF`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Integers
from unveil.grammar.charts.best import UNKNOWN_LEAF, BestCharts
from unveil.grammar.charts.layouts import BestLayout
from unveil.grammar.charts.limits import Spans
from unveil.grammar.language.best import BestClosure, best_nothing
from unveil.grammar.language.closure import LEFT_EMPTY, UNARY
from unveil.grammar.language.normal_form import NormalForm
from unveil.grammar.language.trees import Tree

Children = tuple[Tree | str, ...]  # what a node is to its parent: itself, or its children if it is made up
Link = Callable[[int, int, int, int, Children], Children]  # first, last, top, base and the base


def best_trees(
    layout: BestLayout, codes: ArrayLike, lengths: ArrayLike, spans: Spans = None
) -> list[tuple[Tree | None, float]]:
    """The likeliest tree of each sentence and its log-probability; None and -inf where there is none.

    Arguments are those of `unveil.grammar.charts.inside_outside.expect_sentences`. Of trees that are equally likely the
    one that a fixed order of symbols, rules and splits puts first.

    Examples
    --------
    >>> from unveil.grammar import normal_form, read_grammar
    >>> from unveil.grammar.charts.layouts import BestLayout
    >>> from unveil.grammar.charts.trees import best_trees
    >>> form = normal_form(grammar := read_grammar("S -> S S S [0.25] | 'a' [0.5] | 'b' [0.25]"))
    >>> layout = BestLayout(form, form.weights(grammar.probabilities))
    >>> for tree, log_probability in best_trees(layout, [0, 1, 0, 1, 1], [3, 2]):
    ...     print(tree, round(log_probability, 6))
    (S (S a) (S b) (S a)) -4.158883
    None -inf
    """
    form, charts = layout.form, BestCharts(layout, codes, lengths, spans)
    found, trees = charts.find(), list[tuple[Tree | None, float]]()
    begins = np.cumsum(charts.lengths) - charts.lengths
    for sentence, log_probability in enumerate(found.logs.tolist()):
        nodes = found.nodes[found.ends[sentence] : found.ends[sentence + 1]]
        if log_probability == -np.inf:
            trees.append((None, log_probability))
        elif not len(nodes):
            trees.append((form.collapse(best_nothing(form, charts.best, form.start)), log_probability))
        else:
            words = charts.codes[begins[sentence] : begins[sentence] + charts.lengths[sentence]]
            trees.append((grown(form, nodes, words, _best_link(charts, sentence)), log_probability))
    return trees


def _best_link(charts: BestCharts, sentence: int) -> Link:
    """What puts the best chain of a span over its base."""
    form, best = charts.form, charts.best

    def link(first: int, last: int, top: int, base: int, parts: Children) -> Children:
        if top == base and charts.marked is None:
            return parts
        for step in reversed(charts.taken(sentence, first, last, top, base)):
            if best.steps.kinds[step] != UNARY:
                symbol = int(best.steps.empty[step])
                empty = _opened(form, symbol, form.collapse(best_nothing(form, best, symbol)))
                parts = (*empty, *parts) if best.steps.kinds[step] == LEFT_EMPTY else (*parts, *empty)
            parts = _node(form, int(best.steps.parents[step]), parts)
        return parts

    return link


def grown(form: NormalForm, nodes: Integers, codes: Integers, link: Link) -> Tree:
    """The grammar's tree of rows (first, last, top, base, rule, split), parents first and left before right."""
    done: list[Children] = []
    for first, last, top, base, rule, _ in nodes[::-1].tolist():
        if rule < 0:
            code = int(codes[first])
            parts: Children = (form.words[code] if code >= 0 else UNKNOWN_LEAF,)
        else:
            parts = done.pop() + done.pop()
        done.append(link(first, last, top, base, _node(form, base, parts)))
    (tree,) = done.pop()
    assert isinstance(tree, Tree)
    return tree


def _node(form: NormalForm, symbol: int, children: Children) -> Children:
    """A node, which gives way to its children if it is made up."""
    return (Tree(form.symbols[symbol], children),) if symbol < form.n_nonterminals else children


def _opened(form: NormalForm, symbol: int, tree: Tree) -> Children:
    """What a collapsed tree is to its parent."""
    return (tree,) if symbol < form.n_nonterminals else tree.children


class BestUses(NamedTuple):
    """Best trees as uses of rules."""

    log_probabilities: Floats  # (sentences,)
    counts: Floats  # (n_rules,): uses in the best trees of all sentences, times their weights


def best_uses(
    layout: BestLayout,
    codes: ArrayLike,
    lengths: ArrayLike,
    weights: ArrayLike | None = None,
    spans: Spans = None,
) -> BestUses:
    """How often the likeliest trees of the sentences, empty ones too, use each rule: hard EM."""
    form, charts = layout.form, BestCharts(layout, codes, lengths, spans)
    found, n_words = charts.find(), charts.lengths
    each = np.ones(len(n_words)) if weights is None else np.asarray(weights, dtype=np.float64)
    each = np.where(found.logs > -np.inf, each, 0.0)
    owner = np.repeat(np.arange(len(n_words)), np.maximum(2 * n_words - 1, 0))
    rows, of_node = found.nodes, each[owner]
    tables = [np.zeros(len(rule)) for rule in (form.binary_rule, form.unary_rule, form.lexical_rule, form.empty_rule)]
    used = of_node > 0
    split = used & (rows[:, 4] >= 0)
    np.add.at(tables[0], rows[split, 4], of_node[split])
    words = charts.codes[(np.cumsum(n_words) - n_words)[owner[used & ~split]] + rows[used & ~split, 0]]
    _add_words(form, rows[used & ~split, 3], words, of_node[used & ~split], tables[2])
    empty = np.zeros(form.n_symbols)
    _add_chains(charts, rows[used], owner[used], of_node[used], tables, empty)
    empty[form.start] += each[n_words == 0].sum()
    _add_empty(form, charts.best, empty, tables)
    return BestUses(found.logs, form.rule_totals(*tables))


def _add_words(form: NormalForm, parents: Integers, words: Integers, weights: Floats, table: Floats) -> None:
    """Uses of parent -> word; unknown words use no rule."""
    place = np.full((form.n_symbols, len(form.words) + 1), -1)
    place[form.lexical[:, 0], form.lexical[:, 1]] = np.arange(len(form.lexical))
    known = place[parents, words] >= 0
    np.add.at(table, place[parents, words][known], weights[known])


def _add_chains(
    charts: BestCharts, rows: Integers, owner: Integers, weights: Floats, tables: Sequence[Floats], empty: Floats
) -> None:
    """Uses of unary rows, and of binary rows with an empty side; how many empty trees these begin."""
    steps = charts.best.steps
    known: dict[tuple[int, int], list[int]] = {}
    for (first, last, top, base, _, _), sentence, weight in zip(rows.tolist(), owner, weights, strict=True):
        if charts.marked is not None:
            taken = charts.taken(sentence, first, last, top, base)
        elif top == base:
            continue
        elif (taken := known.get((top, base), [])) == []:
            taken = known[top, base] = charts.taken(sentence, first, last, top, base)
        for step in taken:
            tables[int(steps.kinds[step] == UNARY)][steps.rows[step]] += weight
            if steps.kinds[step] != UNARY:
                empty[steps.empty[step]] += weight


def _add_empty(form: NormalForm, best: BestClosure, empty: Floats, tables: Sequence[Floats]) -> None:
    """Uses of rows in best empty trees, of which `empty` begin at each symbol: from the least likely tree down."""
    for symbol in np.argsort(best.null, kind="stable"):
        if empty[symbol] > 0:
            arity, row = best.null_arity[symbol], best.null_row[symbol]
            tables[(3, 1, 0)[arity]][row] += empty[symbol]
            if arity:
                np.add.at(empty, (form.unary if arity == 1 else form.binary)[row, 1:], empty[symbol])
