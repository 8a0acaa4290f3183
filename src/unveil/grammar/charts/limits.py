"""Partly bracketed sentences, and charts pruned to given spans, as limits of a chart (Pereira & Schabes, 1992).

A bracket (first, last, symbol) says of the words first..last - 1:

- no constituent crosses them. Symbols made up by the normal form are no constituents and may, unless a symbol is given;
- with a symbol, they are a constituent of that name. Its top may be another symbol, from which a chain of unary steps
  leads through the given one. The weight of all chains from X to B that pass A is R[X, A] / R[A, A] * R[A, B], with R
  the closure: the way to the first A, then any way on. Several symbols of one span are passed in the order given,
  outermost first, as they stand in brackets.

Where a chart counts the derivatives by such weights, the chain rule gives those by R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Floats, Indices, Integers, Mask
from unveil.grammar.kernels.layout import FREE, INNER, Limits
from unveil.grammar.language.closure import Closed

Passed = tuple[int, ...]  # symbols that a chain passes, outermost first
Spans = Sequence[ArrayLike | None] | None  # brackets (first, last, symbol or -1) of each sentence
Masks = Sequence[Mask | None] | None  # symbols that spans may have, for each sentence: (spans, n) by `span_number`


@dataclass(frozen=True)
class ChartLimits:
    """Limits as kernels take them, and what their chains stand for."""

    limits: Limits | None
    kinds: tuple[Passed, ...] = ()

    def first_span(self, sentence: int) -> int:
        """Number of the first span of a sentence, -1 if that has no limits."""
        return -1 if self.limits is None else int(self.limits.begins[sentence])

    def slopes(self, closure: Floats) -> Floats:
        """Derivatives by the closure of all that the charts counted for chains with limits: (n, n)."""
        total = np.zeros_like(closure)
        if self.limits is None:
            return total
        slopes = self.limits.totals
        for kind, passed in enumerate(self.kinds):
            total += _passed_slopes(closure, passed, slopes[2 * kind], slopes[2 * kind + 1])
        if len(slopes) > 2 * len(self.kinds):
            total += _inner_slopes(closure, self.limits.chains[-len(closure) :], slopes[-len(closure) :])
        return total


def span_number(n_words: Any, first: Any, last: Any) -> Any:
    """The place of a span, or of each of many, among those of a sentence: by length, then by first word."""
    shorter = last - first - 1
    return shorter * n_words - shorter * (shorter - 1) // 2 + first


def ends_of_spans(n_words: int) -> tuple[Integers, Integers]:
    """First word of every span of a sentence, and the one after its last, in the order of `span_number`."""
    firsts = [np.arange(n_words - shorter) for shorter in range(n_words)]
    begins = np.concatenate(firsts) if n_words else np.zeros(0, dtype=np.int64)
    return begins, begins + np.repeat(np.arange(1, n_words + 1), np.arange(n_words, 0, -1))


class Marked(NamedTuple):
    """Which spans of the sentences are limited, and how."""

    begins: Integers
    masks: NDArray[np.uint8]
    kinds: Integers
    known: tuple[Passed, ...]


def limits_of(
    closed: Closed, lengths: Indices, spans: Spans, n_nonterminals: int | None, allowed: Masks = None
) -> ChartLimits:
    """Limits of sentences from their brackets and from what is allowed, (spans of the sentence, n) by `span_number`."""
    if not is_limited(spans, allowed):
        return ChartLimits(None)
    n = len(closed.null)
    own = n if n_nonterminals is None else n_nonterminals
    inner = _inner(closed, own)
    marked = mark(lengths, spans, own, n, bool(inner.size), allowed)
    chains = np.zeros((2 * len(marked.known), n))
    for kind, passed in enumerate(marked.known):
        chains[2 * kind] = closed.closure[:, passed[0]] / closed.closure[passed[0], passed[0]]
        chains[2 * kind + 1] = closed.closure[passed[-1]] * between(closed.closure, passed)
    return ChartLimits(tables_of(marked, chains, inner), marked.known)


def is_limited(spans: Spans, allowed: Masks = None) -> bool:
    """Whether there is any limit at all."""
    return any(part is not None for parts in (spans, allowed) if parts is not None for part in parts)


def mark(lengths: Indices, spans: Spans, own: int, n_symbols: int, has_inner: bool, allowed: Masks = None) -> Marked:
    """The limits of all sentences, but for the weights of chains."""
    spans = [None] * len(lengths) if spans is None else spans
    allowed = [None] * len(lengths) if allowed is None else allowed
    limited = np.array([span is not None or mask is not None for span, mask in zip(spans, allowed, strict=True)])
    sizes = np.where(limited, lengths * (lengths + 1) // 2, 0)
    begins = np.where(limited, np.cumsum(sizes) - sizes, -1).astype(np.int64)
    masks, kinds = np.ones((sizes.sum(), n_symbols), dtype=np.uint8), np.full(sizes.sum(), FREE, dtype=np.int64)
    known: dict[Passed, int] = {}
    for number in np.flatnonzero(limited).tolist():
        part = slice(begins[number], begins[number] + sizes[number])
        if (mask := allowed[number]) is not None:
            masks[part] &= mask
        if (brackets := spans[number]) is not None:
            table = _checked(brackets, int(lengths[number]), own, number)
            _bracket(table, int(lengths[number]), own, has_inner, masks[part], kinds[part], known)
    return Marked(begins, masks, kinds, tuple(known))


def tables_of(marked: Marked, chains: Floats, inner: Floats) -> Limits:
    """Limits as kernels take them."""
    chains = np.vstack([chains, inner]) if inner.size else chains
    tables = (chains, np.zeros_like(chains), np.zeros_like(chains))
    return Limits(marked.begins, marked.kinds, marked.masks, *tables)


def _checked(brackets: ArrayLike, n_words: int, own: int, number: int) -> Integers:
    """Brackets of a sentence, checked."""
    table = np.asarray(brackets, dtype=np.int64).reshape(-1, 3)
    first, last, symbol = table.T
    wrong = (first < 0) | (last > n_words) | (first >= last) | (symbol < -1) | (symbol >= own)
    if wrong.any():
        raise ValueError(
            f"spans of sentence {number} hold {tuple(table[wrong][0].tolist())}; they take first < last within its "
            f"{n_words} words and a symbol below {own}, or -1 for any"
        )
    return table


def _bracket(
    table: Integers,
    n_words: int,
    own: int,
    has_inner: bool,
    mask: NDArray[np.uint8],
    kinds: NDArray[np.int64],
    known: dict[Passed, int],
) -> None:
    """Write the brackets of a sentence into its part of the limits."""
    passed: dict[int, Passed] = {}
    crossed = np.zeros(len(mask), dtype=bool)
    firsts, lasts = ends_of_spans(n_words)
    for first, last, symbol in table.tolist():
        crossing = ((firsts < first) & (lasts > first) & (lasts < last)) | (
            (firsts > first) & (firsts < last) & (lasts > last)
        )
        crossed |= crossing
        if symbol < 0:
            mask[crossing, :own] = 0
            if has_inner:
                kinds[crossing] = INNER
        else:
            mask[crossing] = 0  # nothing, made up or not, crosses what is a constituent
            number = span_number(n_words, first, last)
            passed[number] = (*passed.get(number, ()), symbol)
    for number, symbols in passed.items():
        if crossed[number]:
            mask[number] = 0
        kinds[number] = known.setdefault(symbols, len(known))


def between(closure: Floats, passed: Passed, weight: float = 1.0) -> float:
    """`weight` of the ways from the first symbol to the last through those between, each to its next meeting."""
    for one, other in pairwise(passed):
        weight *= (closure[one, other] - float(one == other)) / closure[other, other]
    return weight


def _passed_slopes(closure: Floats, passed: Passed, rise: Floats, fall: Floats) -> Floats:
    """Derivatives by the closure R, given those by rise = R[:, A] / R[A, A] and fall = between * R[Z, :]."""
    total, first, last = np.zeros_like(closure), passed[0], passed[-1]
    total[:, first] += rise / closure[first, first]
    total[first, first] -= rise @ closure[:, first] / closure[first, first] ** 2
    total[last] += fall * between(closure, passed)
    for place, (one, other) in enumerate(pairwise(passed)):
        rest = between(closure, passed[: place + 1]) * between(closure, passed[place + 1 :])
        share = float(fall @ closure[last]) * rest
        total[one, other] += share / closure[other, other]
        total[other, other] -= share * (closure[one, other] - float(one == other)) / closure[other, other] ** 2
    return total


def _inner(closed: Closed, own: int) -> Floats:
    """Sum over the chains within made-up symbols; empty where no chain, within them or not, leads from one to one.

    A made-up symbol has binary rules alone, so that its steps are those whose other side makes nothing. Where all of
    these lead to constituents, a chain within is one of no step, but the closure knows longer ones, through those.
    """
    n = len(closed.null)
    leads = (closed.closure > 0) & ~np.eye(n, dtype=bool)
    if not (leads[own:, own:].any() or (leads[own:] & leads[:, own:].T).any()):
        return np.zeros((0, 0))
    steps = np.zeros((n, n))
    np.add.at(steps, (closed.parents, closed.lefts), closed.weights * closed.null[closed.rights])
    np.add.at(steps, (closed.parents, closed.rights), closed.weights * closed.null[closed.lefts])
    made, inner = steps[own:, own:], np.zeros((n, n))
    inner[own:, own:] = np.where(closed.closure[own:, own:] > 0, np.linalg.inv(np.eye(n - own) - made), 0.0)
    return inner


def _inner_slopes(closure: Floats, inner: Floats, slopes: Floats) -> Floats:
    """Derivatives by the closure R, given those by the inner closure S: as U is I - R^-1, R' D R' = S' slopes S'."""
    back = np.linalg.inv(closure).T
    return np.asarray(back @ (inner.T @ slopes @ inner.T) @ back)
