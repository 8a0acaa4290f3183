"""How probable a beginning of a sentence is, and what word comes next (Jelinek & Lafferty, 1991; Stolcke, 1995).

Let R be the closure, w the weights of binary rules A -> B C, inside[i, k] the chart of the words so far, and s[C] the
probability that C makes any string of at least one word, the least solution of s = R (sum of words + sum w s[B] s[C]).
What begins a constituent begins its left corners too: A leads to B with C to follow, whatever that may be,

    W[A, B] = sum over rules A -> B C of w * s[C],      all corners of all corners:  L = (I - R W)^-1 R

With begun[k] the weight of the symbols that may begin after k words, given that the sentence has begun so,

    begun[0] = start,     begun[k][C] = sum over i < k and rules A -> B C of (L' begun[i])[A] * w * inside[i, k, B]

the first k words and then a word v have probability (L' begun[k]) . lexical[v]. Vectors are scaled place by place: what
is less likely to begin at a place by a factor of 1e300 than something else is taken for impossible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Integers
from unveil.grammar.charts.layouts import SumLayout
from unveil.grammar.charts.limits import ChartLimits
from unveil.grammar.language.closure import Closed
from unveil.grammar.language.empty_rules import MOST_NEWTON_STEPS


class Beginnings(NamedTuple):
    """What is known of a sentence from left to right."""

    logs: Floats  # (n_words + 1,): log-probability that a sentence begins with so many of the words
    ends: Floats  # (n_words + 1,): log-probability that it then ends
    corners: Floats  # (n,): L' begun after all words, scaled
    scale: float  # log of what `corners` were divided by


def prefix_probabilities(layout: SumLayout, codes: ArrayLike) -> Floats:
    """Log-probability that a sentence begins with the first 0, 1 ... n of the words given: (n + 1,).

    The first is that any sentence is made at all: 0 if derivations end with probability 1.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.grammar import close, normal_form, read_grammar
    >>> from unveil.grammar.charts.layouts import SumLayout
    >>> from unveil.grammar.charts.prefix import prefix_probabilities
    >>> form = normal_form(grammar := read_grammar("S -> 'a' S [0.25] | 'a' [0.25] | 'b' [0.5]"))
    >>> layout = SumLayout(close(form, form.weights(grammar.probabilities)))
    >>> np.exp(prefix_probabilities(layout, [0, 0, 1])).round(6).tolist()
    [1.0, 0.5, 0.125, 0.03125]
    """
    return _beginnings(layout, np.ascontiguousarray(codes, dtype=np.int64)).logs


def next_words(layout: SumLayout, codes: ArrayLike) -> tuple[Floats, float]:
    """The probability of each word, (words,), to follow the words given, and that the sentence ends here.

    They sum to 1, of which words that the grammar does not know have no part; all are 0 if no sentence begins so.

    Examples
    --------
    >>> from unveil.grammar import close, normal_form, read_grammar
    >>> from unveil.grammar.charts.layouts import SumLayout
    >>> from unveil.grammar.charts.prefix import next_words
    >>> form = normal_form(grammar := read_grammar("S -> 'a' S [0.25] | 'a' [0.25] | 'b' [0.5]"))
    >>> words, end = next_words(SumLayout(close(form, form.weights(grammar.probabilities))), [0])
    >>> words.round(6).tolist(), round(end, 6)
    ([0.25, 0.25], 0.5)
    """
    closed, found = layout.closed, _beginnings(layout, np.ascontiguousarray(codes, dtype=np.int64))
    if found.logs[-1] == -np.inf:
        return np.zeros(len(closed.lexical)), 0.0
    words = closed.lexical @ found.corners * np.exp(found.scale - found.logs[-1])
    return words, float(np.exp(found.ends[-1] - found.logs[-1]))


def _beginnings(layout: SumLayout, words: Integers) -> Beginnings:
    """From left to right over the words."""
    closed, lexical = layout.closed, layout.lexical
    spoken = _spoken(closed)
    corner = _left_corners(closed, spoken)
    inside = _log_inside(layout, words)
    n, count = len(closed.null), len(words)
    begun, scale, flows = np.zeros((count + 1, n)), np.zeros(count + 1), np.zeros((count + 1, n, n))
    logs, ends = np.full(count + 1, -np.inf), np.full(count + 1, -np.inf)
    begun[0, closed.start] = 1.0
    corners = begun[0]
    with np.errstate(divide="ignore"):
        logs[0] = np.log(spoken[closed.start] + closed.null[closed.start])
        ends[0] = np.log(closed.null[closed.start])
        ends[1:] = inside[0, 1:, closed.start]
        for place in range(count + 1):
            if place:
                logs[place] = scale[place - 1] + np.log(lexical[words[place - 1]] @ corners)
                begun[place], scale[place] = _follow(inside[:place, place], flows[:place], scale[:place])
            corners = corner.T @ begun[place]
            flow = closed.weights * corners[closed.parents]
            np.add.at(flows[place], (closed.lefts, closed.rights), flow)
    return Beginnings(logs, ends, corners, float(scale[-1]))


def _follow(inside: Floats, flows: Floats, scale: Floats) -> tuple[Floats, float]:
    """What may begin at a place, from what began before and ended there, and the log of its scale."""
    top = (inside + scale[:, None]).max()
    if top == -np.inf:
        return np.zeros(inside.shape[1]), 0.0
    ended = np.exp(inside + scale[:, None] - top)
    begun = np.einsum("ib,ibc->c", ended, flows)
    largest = begun.max()
    return (begun / largest, float(top + np.log(largest))) if largest > 0 else (begun, 0.0)


def _spoken(closed: Closed) -> Floats:
    """The probability that each symbol makes some string of one word or more, by Newton's method from 0 up."""
    n, identity = len(closed.null), np.eye(len(closed.null))
    words, spoken = closed.lexical.sum(axis=0), np.zeros(len(closed.null))
    for _ in range(MOST_NEWTON_STEPS):
        left, right = spoken[closed.lefts], spoken[closed.rights]
        value = closed.closure @ (words + np.bincount(closed.parents, closed.weights * left * right, n))
        slopes = np.zeros((n, n))
        np.add.at(slopes, (closed.parents, closed.lefts), closed.weights * right)
        np.add.at(slopes, (closed.parents, closed.rights), closed.weights * left)
        change = np.linalg.lstsq(identity - closed.closure @ slopes, value - spoken)[0]
        spoken = np.minimum(spoken + np.maximum(change, 0.0), 1.0 - closed.null)  # more than 1 is rounding
        if np.all(change <= 4e-16 * spoken):
            break
    return spoken


def _left_corners(closed: Closed, spoken: Floats) -> Floats:
    """L: the expected number of times that a symbol is a left corner, at any depth, of each symbol."""
    n = len(closed.null)
    first = np.zeros((n, n))
    np.add.at(first, (closed.parents, closed.lefts), closed.weights * spoken[closed.rights])
    return np.asarray(np.linalg.solve(np.eye(n) - closed.closure @ first, closed.closure))


def _log_inside(layout: SumLayout, words: Integers) -> Floats:
    """Logarithms of all inside values, (n + 1, n + 1, n), exact for every span and not for the whole alone."""
    from unveil.grammar.kernels.dense import log_values
    from unveil.grammar.kernels.workspace import room

    packed, inside = layout.packed, np.full((len(words) + 1, len(words) + 1, len(layout.closed.null)), -np.inf)
    if len(words) and not log_values(packed, None, room(packed, len(words)), words, inside):
        return layout.charts_in_logs(words, ChartLimits(None), outside=False)[0].inside
    return inside
