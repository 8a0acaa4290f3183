"""Trees of sentences: the likeliest, the k likeliest, and draws from the posterior; as trees, or as uses of rules.

| function | gives |
|---|---|
| `best_trees` | the likeliest tree of each sentence and its log-probability |
| `best_uses` | how often these trees use each rule |
| `k_best_trees` | the k likeliest trees of a sentence, see `unveil.grammar.charts.kbest` |
| `draw_trees` | trees drawn from the posterior of a sentence, see `unveil.grammar.charts.draws` |

A word that the grammar does not know is the leaf `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Integers
from unveil.grammar.charts.best import BestCharts
from unveil.grammar.charts.inside_outside import Spans
from unveil.grammar.charts.kbest import k_best_trees
from unveil.grammar.language.best import BestClosure, best_nothing
from unveil.grammar.language.closure import LEFT_SILENT, UNARY, close
from unveil.grammar.language.draws import Draws
from unveil.grammar.language.normal_form import NormalForm, Weights
from unveil.grammar.language.trees import Tree

__all__ = ["UNKNOWN", "BestUses", "best_trees", "best_uses", "draw_trees", "grown", "k_best_trees"]

Parts = tuple[Tree | str, ...]  # what a node is to its parent: itself, or its children if it is made up
Link = Callable[[int, int, int, int, Parts], Parts]  # first, last, top, base and the base

UNKNOWN = "<unknown>"


def best_trees(
    form: NormalForm,
    weights: Weights,
    codes: ArrayLike,
    lengths: ArrayLike,
    spans: Spans = None,
    unknown: Floats | None = None,
) -> list[tuple[Tree | None, float]]:
    """The likeliest tree of each sentence and its log-probability; None and -inf where there is none.

    Arguments are those of `unveil.grammar.charts.inside_outside.expect_sentences`. Of trees that are equally likely the
    one that a fixed order of symbols, rules and splits puts first.

    Examples
    --------
    >>> from unveil.grammar import normal_form, read_grammar
    >>> from unveil.grammar.charts.trees import best_trees
    >>> form = normal_form(grammar := read_grammar("S -> S S S [0.25] | 'a' [0.5] | 'b' [0.25]"))
    >>> for tree, log_probability in best_trees(form, form.weights(grammar.probabilities), [0, 1, 0, 1, 1], [3, 2]):
    ...     print(tree, round(log_probability, 6))
    (S (S a) (S b) (S a)) -4.158883
    None -inf
    """
    charts = BestCharts(form, weights, codes, lengths, spans, unknown)
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

    def link(first: int, last: int, top: int, base: int, parts: Parts) -> Parts:
        if top == base and charts.marked is None:
            return parts
        for step in reversed(charts.taken(sentence, first, last, top, base)):
            if best.steps.kinds[step] != UNARY:
                symbol = int(best.steps.silent[step])
                silent = _opened(form, symbol, form.collapse(best_nothing(form, best, symbol)))
                parts = (*silent, *parts) if best.steps.kinds[step] == LEFT_SILENT else (*parts, *silent)
            parts = _node(form, int(best.steps.parents[step]), parts)
        return parts

    return link


def grown(form: NormalForm, nodes: Integers, codes: Integers, link: Link) -> Tree:
    """The grammar's tree of rows (first, last, top, base, rule, split), parents first and left before right."""
    done: list[Parts] = []
    for first, last, top, base, rule, _ in nodes[::-1].tolist():
        if rule < 0:
            code = int(codes[first])
            parts: Parts = (form.words[code] if code >= 0 else UNKNOWN,)
        else:
            parts = done.pop() + done.pop()
        done.append(link(first, last, top, base, _node(form, base, parts)))
    (tree,) = done.pop()
    assert isinstance(tree, Tree)
    return tree


def _node(form: NormalForm, symbol: int, children: Parts) -> Parts:
    """A node, which gives way to its children if it is made up."""
    return (Tree(form.symbols[symbol], children),) if symbol < form.n_nonterminals else children


def _opened(form: NormalForm, symbol: int, tree: Tree) -> Parts:
    """What a collapsed tree is to its parent."""
    return (tree,) if symbol < form.n_nonterminals else tree.children


class BestUses(NamedTuple):
    """Best trees as uses of rules."""

    log_probabilities: Floats  # (sentences,)
    counts: Floats  # (n_rules,): uses in the best trees of all sentences, times their weights


