"""Charts of the likeliest trees of sentences.

Charts know the best weight of every base and top; chains between the two, and empty trees, are those of
`unveil.grammar.language.best`. Under brackets a chain has to pass given symbols, or to keep to made-up ones.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Floats, Integers
from unveil.grammar.charts.layouts import BestLayout
from unveil.grammar.charts.limits import Marked, Passed, Spans, is_limited, mark, span_number, tables_of
from unveil.grammar.kernels.layout import FREE, INNER, Limits
from unveil.grammar.language.best import BestClosure, best_chain

UNKNOWN_LEAF = "<unknown>"  # the leaf of a tree where the word is one that the grammar does not know


class BestNodes(NamedTuple):
    """Best trees as kernels find them."""

    logs: Floats  # (sentences,)
    nodes: Integers  # (nodes, 6): first last top base rule split
    ends: Integers  # (sentences + 1,): where the nodes of each sentence begin and end


class BestCharts:
    """Sentences on their way to their best trees."""

    def __init__(self, layout: BestLayout, codes: ArrayLike, lengths: ArrayLike, spans: Spans = None) -> None:
        self.layout, self.form, self.best = layout, layout.form, layout.closure
        self.codes = np.ascontiguousarray(codes, dtype=np.int64)
        self.lengths = np.ascontiguousarray(lengths, dtype=np.int64)
        self.inner: BestClosure | None = None
        self.marked = self._mark(spans) if is_limited(spans) else None
        self.limits = self._limits() if self.marked is not None else None

    def _mark(self, spans: Spans) -> Marked:
        own, n = self.form.n_nonterminals, self.form.n_symbols
        self.inner = _within(self.best, own)
        return mark(self.lengths, spans, own, n, self.inner is not None)

    def _limits(self) -> Limits:
        """Best weights of chains that pass given symbols: the way to the first, from each to the next, any way on."""
        assert self.marked is not None
        chain, chains = self.best.chain, np.empty((2 * len(self.marked.known), len(self.best.chain)))
        for kind, passed in enumerate(self.marked.known):
            chains[2 * kind] = chain[:, passed[0]]
            chains[2 * kind + 1] = chain[passed[-1]] + self._between(passed)
        return tables_of(self.marked, chains, np.zeros((0, 0)) if self.inner is None else self.inner.chain)

    def _between(self, passed: Passed) -> float:
        """Best weight of the way from the first symbol to the last through those between."""
        total = 0.0
        for one, other in pairwise(passed):
            total += self.best.chain[one, other] if one != other else self._round(one)[0]
        return total

    def _round(self, symbol: int) -> tuple[float, int]:
        """Best weight of a way from a symbol back to itself, and the symbol that comes first on it."""
        ways = _single(self.best, self.best.step[symbol]) + self.best.chain[:, symbol]
        return float(ways.max()), int(ways.argmax())

    def find(self) -> BestNodes:
        """Best trees of all sentences, in one call."""
        from unveil.grammar.kernels.best import best_many
        from unveil.grammar.kernels.workspace import room

        packed, rules = self.layout.packed, self.layout.by_parent
        counts = np.maximum(2 * self.lengths - 1, 0)
        ends = np.append(0, np.cumsum(counts))
        logs, nodes = np.full(len(counts), -np.inf), np.full((ends[-1], 6), -1, dtype=np.int64)
        space = room(packed, int(self.lengths.max(initial=0)))
        best_many(packed, self.limits, space, rules, self.best.chain, self.codes, self.lengths, logs, nodes)
        return BestNodes(logs, nodes, ends)

    def dense(self) -> tuple[Floats, Floats]:
        """Best weights of bases and tops of the one sentence, (n_words + 1, n_words + 1, n)."""
        from unveil.grammar.kernels.best import best_dense
        from unveil.grammar.kernels.workspace import room

        shape = (len(self.codes) + 1, len(self.codes) + 1, self.form.n_symbols)
        bases, tops = np.full(shape, -np.inf), np.full(shape, -np.inf)
        packed = self.layout.packed
        best_dense(packed, self.limits, room(packed, len(self.codes)), self.codes, bases, tops)
        return bases, tops

    def taken(self, sentence: int, first: int, last: int, top: int, base: int) -> list[int]:
        """The steps of the best chain from a top to a base, at a span of a sentence."""
        kind = self._kind(sentence, first, last)
        if kind == FREE:
            return best_chain(self.best, top, base)
        if kind == INNER:
            assert self.inner is not None
            return best_chain(self.inner, top, base)
        assert self.marked is not None
        stops = self.marked.known[kind]
        steps = best_chain(self.best, top, stops[0])
        for one, other in pairwise(stops):
            begin = one
            if one == other:  # once around
                begin = self._round(one)[1]
                steps.append(int(self.best.step[one, begin]))
            steps += best_chain(self.best, begin, other)
        return steps + best_chain(self.best, stops[-1], base)

    def _kind(self, sentence: int, first: int, last: int) -> int:
        """Which chains a span may have."""
        if self.marked is None or (begin := int(self.marked.begins[sentence])) < 0:
            return FREE
        return int(self.marked.kinds[begin + span_number(int(self.lengths[sentence]), first, last)])


def _within(best: BestClosure, own: int) -> BestClosure | None:
    """Best chains that keep to made-up symbols; None where no chain, within them or not, leads from one to another."""
    n = len(best.chain)
    if not np.any((best.chain[own:, own:] > -np.inf) & ~np.eye(n - own, dtype=bool)):
        return None
    steps = best.step.copy()
    steps[:own] = -1
    steps[:, :own] = -1
    chain = _single(best, steps)
    after = np.where(steps >= 0, np.arange(n), -1).astype(np.int32)
    np.fill_diagonal(chain, 0.0)
    for middle in range(own, n):
        through = chain[:, middle, None] + chain[None, middle]
        better = through > chain
        chain = np.where(better, through, chain)
        after = np.where(better, after[:, middle, None], after)
    return best._replace(chain=chain, next=after)


def _single(best: BestClosure, steps: NDArray[np.int32]) -> Floats:
    """Log weights of steps given by number, -inf for -1."""
    with np.errstate(divide="ignore"):
        return np.where(steps >= 0, np.log(np.append(best.steps.weights, 0.0))[steps], -np.inf)
