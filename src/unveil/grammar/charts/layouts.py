"""A grammar as charts read it: tables for sums over trees and for the best tree, each made once, when first asked for.

All blocks of a pass, and all calls of a fitted grammar, share one layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Integers
from unveil.core.once import cached_property
from unveil.grammar.charts.limits import ChartLimits, Masks, Spans, limits_of
from unveil.grammar.kernels.layout import ByParent, PackedGrammar, by_parent, pack
from unveil.grammar.language.best import BestClosure, best_closure
from unveil.grammar.language.closure import Closed
from unveil.grammar.language.normal_form import NormalForm, Weights

if TYPE_CHECKING:
    from unveil.grammar.kernels.in_logs import LogCharts, LogGrammar


@dataclass(frozen=True, eq=False)
class SumLayout:
    """For sums over trees."""

    closed: Closed
    n_nonterminals: int | None = None  # symbols that are the grammar's own, not made up: all by default
    unknown: Floats | None = None  # (n,): weight of each symbol -> a word that the grammar does not know (code -1)

    @cached_property
    def packed(self) -> PackedGrammar:
        """As the kernels read it."""
        return pack(*self.closed, unknown=self.unknown)

    @cached_property
    def by_parent(self) -> ByParent:
        """Its rules, for the way down."""
        closed = self.closed
        return by_parent(len(closed.null), closed.parents, closed.lefts, closed.rights, closed.weights)

    @cached_property
    def in_logs(self) -> LogGrammar:
        """In logarithms, for sentences whose numbers leave the range of floating point."""
        from unveil.grammar.kernels.in_logs import LogGrammar

        closed = self.closed
        rules = (np.ascontiguousarray(part, dtype=np.int64) for part in (closed.parents, closed.lefts, closed.rights))
        with np.errstate(divide="ignore"):
            tables: tuple[Any, ...] = (*rules, np.log(closed.weights), np.log(closed.closure), np.log(self.lexical))
        return LogGrammar(closed.start, *tables)

    @property
    def lexical(self) -> Floats:
        """Weight of each symbol -> each word, (words + 1, n): the last row is that of an unknown word."""
        last = np.zeros(len(self.closed.null)) if self.unknown is None else self.unknown
        return np.vstack([self.closed.lexical, last])

    def charts_in_logs(
        self, words: Integers, limits: ChartLimits, sentence: int = 0, outside: bool = True
    ) -> tuple[LogCharts, float]:
        """Charts of a sentence in logarithms, and its log-probability; nothing is outside of what is impossible."""
        from unveil.grammar.kernels.in_logs import log_charts, log_inside, log_outside

        charts, first_span = log_charts(len(words), len(self.closed.null)), limits.first_span(sentence)
        whole = float(log_inside(self.in_logs, limits.limits, first_span, words, charts))
        if outside and whole > -np.inf:
            log_outside(self.in_logs, limits.limits, first_span, words, charts)
        return charts, whole

    def limits(self, lengths: ArrayLike, spans: Spans = None, allowed: Masks = None) -> ChartLimits:
        """Limits of sentences, from brackets and masks."""
        return limits_of(self.closed, np.asarray(lengths, dtype=np.intp), spans, self.n_nonterminals, allowed)


@dataclass(frozen=True, eq=False)
class BestLayout:
    """For best trees, in logarithms."""

    form: NormalForm
    weights: Weights
    unknown: Floats | None = None

    @cached_property
    def closure(self) -> BestClosure:
        """Best chains and best empty trees."""
        return best_closure(self.form, self.weights)

    @cached_property
    def packed(self) -> PackedGrammar:
        """As the kernels read it."""
        form, lexical = self.form, np.full((len(self.form.words), self.form.n_symbols), -np.inf)
        with np.errstate(divide="ignore"):
            lexical[form.lexical[:, 1], form.lexical[:, 0]] = np.log(self.weights.lexical)
            unknown, binary = None if self.unknown is None else np.log(self.unknown), np.log(self.weights.binary)
        parents, lefts, rights = np.ascontiguousarray(form.binary.T)
        chain, null = self.closure.chain, self.closure.null
        return pack(form.start, parents, lefts, rights, binary, chain, lexical, null, unknown, nothing=-np.inf)

    @cached_property
    def by_parent(self) -> ByParent:
        """Its rules, for the way down."""
        with np.errstate(divide="ignore"):
            binary = np.log(self.weights.binary)
        parents, lefts, rights = np.ascontiguousarray(self.form.binary.T)
        return by_parent(self.form.n_symbols, parents, lefts, rights, binary)
