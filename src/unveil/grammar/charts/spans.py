"""What the words of a sentence are constituents of: posteriors of spans, and the likeliest symbols of each.

With lower[B] the outside value of a base, closure R and inside values, the expected number of A in the chain of a span
is lower[A] * inside[A] over the probability of the sentence. A chain passes A at least once with that number over
R[A, A], the expected number of times that it comes by A once it has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Floats, Integers
from unveil.grammar.charts.inside_outside import bounds_of, log_grammar_of, packed_of
from unveil.grammar.charts.limits import Bounds
from unveil.grammar.language.closure import Closed


def span_posteriors(
    closed: Closed,
    codes: ArrayLike,
    spans: ArrayLike | None = None,
    unknown: Floats | None = None,
    n_nonterminals: int | None = None,
) -> Floats:
    """The probability that the words first..last - 1 of a sentence are a constituent of each symbol.

    Returns
    -------
    array of shape (n_words + 1, n_words + 1, n)
        [first, last, symbol], made-up symbols included; 0 everywhere for an impossible sentence. Of `spans` with a
        symbol, the symbols beside the one that is known are left to `unveil.grammar.pcfg.spans`.

    Examples
    --------
    >>> from unveil.grammar import close, normal_form, read_grammar
    >>> from unveil.grammar.charts.spans import span_posteriors
    >>> form = normal_form(grammar := read_grammar("S -> S S [0.4] | 'a' [0.6]"))
    >>> span_posteriors(close(form, form.weights(grammar.probabilities)), [0, 0, 0])[:, :, 0].round(3).tolist()
    [[0.0, 1.0, 0.5, 1.0], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    words = np.ascontiguousarray(codes, dtype=np.int64)
    limits = bounds_of(closed, [len(words)], None if spans is None else [spans], n_nonterminals, None)
    inside, _, lower = _charts(closed, packed_of(closed, unknown), words, limits, unknown)
    return np.minimum(inside * lower / np.diag(closed.closure), 1.0)


def liveliest(
    closed: Closed,
    codes: ArrayLike,
    lengths: ArrayLike,
    active: int,
    unknown: Floats | None = None,
) -> list[NDArray[np.bool_]]:
    """The `active` likeliest symbols of each span, as base or as top, of each sentence: masks for pruned charts.

    Symbols of posterior 0 are never among them. Masks are (spans, n), by `unveil.grammar.charts.limits.span_number`.
    """
    codes, lengths = np.ascontiguousarray(codes, dtype=np.int64), np.asarray(lengths, dtype=np.int64)
    packed, masks = packed_of(closed, unknown), []
    for words in np.split(codes, np.cumsum(lengths)[:-1]):
        posterior = _ends(closed, packed, words, bounds_of(closed, [len(words)], None, None, None), unknown)
        likeliest = np.argsort(-posterior, axis=1, kind="stable")[:, :active]
        mask = np.zeros(posterior.shape, dtype=bool)
        np.put_along_axis(mask, likeliest, True, axis=1)
        masks.append(mask & (posterior > 0))
    return masks


def _ends(closed: Closed, packed: Any, words: Integers, limits: Bounds, unknown: Floats | None) -> Floats:
    """The larger of the posteriors of a symbol as top and as base, (spans, n)."""
    _, ends, _ = _charts(closed, packed, words, limits, unknown)
    n = len(words)
    firsts = np.concatenate([np.arange(n - shorter) for shorter in range(n)]) if n else np.zeros(0, dtype=np.int64)
    lasts = firsts + np.repeat(np.arange(1, n + 1), np.arange(n, 0, -1))
    return np.asarray(ends[firsts, lasts])


def _charts(
    closed: Closed, packed: Any, words: Integers, limits: Bounds, unknown: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """inside; the larger posterior of top and base; lower over the probability of the sentence: (n + 1, n + 1, n)."""
    from unveil.grammar.kernels.dense import dense_charts
    from unveil.grammar.kernels.workspace import FINE, IMPOSSIBLE, room

    shape = (len(words) + 1, len(words) + 1, len(closed.null))
    inside, ends, lower = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    if not len(words):
        return inside, ends, lower
    first_span = limits.first_span(0)
    status = dense_charts(
        packed, limits.limits, first_span, room(packed, len(words)), words, inside, ends, lower
    )  # fmt: skip
    if status in (FINE, IMPOSSIBLE):
        return inside, ends, lower
    return _log_charts(closed, words, limits, first_span, unknown)


def _log_charts(
    closed: Closed, words: Integers, limits: Bounds, first_span: int, unknown: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """The same in logarithms, where numbers leave the range; inside is 1 or 0, with all the rest in lower."""
    from unveil.grammar.kernels.in_logs import log_charts, log_inside, log_outside

    charts = log_charts(len(words), len(closed.null))
    grammar = log_grammar_of(closed, unknown)
    whole = log_inside(grammar, limits.limits, first_span, words, charts)
    if whole == -np.inf:
        return np.zeros_like(charts.inside), np.zeros_like(charts.inside), np.zeros_like(charts.inside)
    log_outside(grammar, limits.limits, first_span, words, charts)
    ends = np.maximum(charts.outside + charts.inside, charts.lower + charts.bases) - whole
    possible = charts.inside > -np.inf
    lower = np.where(possible, charts.lower + np.where(possible, charts.inside, 0.0), -np.inf) - whole
    return possible.astype(np.float64), np.exp(ends), np.exp(lower)
