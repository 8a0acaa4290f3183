"""Charts of many sentences: how probable each is, and how often its trees use every row of the grammar.

Each function works through all sentences it is given in one call that holds no lock. A sentence whose numbers leave the
range of floating point, which words scaled one by one make very rare, is done over in logarithms. Sentences that the
grammar cannot make have log-probability -inf and count nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.grammar.charts.layouts import SumLayout
from unveil.grammar.charts.limits import ChartLimits, Masks, Spans


class ChartCounts(NamedTuple):
    """What charts count. n symbols, m binary rows."""

    log_likelihoods: Floats  # (sentences,)
    binary: Floats  # (m,): expected uses
    chains: Floats  # (n, n): derivatives by the closure; 0 where no chain of one step or more leads
    lexical: Floats  # (words, n): expected uses


def expect_sentences(
    layout: SumLayout,
    codes: ArrayLike,
    lengths: ArrayLike,
    weights: ArrayLike | None = None,
    spans: Spans = None,
    allowed: Masks = None,
) -> ChartCounts:
    """Log-probabilities of sentences, and the expected uses of rows over all their trees (inside-outside).

    Parameters
    ----------
    layout : SumLayout
        The grammar; without weights of unknown words sentences with such are impossible.
    codes : array of int of shape (tokens,)
        Words of all sentences, one after the other; -1 is an unknown word.
    lengths : array of int of shape (sentences,)
        How many words each has. One without words has the probability that the start makes nothing, and no counts.
    weights : array of shape (sentences,), optional
        What the counts of each sentence are multiplied with.
    spans : sequence of arrays of int of shape (brackets, 3), or None where a sentence has none; optional
        first, last (exclusive) and symbol, or -1 for any; see `unveil.grammar.charts.limits`.
    allowed : sequence of arrays of bool of shape (spans of the sentence, n), or None where all is allowed; optional
        Symbols that may be base and top of each span, by `unveil.grammar.charts.limits.span_number`: a pruned chart.

    Examples
    --------
    >>> from unveil.grammar import close, normal_form, read_grammar
    >>> from unveil.grammar.charts.inside_outside import expect_sentences
    >>> from unveil.grammar.charts.layouts import SumLayout
    >>> form = normal_form(grammar := read_grammar("S -> S S [0.4] | 'a' [0.6]"))
    >>> layout = SumLayout(close(form, form.weights(grammar.probabilities)))
    >>> found = expect_sentences(layout, [0, 0, 0, 0], [1, 3])
    >>> found.log_likelihoods.round(6).tolist(), found.binary.round(6).tolist(), found.lexical.round(6).tolist()
    ([-0.510826, -2.671911], [2.0], [[4.0]])
    """
    return _charted(layout, codes, lengths, weights, layout.limits(lengths, spans, allowed), counted=True)


def score_sentences(
    layout: SumLayout, codes: ArrayLike, lengths: ArrayLike, spans: Spans = None, allowed: Masks = None
) -> Floats:
    """Log-probabilities of sentences alone, for a third of the time; arguments are those of `expect_sentences`."""
    limits = layout.limits(lengths, spans, allowed)
    return _charted(layout, codes, lengths, None, limits, counted=False).log_likelihoods


def _charted(
    layout: SumLayout,
    codes: ArrayLike,
    lengths: ArrayLike,
    weights: ArrayLike | None,
    limits: ChartLimits,
    counted: bool,
) -> ChartCounts:
    """All sentences, those whose numbers left the range in logarithms."""
    from unveil.grammar.kernels.inside_outside import expect_many
    from unveil.grammar.kernels.workspace import LOST, room

    codes, lengths = np.ascontiguousarray(codes, dtype=np.int64), np.ascontiguousarray(lengths, dtype=np.int64)
    each = np.ones(len(lengths)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    logs, status = np.full(len(lengths), -np.inf), np.zeros(len(lengths), dtype=np.int64)
    closed, space = layout.closed, room(layout.packed, int(lengths.max(initial=0)))
    binary, chains = np.zeros(len(closed.weights)), np.zeros(closed.closure.shape)
    lexical = np.zeros((len(closed.lexical) + 1, len(closed.null)))  # the last row counts unknown words
    counts = (binary, chains, lexical)
    expect_many(layout.packed, limits.limits, space, codes, lengths, each, counted, status, logs, *counts)
    ends = np.cumsum(lengths)
    for number in np.flatnonzero(status == LOST).tolist():
        words, told = codes[ends[number] - lengths[number] : ends[number]], counted and each[number] > 0
        charts, logs[number] = layout.charts_in_logs(words, limits, number, outside=told)
        if told and logs[number] > -np.inf:
            from unveil.grammar.kernels.in_logs import log_counts

            spans = limits.limits, limits.first_span(number)
            log_counts(layout.in_logs, *spans, words, charts, float(each[number]), *counts)
    return ChartCounts(logs, binary, chains + limits.slopes(closed.closure), lexical[:-1])
