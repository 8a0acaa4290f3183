"""Charts of many sentences: how probable each is, and how often its trees use every row of the grammar.

Each function works through all sentences it is given in one call that holds no lock. A sentence whose numbers leave the
range of floating point, which words scaled one by one make very rare, is done over in logarithms. Sentences that the
grammar cannot make have log-probability -inf and count nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Floats
from unveil.grammar.charts.limits import Bounds, bounds
from unveil.grammar.language.closure import Closed

Spans = Sequence[ArrayLike | None] | None
Masks = Sequence[NDArray[np.bool_] | None] | None


class Expected(NamedTuple):
    """What charts count. n symbols, m binary rows."""

    log_likelihoods: Floats  # (sentences,)
    binary: Floats  # (m,): expected uses
    chains: Floats  # (n, n): derivatives by the closure; 0 where no chain of one step or more leads
    lexical: Floats  # (words, n): expected uses


def expect_sentences(
    closed: Closed,
    codes: ArrayLike,
    lengths: ArrayLike,
    weights: ArrayLike | None = None,
    spans: Spans = None,
    unknown: Floats | None = None,
    n_nonterminals: int | None = None,
    allowed: Masks = None,
) -> Expected:
    """Log-probabilities of sentences, and the expected uses of rows over all their trees (inside-outside).

    Parameters
    ----------
    closed : Closed
        The grammar.
    codes : array of int of shape (tokens,)
        Words of all sentences, one after the other; -1 is an unknown word.
    lengths : array of int of shape (sentences,)
        How many words each has. One without words has the probability that the start makes nothing, and no counts.
    weights : array of shape (sentences,), optional
        What the counts of each sentence are multiplied with.
    spans : sequence of arrays of int of shape (brackets, 3), or None where a sentence has none; optional
        first, last (exclusive) and symbol, or -1 for any; see `unveil.grammar.charts.limits`.
    unknown : array of shape (n,), optional
        Weight of each symbol for an unknown word; without it sentences with such words are impossible.
    n_nonterminals : int, optional
        How many of the symbols are the grammar's own, not made up: those that `spans` speak of. All by default.
    allowed : sequence of arrays of bool of shape (spans of the sentence, n), or None where all is allowed; optional
        Symbols that may be base and top of each span, by `unveil.grammar.charts.limits.span_number`: a pruned chart.

    Examples
    --------
    >>> from unveil.grammar import close, normal_form, read_grammar
    >>> from unveil.grammar.charts.inside_outside import expect_sentences
    >>> form = normal_form(grammar := read_grammar("S -> S S [0.4] | 'a' [0.6]"))
    >>> closed = close(form, form.weights(grammar.probabilities))
    >>> found = expect_sentences(closed, [0, 0, 0, 0], [1, 3])
    >>> found.log_likelihoods.round(6).tolist(), found.binary.round(6).tolist(), found.lexical.round(6).tolist()
    ([-0.510826, -2.671911], [2.0], [[4.0]])
    """
    work = _Work(closed, codes, lengths, weights, unknown, bounds_of(closed, lengths, spans, n_nonterminals, allowed))
    return work.run(counted=True)


def score_sentences(
    closed: Closed,
    codes: ArrayLike,
    lengths: ArrayLike,
    spans: Spans = None,
    unknown: Floats | None = None,
    n_nonterminals: int | None = None,
    allowed: Masks = None,
) -> Floats:
    """Log-probabilities of sentences alone, for a third of the time; arguments are those of `expect_sentences`."""
    work = _Work(closed, codes, lengths, None, unknown, bounds_of(closed, lengths, spans, n_nonterminals, allowed))
    return work.run(counted=False).log_likelihoods


def bounds_of(closed: Closed, lengths: ArrayLike, spans: Spans, n_nonterminals: int | None, allowed: Masks) -> Bounds:
    """Limits of sentences, from what users of charts hand over."""
    return bounds(closed, np.asarray(lengths, dtype=np.intp), spans, n_nonterminals, allowed)


_packed: list[tuple[Closed, Floats | None, Any]] = []  # of the last grammar: all blocks of a pass have the same


def packed_of(closed: Closed, unknown: Floats | None) -> Any:
    """The grammar as kernels read it."""
    from unveil.grammar.kernels.layout import pack

    for grammar, weights, packed in tuple(_packed):
        if grammar is closed and weights is unknown:
            return packed
    packed = pack(*closed, unknown=unknown)
    _packed[:] = [(closed, unknown, packed)]
    return packed


def log_grammar_of(closed: Closed, unknown: Floats | None) -> Any:
    """The grammar in logarithms."""
    from unveil.grammar.kernels.in_logs import LogGrammar

    lexical = np.vstack([closed.lexical, np.zeros(len(closed.null)) if unknown is None else unknown])
    rules = (np.ascontiguousarray(part, dtype=np.int64) for part in (closed.parents, closed.lefts, closed.rights))
    with np.errstate(divide="ignore"):
        tables: tuple[Any, ...] = (*rules, np.log(closed.weights), np.log(closed.closure), np.log(lexical))
    return LogGrammar(closed.start, *tables)


class _Work:
    """Sentences on their way through the kernels."""

    def __init__(
        self,
        closed: Closed,
        codes: ArrayLike,
        lengths: ArrayLike,
        weights: ArrayLike | None,
        unknown: Floats | None,
        limits: Bounds,
    ) -> None:
        self.closed, self.unknown, self.bounds = closed, unknown, limits
        self.codes = np.ascontiguousarray(codes, dtype=np.int64)
        self.lengths = np.ascontiguousarray(lengths, dtype=np.int64)
        count = len(self.lengths)
        self.weights = np.ones(count) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self.logs, self.status = np.full(count, -np.inf), np.zeros(count, dtype=np.int64)
        self.binary, self.chains = np.zeros(len(closed.weights)), np.zeros_like(closed.closure)
        self.lexical = np.zeros((len(closed.lexical) + 1, len(closed.null)))  # the last row counts unknown words

    def run(self, counted: bool) -> Expected:
        """All sentences."""
        from unveil.grammar.kernels.inside_outside import expect_many
        from unveil.grammar.kernels.workspace import LOST, room

        packed, limits = packed_of(self.closed, self.unknown), self.bounds.limits
        space = room(packed, int(self.lengths.max(initial=0)))
        expect_many(
            packed, limits, space, self.codes, self.lengths, self.weights, counted, self.status,
            self.logs, self.binary, self.chains, self.lexical,
        )  # fmt: skip
        if LOST in self.status:
            self._do_over(np.flatnonzero(self.status == LOST), counted)
        chains = self.chains + self.bounds.slopes(self.closed.closure)
        return Expected(self.logs, self.binary, chains, self.lexical[:-1])

    def _do_over(self, lost: NDArray[np.intp], counted: bool) -> None:
        """Sentences whose numbers left the range, in logarithms."""
        from unveil.grammar.kernels.in_logs import log_charts, log_counts, log_inside, log_outside

        grammar, limits = log_grammar_of(self.closed, self.unknown), self.bounds.limits
        ends = np.cumsum(self.lengths)
        for number in lost:
            words = self.codes[ends[number] - self.lengths[number] : ends[number]]
            first_span = self.bounds.first_span(number)
            charts = log_charts(len(words), len(self.closed.null))
            self.logs[number] = log_inside(grammar, limits, first_span, words, charts)
            if counted and self.weights[number] > 0 and self.logs[number] > -np.inf:
                log_outside(grammar, limits, first_span, words, charts)
                counts = (self.binary, self.chains, self.lexical)
                log_counts(grammar, limits, first_span, words, charts, float(self.weights[number]), *counts)
