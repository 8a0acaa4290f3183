"""Posteriors of the constituents of a sentence of which some are known.

Where a bracket has a label A, the chain over its words is one that passes A. That it passes C too is what is left when
the chains that avoid C are taken away: with R the closure, those have the closure of a grammar without C,

    R without C = R - R[:, C] R[C, :] / R[C, C]

and so p(C) = 1 - (outside . chains through A without C . base) / (outside . chains through A . base).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from unveil.core.arrays import Floats, Integers
from unveil.grammar.charts.inside_outside import bounds_of, log_grammar_of
from unveil.grammar.charts.spans import span_posteriors
from unveil.grammar.language.closure import Closed

Labels = dict[tuple[int, int], tuple[int, ...]]


def constituents(
    closed: Closed, codes: Integers, brackets: Integers | None, unknown: Floats | None, n_nonterminals: int
) -> Floats:
    """The probability that each span is a constituent of each symbol, given brackets (first, last, symbol or -1).

    Returns
    -------
    array of shape (n_words + 1, n_words + 1, n_nonterminals)
        0 everywhere if the sentence cannot be derived.
    """
    found = span_posteriors(closed, codes, brackets, unknown, n_nonterminals)[:, :, :n_nonterminals]
    found, labels = np.ascontiguousarray(found), _labels(brackets)
    if labels and found.any():
        outside, bases = _ends(closed, codes, brackets, unknown, n_nonterminals)
        for (first, last), passed in labels.items():
            ends = outside[first, last], bases[first, last]
            found[first, last] = [_chance(closed.closure, passed, *ends, symbol) for symbol in range(n_nonterminals)]
    return found


def _labels(brackets: Integers | None) -> Labels:
    """The symbols of each span that has any, outermost first."""
    labels: Labels = {}
    for first, last, symbol in () if brackets is None else brackets.tolist():
        if symbol >= 0:
            labels[first, last] = (*labels.get((first, last), ()), symbol)
    return labels


def _ends(
    closed: Closed, codes: Integers, brackets: Integers | None, unknown: Floats | None, n_nonterminals: int
) -> tuple[Floats, Floats]:
    """What is outside of the top of each span and inside of its base, each in units of its own, (n + 1, n + 1, n)."""
    from unveil.grammar.kernels.in_logs import log_charts, log_inside, log_outside

    limits = bounds_of(closed, [len(codes)], [brackets], n_nonterminals, None)
    charts, grammar = log_charts(len(codes), len(closed.null)), log_grammar_of(closed, unknown)
    log_inside(grammar, limits.limits, limits.first_span(0), codes, charts)
    log_outside(grammar, limits.limits, limits.first_span(0), codes, charts)
    return _scaled(charts.outside), _scaled(charts.bases)


def _scaled(logs: Floats) -> Floats:
    """Numbers from their logarithms, the largest of each span 1."""
    highest = logs.max(axis=2, keepdims=True)
    return np.exp(logs - np.where(np.isfinite(highest), highest, 0.0))


def _chance(closure: Floats, passed: tuple[int, ...], outside: Floats, base: Floats, symbol: int) -> float:
    """The probability that a chain that passes some symbols passes this one too."""
    if symbol in passed:
        return 1.0
    without = closure - np.outer(closure[:, symbol], closure[symbol]) / closure[symbol, symbol]
    avoiding = _through(np.maximum(without, 0.0), passed, outside, base)
    return float(np.clip(1.0 - avoiding / _through(closure, passed, outside, base), 0.0, 1.0))


def _through(closure: Floats, passed: tuple[int, ...], outside: Floats, base: Floats) -> float:
    """Weight of all chains that pass these symbols in turn: the way to the first meeting of each, then any way on."""
    weight = float(outside @ closure[:, passed[0]]) / closure[passed[0], passed[0]]
    for one, other in pairwise(passed):
        weight *= (closure[one, other] - float(one == other)) / closure[other, other]
    return weight * float(closure[passed[-1]] @ base)
