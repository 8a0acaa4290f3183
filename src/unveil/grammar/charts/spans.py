"""What the words of a sentence are constituents of: posteriors of spans, and the likeliest symbols of each.

With lower[B] the outside value of a base, closure R and inside values, the expected number of A in the chain of a span
is lower[A] * inside[A] over the probability of the sentence. A chain passes A at least once with that number over
R[A, A], the expected number of times that it comes by A once it has. Where a bracket keeps chains to made-up symbols, R
is the closure of those.

Where a bracket has a label A, the chain over its words is one that passes A. That it passes C too is what is left when
the chains that avoid C are taken away: with R the closure, those have the closure of a grammar without C,

    R without C = R - R[:, C] R[C, :] / R[C, C]

and so p(C) = 1 - (outside . chains through A without C . base) / (outside . chains through A . base).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Integers, Mask
from unveil.grammar.charts.layouts import SumLayout
from unveil.grammar.charts.limits import ChartLimits, Passed, between, ends_of_spans
from unveil.grammar.kernels.layout import INNER
from unveil.grammar.language.closure import Closed


def span_posteriors(layout: SumLayout, codes: ArrayLike, brackets: ArrayLike | None = None) -> Floats:
    """The probability that the words first..last - 1 of a sentence are a constituent of each symbol.

    Returns
    -------
    array of shape (n_words + 1, n_words + 1, n)
        [first, last, symbol], made-up symbols included; 0 everywhere for an impossible sentence. Over the words of a
        bracket with a symbol this is right for that symbol alone; `constituents` has the others.

    Examples
    --------
    >>> from unveil.grammar import close, normal_form, read_grammar
    >>> from unveil.grammar.charts.layouts import SumLayout
    >>> from unveil.grammar.charts.spans import span_posteriors
    >>> form = normal_form(grammar := read_grammar("S -> S S [0.4] | 'a' [0.6]"))
    >>> layout = SumLayout(close(form, form.weights(grammar.probabilities)))
    >>> span_posteriors(layout, [0, 0, 0])[:, :, 0].round(3).tolist()
    [[0.0, 1.0, 0.5, 1.0], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    words = np.ascontiguousarray(codes, dtype=np.int64)
    limits = layout.limits([len(words)], None if brackets is None else [brackets])
    inside, _, lower = span_charts(layout, words, limits)
    return np.minimum(inside * lower / _visits(layout.closed, limits, len(words)), 1.0)


def _visits(closed: Closed, limits: ChartLimits, n_words: int) -> Floats:
    """R[A, A], of the closure that a span has: (n,), or (n_words + 1, n_words + 1, n) where some have their own."""
    visits, part = np.diag(closed.closure), limits.limits
    if part is None or not np.any(part.kinds == INNER):
        return visits
    own = np.diag(part.chains[-len(visits) :])
    found = np.tile(visits, (n_words + 1, n_words + 1, 1))
    firsts, lasts = ends_of_spans(n_words)
    inner = part.kinds == INNER
    found[firsts[inner], lasts[inner]] = np.where(own > 0, own, 1.0)
    return found


def constituents(layout: SumLayout, codes: Integers, brackets: Integers | None = None) -> Floats:
    """The probability that each span is a constituent of each symbol, given brackets (first, last, symbol or -1).

    Returns
    -------
    array of shape (n_words + 1, n_words + 1, n_nonterminals)
        0 everywhere if the sentence cannot be derived.
    """
    found = np.ascontiguousarray(span_posteriors(layout, codes, brackets)[:, :, : layout.n_nonterminals])
    labels = _labels(brackets)
    if labels and found.any():
        charts, _ = layout.charts_in_logs(codes, layout.limits([len(codes)], [brackets]))
        outside, bases = _scaled(charts.outside), _scaled(charts.bases)
        for (first, last), passed in labels.items():
            ends = outside[first, last], bases[first, last]
            found[first, last] = [_chance(layout.closed.closure, passed, *ends, c) for c in range(found.shape[2])]
    return found


def likeliest_symbols(layout: SumLayout, codes: ArrayLike, lengths: ArrayLike, count: int) -> list[Mask]:
    """The `count` likeliest symbols of each span, as base or as top, of each sentence: masks for pruned charts.

    Symbols of posterior 0 are never among them. Masks are (spans, n), by `unveil.grammar.charts.limits.span_number`.
    """
    codes, lengths = np.ascontiguousarray(codes, dtype=np.int64), np.asarray(lengths, dtype=np.int64)
    masks = []
    for words in np.split(codes, np.cumsum(lengths)[:-1]) if len(lengths) else ():
        _, ends, _ = span_charts(layout, words, layout.limits([len(words)]))
        posterior = np.asarray(ends[ends_of_spans(len(words))])
        likeliest = np.argsort(-posterior, axis=1, kind="stable")[:, :count]
        mask = np.zeros(posterior.shape, dtype=bool)
        np.put_along_axis(mask, likeliest, True, axis=1)
        masks.append(mask & (posterior > 0))
    return masks


# -- charts as plain arrays --------------------------------------------------------------------------------------------


def span_charts(layout: SumLayout, words: Integers, limits: ChartLimits) -> tuple[Floats, Floats, Floats]:
    """inside; the larger posterior of top and base; lower over the probability of the sentence: (n + 1, n + 1, n)."""
    from unveil.grammar.kernels.dense import dense_charts
    from unveil.grammar.kernels.workspace import FINE, IMPOSSIBLE, room

    shape = (len(words) + 1, len(words) + 1, len(layout.closed.null))
    inside, ends, lower = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    if not len(words):
        return inside, ends, lower
    packed, first_span = layout.packed, limits.first_span(0)
    space = room(packed, len(words))
    status = dense_charts(packed, limits.limits, first_span, space, words, inside, ends, lower)
    return (inside, ends, lower) if status in (FINE, IMPOSSIBLE) else span_charts_in_logs(layout, words, limits)


def span_charts_in_logs(layout: SumLayout, words: Integers, limits: ChartLimits) -> tuple[Floats, Floats, Floats]:
    """The same in logarithms, where numbers leave the range; inside is 1 or 0, with all the rest in lower."""
    charts, whole = layout.charts_in_logs(words, limits)
    if whole == -np.inf:
        return np.zeros_like(charts.inside), np.zeros_like(charts.inside), np.zeros_like(charts.inside)
    ends = np.maximum(charts.outside + charts.inside, charts.lower + charts.bases) - whole
    possible = charts.inside > -np.inf
    lower = np.where(possible, charts.lower + np.where(possible, charts.inside, 0.0), -np.inf) - whole
    return possible.astype(np.float64), np.exp(ends), np.exp(lower)


# -- chains with labels ------------------------------------------------------------------------------------------------


def _labels(brackets: Integers | None) -> dict[tuple[int, int], Passed]:
    """The symbols of each span that has any, outermost first."""
    labels: dict[tuple[int, int], Passed] = {}
    for first, last, symbol in () if brackets is None else brackets.tolist():
        if symbol >= 0:
            labels[first, last] = (*labels.get((first, last), ()), symbol)
    return labels


def _scaled(logs: Floats) -> Floats:
    """Numbers from their logarithms, the largest of each span 1."""
    highest = logs.max(axis=2, keepdims=True)
    return np.exp(logs - np.where(np.isfinite(highest), highest, 0.0))


def _chance(closure: Floats, passed: Passed, outside: Floats, base: Floats, symbol: int) -> float:
    """The probability that a chain that passes some symbols passes this one too."""
    if symbol in passed:
        return 1.0
    without = closure - np.outer(closure[:, symbol], closure[symbol]) / closure[symbol, symbol]
    avoiding = _through(np.maximum(without, 0.0), passed, outside, base)
    return float(np.clip(1.0 - avoiding / _through(closure, passed, outside, base), 0.0, 1.0))


def _through(closure: Floats, passed: Passed, outside: Floats, base: Floats) -> float:
    """Weight of all chains that pass these symbols in turn: the way to the first meeting of each, then any way on."""
    weight = float(outside @ closure[:, passed[0]]) / closure[passed[0], passed[0]]
    return between(closure, passed, weight) * float(closure[passed[-1]] @ base)
