"""Empty trees: with what probability a symbol makes no word at all, and what rules it then uses.

The probability that A makes the empty string is the least solution of (Stolcke, 1995)

    null[A] = weight(A -> nothing) + sum weight(A -> B) null[B] + sum weight(A -> B C) null[B] null[C]

found by Newton's method from 0, which climbs to it without ever passing it (Etessami and Yannakakis, 2009), one
strongly connected set of symbols after another.

If M[A, B] is the expected number of B among the children of an A that makes nothing, and `begun` empty trees start at
each symbol, they have begun + M' begun + M' M' begun + ... nodes in all (a branching process); a node A uses each of
its rules in proportion to the rule's share of null[A].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats, Mask
from unveil.grammar.language.normal_form import NormalForm, Weights

MOST_NEWTON_STEPS = 200  # a double root halves its distance per step: 60 steps use up all digits
CRITICAL_MARGIN = 1e-9  # spectral radii this close to 1 count as 1
EXTINCTION_CHANCE = 1e-9  # that a child is missing, by which empty trees of infinite expected size are counted


class EmptyUses(NamedTuple):
    """Expected uses of rows within empty trees."""

    binary: Floats
    unary: Floats
    empty: Floats


def null_probabilities(form: NormalForm, weights: Weights) -> Floats:
    """The probability that each symbol makes the empty string: exactly 0 where none of its trees is empty."""
    null = np.zeros(form.n_symbols)
    nullable = _nullable(form, weights)
    if not nullable.any():
        return null
    reach = reachability(_slopes(form, weights, nullable.astype(np.float64)) > 0)
    sizes = reach.sum(axis=1)  # a symbol that leads to another set reaches more than that set does
    left, wordless = nullable.copy(), ~makes_words(form, weights, nullable)
    for symbol in np.argsort(sizes, kind="stable"):
        if left[symbol]:
            together = np.flatnonzero(reach[symbol] & reach[:, symbol] & nullable)
            left[together] = False
            surely = bool(wordless[symbol]) and _is_one(form, weights, null, together)
            null[together] = 1.0 if surely else _least(form, weights, null, together)
    return null


def makes_words(form: NormalForm, weights: Weights, nullable: Mask) -> Mask:
    """Which symbols make some string of at least one word."""
    makes = np.zeros(form.n_symbols, dtype=bool)
    makes[form.lexical[weights.lexical > 0, 0]] = True
    unary, (parent, left, right) = form.unary[weights.unary > 0], form.binary[weights.binary > 0].T
    while True:
        before, able = makes.copy(), makes | nullable
        makes[unary[makes[unary[:, 1]], 0]] = True
        makes[parent[(makes[left] & able[right]) | (able[left] & makes[right])]] = True
        if np.array_equal(before, makes):
            return makes


def empty_uses(form: NormalForm, weights: Weights, null: Floats, begun: Floats) -> EmptyUses:
    """Expected uses of the rows in empty trees, of which `begun` (n,) start at each symbol.

    Where empty trees have infinite expected size (a symbol that makes nothing but the empty string, and on average one
    of itself) the counts of their rules are infinite too; large numbers in the right proportion stand for them.
    """
    parent, left, right = form.binary.T
    each = np.divide(1.0, null, out=np.zeros_like(null), where=null > 0)
    binary = weights.binary * null[left] * null[right] * each[parent]  # probability that an empty parent uses the row
    unary = weights.unary * null[form.unary[:, 1]] * each[form.unary[:, 0]]
    empty = weights.empty * each[form.empty]
    children = np.zeros((len(null), len(null)))
    np.add.at(children, (parent, left), binary)
    np.add.at(children, (parent, right), binary)
    np.add.at(children, (form.unary[:, 0], form.unary[:, 1]), unary)
    nodes = _progeny(children, np.where(null > 0, begun, 0.0))
    return EmptyUses(binary * nodes[parent], unary * nodes[form.unary[:, 0]], empty * nodes[form.empty])


def _progeny(children: Floats, begun: Floats) -> Floats:
    """How many nodes of each symbol a branching process has in all."""
    if not begun.any():
        return begun
    if spectral_radius(children) > 1 - EXTINCTION_CHANCE:
        children = children * (1 - EXTINCTION_CHANCE)
    return np.maximum(solve(np.eye(len(begun)) - children.T, begun), 0.0)


def solve(matrix: Floats, right: Floats) -> Floats:
    """A linear system; infinities where the matrix is singular."""
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.full_like(right, np.inf)


def spectral_radius(matrix: Floats) -> float:
    """The largest size of an eigenvalue."""
    return float(np.abs(np.linalg.eigvals(matrix)).max(initial=0.0))


def reachability(edges: Mask) -> Mask:
    """Which nodes lead to which, by any number of edges (none included), by repeated squaring."""
    reach = edges | np.eye(len(edges), dtype=bool)
    while True:
        further = reach.astype(np.float32) @ reach.astype(np.float32) > 0
        if np.array_equal(further, reach):
            return reach
        reach = further


def _nullable(form: NormalForm, weights: Weights) -> Mask:
    """Which symbols have an empty tree of positive weight."""
    able = np.zeros(form.n_symbols, dtype=bool)
    able[form.empty[weights.empty > 0]] = True
    unary, binary = form.unary[weights.unary > 0], form.binary[weights.binary > 0]
    while able.any():
        before = able.copy()
        able[unary[able[unary[:, 1]], 0]] = True
        able[binary[able[binary[:, 1]] & able[binary[:, 2]], 0]] = True
        if np.array_equal(before, able):
            break
    return able


def _values(form: NormalForm, weights: Weights, null: Floats) -> Floats:
    """The right-hand side of the equations of `null`."""
    parent, left, right = form.binary.T
    values = np.zeros(form.n_symbols)
    np.add.at(values, form.empty, weights.empty)
    np.add.at(values, form.unary[:, 0], weights.unary * null[form.unary[:, 1]])
    np.add.at(values, parent, weights.binary * null[left] * null[right])
    return values


def _slopes(form: NormalForm, weights: Weights, null: Floats) -> Floats:
    """Their derivatives: [A, B] is that of A's right-hand side by null[B]."""
    parent, left, right = form.binary.T
    slopes = np.zeros((form.n_symbols, form.n_symbols))
    np.add.at(slopes, (form.unary[:, 0], form.unary[:, 1]), weights.unary)
    np.add.at(slopes, (parent, left), weights.binary * null[right])
    np.add.at(slopes, (parent, right), weights.binary * null[left])
    return slopes


