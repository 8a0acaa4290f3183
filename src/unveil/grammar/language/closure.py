"""Unary chains and empty rules summed over exactly, so that charts need to know neither.

A step from A to B over the same words is a rule A -> B, or a rule A -> B C or A -> C B whose C makes nothing, with
probability null[C] (see `empty_rules.py`). With U[A, B] the total weight of such steps, chains of any length sum to

    closure = I + U + U U + ... = (I - U)^-1                                                       (Stolcke, 1995)

over the symbols that can make a word. Symbols that cannot, such as A with the only rule A -> A, have no tree over
words: their rows and columns are those of I. For probabilities that sum to 1 the sum always exists; for weights that do
not (powers of probabilities, say) it may be infinite, which is an error.

Charts count `chains[A, B]` = sum over spans of (outside of A) x (base of B), divided by the sentence's probability: the
weight of all trees in which a chain leads from A down to B. The expected uses of a step from B to C are then

    U[B, C] x (closure' chains closure')[B, C]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Mask
from unveil.grammar.language.empty_rules import empty_uses, makes_words, null_probabilities, reachability, solve
from unveil.grammar.language.normal_form import NormalForm, Numbers, Weights

UNARY, RIGHT_EMPTY, LEFT_EMPTY = 0, 1, 2  # kinds of steps


class Closed(NamedTuple):
    """What charts read, at some probabilities: numbers only. n symbols, m binary rows."""

    start: int
    parents: Numbers  # (m,)
    lefts: Numbers  # (m,)
    rights: Numbers  # (m,)
    weights: Floats  # (m,)
    closure: Floats  # (n, n)
    lexical: Floats  # (words, n): weight of parent -> word
    null: Floats  # (n,)


class UnarySteps(NamedTuple):
    """All ways from a symbol to another over the same words, one per entry."""

    parents: Numbers
    children: Numbers
    empty: Numbers  # the symbol that makes nothing, or -1
    kinds: Numbers  # UNARY, RIGHT_EMPTY or LEFT_EMPTY
    rows: Numbers  # of form.unary or form.binary
    weights: Floats  # of the rule, times that of the empty side


def close(form: NormalForm, weights: Weights) -> Closed:
    """Sum over unary chains and empty rules.

    Examples
    --------
    >>> from unveil.grammar import close, normal_form, read_grammar
    >>> form = normal_form(grammar := read_grammar("S -> S [0.5] | 'a' [0.25] | [0.25]"))
    >>> closed = close(form, form.weights(grammar.probabilities))
    >>> closed.closure.tolist(), closed.null.tolist()
    ([[2.0]], [0.5])
    """
    null = null_probabilities(form, weights)
    parents, lefts, rights = (np.ascontiguousarray(column) for column in form.binary.T)
    lexical = np.zeros((len(form.words), form.n_symbols))
    lexical[form.lexical[:, 1], form.lexical[:, 0]] = weights.lexical
    closure = _chains(unary_steps(form, weights, null), makes_words(form, weights, null > 0))
    return Closed(form.start, parents, lefts, rights, weights.binary, closure, lexical, null)


def rule_counts(
    form: NormalForm, weights: Weights, closed: Closed, binary: Floats, chains: Floats, lexical: Floats, empties: float
) -> Floats:
    """Expected uses of the grammar's rules, from what charts count: (n_rules,).

    Parameters
    ----------
    form, weights, closed
        The normal form, the weights of its rows and their closure.
    binary : array of shape (m,)
        Expected uses of binary rows with words on both sides.
    chains : array of shape (n, n)
        Sum over spans of outer(outside, base), divided by the sentence's probability.
    lexical : array of shape (words, n)
        Expected uses of parent -> word.
    empties : float
        How many empty sentences there were.
    """
    steps = unary_steps(form, weights, closed.null)
    around = closed.closure.T @ chains @ closed.closure.T
    uses = steps.weights * around[steps.parents, steps.children]
    sided = steps.kinds != UNARY
    begun = np.zeros(form.n_symbols)
    np.add.at(begun, steps.empty[sided], uses[sided])
    begun[closed.start] += empties
    empty = empty_uses(form, weights, closed.null, begun)
    all_binary, all_unary = binary + empty.binary, empty.unary.copy()
    np.add.at(all_binary, steps.rows[sided], uses[sided])
    np.add.at(all_unary, steps.rows[~sided], uses[~sided])
    return form.rule_totals(all_binary, all_unary, lexical[form.lexical[:, 1], form.lexical[:, 0]], empty.empty)


def unary_steps(form: NormalForm, weights: Weights, null: Floats) -> UnarySteps:
    """The steps of positive weight: unary rows, then binary rows whose right side is empty, then whose left is."""
    parent, left, right = form.binary.T
    unary = np.flatnonzero(weights.unary > 0)
    rights = np.flatnonzero(weights.binary * null[right] > 0)
    lefts = np.flatnonzero(weights.binary * null[left] > 0)
    columns = (
        (form.unary[unary, 0], parent[rights], parent[lefts]),
        (form.unary[unary, 1], left[rights], right[lefts]),
        (np.full(len(unary), -1), right[rights], left[lefts]),
        (np.full(len(unary), UNARY), np.full(len(rights), RIGHT_EMPTY), np.full(len(lefts), LEFT_EMPTY)),
        (unary, rights, lefts),
    )
    sided = weights.binary[rights] * null[right[rights]], weights.binary[lefts] * null[left[lefts]]
    parents, children, empty, kinds, rows = (np.concatenate(parts).astype(np.int32) for parts in columns)
    return UnarySteps(parents, children, empty, kinds, rows, np.concatenate((weights.unary[unary], *sided)))


def _chains(steps: UnarySteps, useful: Mask) -> Floats:
    """(I - U)^-1 over the symbols that make words, I elsewhere."""
    closure, total = np.eye(len(useful)), np.zeros((len(useful), len(useful)))
    if len(steps.weights):
        own = np.ix_(useful, useful)
        np.add.at(total, (steps.parents, steps.children), steps.weights)
        closure[own] = _geometric(total[own])
    return closure


def _geometric(matrix: Floats) -> Floats:
    """I + U + U U + ... of a non-negative matrix, exactly 0 where no chain leads; an error if it is infinite."""
    identity = np.eye(len(matrix))
    total = solve(identity - matrix, identity)
    # The inverse of I - U is non-negative just where the series converges (U is non-negative: an M-matrix).
    if not np.isfinite(total).all() or total.min(initial=0.0) < -1e-9 * np.abs(total).max(initial=1.0):
        raise ValueError(
            "weights of the rules must let the sum over unary chains exist; these have cycles of unary or empty "
            "rules of total weight 1 or more"
        )
    return np.where(reachability(matrix > 0), np.maximum(total, 0.0), 0.0)