def best_uses(
    form: NormalForm,
    weights: Weights,
    codes: ArrayLike,
    lengths: ArrayLike,
    sentence_weights: ArrayLike | None = None,
    spans: Spans = None,
    unknown: Floats | None = None,
) -> BestUses:
    """How often the likeliest trees of the sentences, empty ones too, use each rule: hard EM."""
    charts = BestCharts(form, weights, codes, lengths, spans, unknown)
    found, n_words = charts.find(), charts.lengths
    each = np.ones(len(n_words)) if sentence_weights is None else np.asarray(sentence_weights, dtype=np.float64)
    each = np.where(found.logs > -np.inf, each, 0.0)
    owner = np.repeat(np.arange(len(n_words)), np.maximum(2 * n_words - 1, 0))
    rows, of_node = found.nodes, each[owner]
    tables = [np.zeros(len(rule)) for rule in (form.binary_rule, form.unary_rule, form.lexical_rule, form.empty_rule)]
    used = of_node > 0
    split = used & (rows[:, 4] >= 0)
    np.add.at(tables[0], rows[split, 4], of_node[split])
    words = charts.codes[(np.cumsum(n_words) - n_words)[owner[used & ~split]] + rows[used & ~split, 0]]
    _add_words(form, rows[used & ~split, 3], words, of_node[used & ~split], tables[2])
    silent = np.zeros(form.n_symbols)
    _add_chains(charts, rows[used], owner[used], of_node[used], tables, silent)
    silent[form.start] += each[n_words == 0].sum()
    _add_silent(form, charts.best, silent, tables)
    return BestUses(found.logs, form.rule_totals(*tables))


def _add_words(form: NormalForm, parents: Integers, words: Integers, weights: Floats, table: Floats) -> None:
    """Uses of parent -> word; unknown words use no rule."""
    place = np.full((form.n_symbols, len(form.words) + 1), -1)
    place[form.lexical[:, 0], form.lexical[:, 1]] = np.arange(len(form.lexical))
    known = place[parents, words] >= 0
    np.add.at(table, place[parents, words][known], weights[known])


def _add_chains(
    charts: BestCharts, rows: Integers, owner: Integers, weights: Floats, tables: Sequence[Floats], silent: Floats
) -> None:
    """Uses of unary rows, and of binary rows with a silent side; how many empty trees these begin."""
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
                silent[steps.silent[step]] += weight


def _add_silent(form: NormalForm, best: BestClosure, silent: Floats, tables: Sequence[Floats]) -> None:
    """Uses of rows in best empty trees, of which `silent` begin at each symbol: from the least likely tree down."""
    for symbol in np.argsort(best.null, kind="stable"):
        if silent[symbol] > 0:
            arity, row = best.null_arity[symbol], best.null_row[symbol]
            tables[(3, 1, 0)[arity]][row] += silent[symbol]
            if arity:
                np.add.at(silent, (form.unary if arity == 1 else form.binary)[row, 1:], silent[symbol])


def draw_trees(
    form: NormalForm,
    weights: Weights,
    codes: ArrayLike,
    generator: np.random.Generator,
    draws: int = 1,
    spans: ArrayLike | None = None,
    unknown: Floats | None = None,
) -> list[Tree]:
    """Trees of one sentence drawn from its posterior; none if it has no tree.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.grammar import normal_form, read_grammar
    >>> from unveil.grammar.charts.trees import draw_trees
    >>> form = normal_form(grammar := read_grammar("S -> S S [0.4] | 'a' [0.6]"))
    >>> for tree in draw_trees(form, form.weights(grammar.probabilities), [0, 0, 0], np.random.default_rng(2), draws=2):
    ...     print(tree)
    (S (S a) (S (S a) (S a)))
    (S (S (S a) (S a)) (S a))
    """
    from unveil.grammar.charts.draws import draw_sentences

    closed, codes = close(form, weights), np.asarray(codes, dtype=np.int64)
    uniforms = generator.random((draws, 3 * len(codes)))
    limits = None if spans is None else [spans]
    found = draw_sentences(closed, codes, [len(codes)], uniforms, None, limits, unknown, form.n_nonterminals)
    if found.log_likelihoods[0] == -np.inf:
        return []
    chances = Draws(form, weights, closed)
    if not len(codes):
        return [form.collapse(chances.nothing(form.start, generator)) for _ in range(draws)]

    def link(first: int, last: int, top: int, base: int, parts: Parts) -> Parts:
        below = parts[0] if base < form.n_nonterminals else Tree(form.symbols[base], parts)
        assert isinstance(below, Tree)
        tree = chances.chain(top, base, below, generator)
        return parts if tree is below else _opened(form, top, form.collapse(tree))

    return [grown(form, nodes, codes, link) for nodes in found.nodes]