def _least(form: NormalForm, weights: Weights, null: Floats, together: NDArray[np.intp]) -> Floats:
    """The least solution for symbols that lead to each other, those that they lead to being known."""
    own, identity, current, last = np.ix_(together, together), np.eye(len(together)), null.copy(), np.inf
    for _ in range(MOST_NEWTON_STEPS):
        rest = _values(form, weights, current)[together] - current[together]
        change = solve(identity - _slopes(form, weights, current)[own], rest)
        # Newton climbs; a step down is rounding at the top, or there is no top (weights that sum to more than 1).
        if not np.isfinite(change).all() or np.any(change < -1e-6 * (1 + current[together])):
            raise ValueError("weights of the rules must let the sum over empty trees exist; these make it infinite")
        current[together] += np.maximum(change, 0.0)
        relative = float(np.max(change / np.maximum(current[together], 1e-300)))
        if relative <= 4e-16 or (relative < 1e-7 and relative > 0.9 * last):  # what is left is rounding
            break
        last = relative
    return current[together]


def _is_one(form: NormalForm, weights: Weights, null: Floats, together: NDArray[np.intp]) -> bool:
    """Whether symbols that make no word do end.

    This is the one place where, with weights that sum to 1, Newton's root may be double and lose half its digits.
    """
    ones = null.copy()
    ones[together] = 1.0
    if np.any(np.abs(_values(form, weights, ones)[together] - 1) > 1e-12):
        return False
    return spectral_radius(_slopes(form, weights, ones)[np.ix_(together, together)]) <= 1 + CRITICAL_MARGIN
