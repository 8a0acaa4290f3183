"""Trees drawn from the posterior of sentences, as expected uses of rows.

A tree is drawn down to the ends of its chains of unary steps; given these, the chains are summed over exactly. So the
derivative by closure[A, B] of a tree whose chains lead from A to B so often is that number over closure[A, B], and the
counts go the way of those of `unveil.grammar.charts.inside_outside`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Floats, Integers
from unveil.grammar.charts.layouts import SumLayout
from unveil.grammar.charts.limits import ChartLimits, Spans, span_number
from unveil.grammar.kernels.layout import FREE, INNER, Limits
from unveil.grammar.language.closure import Closed


class DrawnTrees(NamedTuple):
    """Draws of trees. n symbols, m binary rows."""

    log_likelihoods: Floats  # (sentences,)
    binary: Floats  # (m,): uses, on average over the draws, times the weights of the sentences
    chains: Floats  # (n, n): derivatives by the closure, see above
    lexical: Floats  # (words, n)
    scores: Floats  # (sentences, draws): log-probability of each draw, its chains summed over
    same: Integers  # (sentences, draws): number of the first draw of the sentence that is the same tree
    nodes: Integers  # (draws, nodes of all sentences, 6): first, last, top, base, rule and split


def draw_sentences(
    layout: SumLayout,
    codes: ArrayLike,
    lengths: ArrayLike,
    uniforms: Floats,
    weights: ArrayLike | None = None,
    spans: Spans = None,
) -> DrawnTrees:
    """Trees of each sentence from uniform numbers of shape (draws, 3 * tokens); see `expect_sentences` for the rest.

    Sentences that are impossible have scores of -inf and count nothing.
    """
    codes, lengths = np.ascontiguousarray(codes, dtype=np.int64), np.ascontiguousarray(lengths, dtype=np.int64)
    each = np.ones(len(lengths)) if weights is None else np.asarray(weights, dtype=np.float64)
    limits = layout.limits(lengths, spans)
    logs, scores, nodes = _drawn(layout, codes, lengths, np.ascontiguousarray(uniforms), limits)
    owner = np.repeat(np.arange(len(lengths)), np.maximum(2 * lengths - 1, 0))
    same = np.array([_firsts(nodes[:, owner == sentence]) for sentence in range(len(lengths))], dtype=np.int64)
    share = np.where(logs > -np.inf, each, 0.0)[owner] / max(len(uniforms), 1)
    counts = _counted(layout.closed, limits, codes, lengths, owner, share, nodes)
    return DrawnTrees(logs, *counts, scores, same.reshape(len(lengths), len(uniforms)), nodes)


def _drawn(
    layout: SumLayout, codes: Integers, lengths: Integers, uniforms: Floats, limits: ChartLimits
) -> tuple[Floats, Floats, Integers]:
    """Log-likelihoods, scores and nodes."""
    from unveil.grammar.kernels.draws import draw_many
    from unveil.grammar.kernels.workspace import LOST, room

    packed, rules = layout.packed, layout.by_parent
    logs, status = np.full(len(lengths), -np.inf), np.zeros(len(lengths), dtype=np.int64)
    sizes = np.maximum(2 * lengths - 1, 0)
    scores = np.full((len(lengths), len(uniforms)), -np.inf)
    nodes = np.full((len(uniforms), sizes.sum(), 6), -1, dtype=np.int64)
    space, closure = room(packed, int(lengths.max(initial=0))), np.ascontiguousarray(layout.closed.closure)
    draw_many(packed, limits.limits, space, rules, closure, codes, lengths, uniforms, status, logs, scores, nodes)
    ends, node_ends = np.cumsum(lengths), np.cumsum(sizes)
    for number in np.flatnonzero(status == LOST):
        part = slice(ends[number] - lengths[number], ends[number])
        below = slice(node_ends[number] - sizes[number], node_ends[number])
        own = uniforms[:, 3 * part.start : 3 * part.stop]
        logs[number] = draw_in_logs(layout, limits, int(number), codes[part], own, scores[number], nodes[:, below])
    return logs, scores, nodes


def draw_in_logs(
    layout: SumLayout,
    limits: ChartLimits,
    number: int,
    words: Integers,
    uniforms: Floats,
    scores: Floats,
    nodes: Integers,
) -> float:
    """Trees of a sentence whose numbers leave the range of floating point; returns its log-probability."""
    charts, whole = layout.charts_in_logs(words, limits, number, outside=False)
    spans = limits, limits.first_span(number), len(words)
    for draw in range(len(uniforms) if whole > -np.inf else 0):
        scores[draw] = _draw_one(layout.in_logs, *spans, charts, iter(uniforms[draw]), nodes[draw])
    return whole


def _draw_one(
    grammar: Any, limits: ChartLimits, first_span: int, n: int, charts: Any, uniforms: Any, nodes: Integers
) -> float:
    """One tree; returns its log-probability."""
    from unveil.grammar.kernels.in_logs import chain_log

    waiting, count, score = [(0, n, int(grammar.start))], 0, 0.0
    symbols = np.arange(charts.inside.shape[2])
    while waiting:
        first, last, top = waiting.pop()
        span = first_span + span_number(n, first, last) if first_span >= 0 else -1
        chain = np.array([chain_log(grammar.closure, limits.limits, span, top, symbol) for symbol in symbols])
        base = _pick(chain + charts.bases[first, last], next(uniforms))
        score += chain[base]
        nodes[count] = first, last, top, base, -1, -1
        if last > first + 1:
            own = np.flatnonzero(grammar.parents == base)
            middles = np.arange(first + 1, last)
            left = charts.inside[first, middles][:, grammar.lefts[own]].T
            right = charts.inside[middles, last][:, grammar.rights[own]].T
            place = _pick((grammar.weights[own, None] + left + right).reshape(-1), next(uniforms))
            rule, split = int(own[place // len(middles)]), int(middles[place % len(middles)])
            nodes[count, 4:] = rule, split
            score += grammar.weights[rule]
            waiting += [(split, last, int(grammar.rights[rule])), (first, split, int(grammar.lefts[rule]))]
        else:
            score += charts.bases[first, last, base]
        count += 1
    return float(score)


def _pick(logs: Floats, uniform: float) -> int:
    """An index drawn in proportion to weights given as logarithms."""
    running = np.cumsum(np.exp(logs - logs.max()))
    return int(min(np.searchsorted(running, uniform * running[-1], side="right"), np.flatnonzero(logs > -np.inf)[-1]))


def _firsts(trees: Integers) -> Integers:
    """For each tree, the number of the first that is the same."""
    if not len(trees):
        return np.zeros(0, dtype=np.int64)
    _, first, inverse = np.unique(trees.reshape(len(trees), -1), axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.reshape(-1)], dtype=np.int64)


def _counted(
    closed: Closed,
    limits: ChartLimits,
    codes: Integers,
    lengths: Integers,
    owner: Integers,
    share: Floats,
    nodes: Integers,
) -> tuple[Floats, Floats, Floats]:
    """Uses of binary rows, derivatives by the closure, uses of words."""
    draws, n = len(nodes), len(closed.null)
    used = np.tile(share > 0, draws)
    rows, owner, share = nodes.reshape(-1, 6)[used], np.tile(owner, draws)[used], np.tile(share, draws)[used]
    first, _, top, base, rule, _ = rows.T
    split = rule >= 0
    binary = np.bincount(rule[split], share[split], len(closed.weights))
    lexical = np.zeros((len(closed.lexical) + 1, n))
    begins = np.cumsum(lengths) - lengths
    np.add.at(lexical, (codes[begins[owner[~split]] + first[~split]], base[~split]), share[~split])
    chains, free = np.zeros((n, n)), np.ones(len(rows), dtype=bool)
    if limits.limits is not None:
        free = _count_limited(limits.limits, lengths[owner], rows, owner, share)
    np.add.at(chains, (top[free], base[free]), share[free] / closed.closure[top[free], base[free]])
    return binary.astype(np.float64), chains + limits.slopes(closed.closure), lexical[:-1]


def _count_limited(
    part: Limits, n_words: Integers, rows: Integers, owner: Integers, share: Floats
) -> NDArray[np.bool_]:
    """Derivatives by the weights of chains with limits; returns which chains have none."""
    first, last, top, base, _, _ = rows.T
    begins, n = part.begins[owner], part.allowed.shape[1]
    spans = begins + span_number(n_words, first, last)
    kinds = np.where(begins >= 0, part.kinds[np.maximum(spans, 0)], FREE)
    passing, inner = kinds >= 0, kinds == INNER
    kind = kinds[passing]
    for row, symbol in ((2 * kind, top[passing]), (2 * kind + 1, base[passing])):
        np.add.at(part.totals, (row, symbol), share[passing] / part.chains[row, symbol])
    row = len(part.chains) - n + top[inner]
    np.add.at(part.totals, (row, base[inner]), share[inner] / part.chains[row, base[inner]])
    return np.asarray(kinds == FREE)
