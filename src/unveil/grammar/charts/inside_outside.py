"""Charts of many sentences: how probable each is, and how often its trees use every row of the grammar.

Each function works through all sentences it is given in one call that holds no lock. A sentence whose numbers leave the
range of floating point, which words scaled one by one make very rare, is done over in logarithms. Sentences that the
grammar cannot make have log-probability -inf and count nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Indices
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
    return _Work(layout, codes, lengths, weights, layout.limits(lengths, spans, allowed)).run(counted=True)


def score_sentences(
    layout: SumLayout, codes: ArrayLike, lengths: ArrayLike, spans: Spans = None, allowed: Masks = None
) -> Floats:
    """Log-probabilities of sentences alone, for a third of the time; arguments are those of `expect_sentences`."""
    work = _Work(layout, codes, lengths, None, layout.limits(lengths, spans, allowed))
    return work.run(counted=False).log_likelihoods


class _Work:
    """Sentences on their way through the kernels."""

    def __init__(
        self, layout: SumLayout, codes: ArrayLike, lengths: ArrayLike, weights: ArrayLike | None, limits: ChartLimits
    ) -> None:
        self.layout, self.limits, closed = layout, limits, layout.closed
        self.codes = np.ascontiguousarray(codes, dtype=np.int64)
        self.lengths = np.ascontiguousarray(lengths, dtype=np.int64)
        count = len(self.lengths)
        self.weights = np.ones(count) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self.logs, self.status = np.full(count, -np.inf), np.zeros(count, dtype=np.int64)
        self.binary, self.chains = np.zeros(len(closed.weights)), np.zeros_like(closed.closure)
        self.lexical = np.zeros((len(closed.lexical) + 1, len(closed.null)))  # the last row counts unknown words

    def run(self, counted: bool) -> ChartCounts:
        """All sentences."""
        from unveil.grammar.kernels.inside_outside import expect_many
        from unveil.grammar.kernels.workspace import LOST, room

        packed = self.layout.packed
        space = room(packed, int(self.lengths.max(initial=0)))
        expect_many(
            packed, self.limits.limits, space, self.codes, self.lengths, self.weights, counted, self.status,
            self.logs, self.binary, self.chains, self.lexical,
        )  # fmt: skip
        if LOST in self.status:
            self._do_over(np.flatnonzero(self.status == LOST), counted)
        chains = self.chains + self.limits.slopes(self.layout.closed.closure)
        return ChartCounts(self.logs, self.binary, chains, self.lexical[:-1])

    def _do_over(self, lost: Indices, counted: bool) -> None:
        """Sentences whose numbers left the range, in logarithms."""
        from unveil.grammar.kernels.in_logs import log_charts, log_counts, log_inside, log_outside

        grammar, limits = self.layout.in_logs, self.limits.limits
        ends = np.cumsum(self.lengths)
        for number in lost:
            words = self.codes[ends[number] - self.lengths[number] : ends[number]]
            first_span = self.limits.first_span(number)
            charts = log_charts(len(words), len(self.layout.closed.null))
            self.logs[number] = log_inside(grammar, limits, first_span, words, charts)
            if counted and self.weights[number] > 0 and self.logs[number] > -np.inf:
                log_outside(grammar, limits, first_span, words, charts)
                counts = (self.binary, self.chains, self.lexical)
                log_counts(grammar, limits, first_span, words, charts, float(self.weights[number]), *counts)
