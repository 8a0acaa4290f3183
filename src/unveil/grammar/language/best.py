"""The likeliest empty tree of each symbol and the likeliest chain between each two: the closure with max for sum.

Both are shortest ways when length is minus the log of a weight, never negative for weights up to 1. Empty trees are
found by Knuth's generalisation of Dijkstra's algorithm (Knuth, 1977), chains by Dijkstra's, run for all goals at once.
Symbols are settled from the likeliest down and point only at symbols settled before, so that ways never run in circles,
not even over rules of probability 1. Ties go to the symbol and the row that come first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.grammar.language.closure import UnarySteps, unary_steps
from unveil.grammar.language.normal_form import NormalForm, Numbers, Weights
from unveil.grammar.language.trees import Tree


class BestClosure(NamedTuple):
    """What charts of best trees read, and how to rebuild what they skipped. n symbols."""

    chain: Floats  # (n, n): log weight of the best chain from A down to B; 0 from A to A, -inf where none leads
    next: Numbers  # (n, n): the symbol after A on it, or -1
    step: Numbers  # (n, n): the best single step from A to B, a number into `steps`, or -1
    steps: UnarySteps  # their weights hold the best empty tree of the empty side
    null: Floats  # (n,): log weight of the best empty tree, or -inf
    null_arity: Numbers  # (n,): how many children the row at its root has, or -1
    null_row: Numbers  # (n,): that row


def best_closure(form: NormalForm, weights: Weights) -> BestClosure:
    """The best chains and empty trees at weights of at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.grammar import best_closure, normal_form, read_grammar
    >>> form = normal_form(grammar := read_grammar("S -> S [0.5] | 'a' [0.25] | [0.25]"))
    >>> best = best_closure(form, form.weights(grammar.probabilities))
    >>> np.exp(best.chain).tolist(), np.exp(best.null).tolist()
    ([[1.0]], [0.25])
    """
    if any(part.max(initial=0.0) > 1 for part in weights):
        raise ValueError("weights of the rules must be at most 1 for best trees to exist")
    null, arity, row = _best_null(form, weights)
    steps = unary_steps(form, weights, null)
    single, step = _best_steps(steps, form.n_symbols)
    chain, after = _best_chains(single)
    with np.errstate(divide="ignore"):
        return BestClosure(chain, after, step, steps, np.log(null), arity, row)


def best_nothing(form: NormalForm, best: BestClosure, symbol: int) -> Tree:
    """The likeliest empty tree of a symbol that has one: a tree of the normal form."""
    flat: list[Any] = []
    waiting = [symbol]
    while waiting:
        node = waiting.pop()
        n_children = int(best.null_arity[node])
        flat.append((form.symbols[node], n_children))
        if n_children:
            table = form.unary if n_children == 1 else form.binary
            waiting.extend(int(child) for child in table[best.null_row[node], :0:-1])
    return Tree.unflat(tuple(flat))


def best_chain(best: BestClosure, top: int, bottom: int) -> list[int]:
    """The steps of the likeliest chain that leads from `top` down to `bottom`, by their numbers."""
    taken, symbol = [], top
    while symbol != bottom:
        after = int(best.next[symbol, bottom])
        taken.append(int(best.step[symbol, after]))
        symbol = after
    return taken


def _best_null(form: NormalForm, weights: Weights) -> tuple[Floats, Numbers, Numbers]:
    """Weight of the best empty tree of each symbol, and the row at its root: symbols are settled from the best down."""
    n = form.n_symbols
    parents = np.concatenate((form.empty, form.unary[:, 0], form.binary[:, 0]))
    arity = np.repeat((0, 1, 2), (len(form.empty), len(form.unary), len(form.binary)))
    row = np.concatenate([np.arange(len(part)) for part in (form.empty, form.unary, form.binary)])
    null, settled, choice = np.zeros(n), np.zeros(n, dtype=bool), np.full(n, -1)
    while True:
        values = np.concatenate((
            weights.empty,
            weights.unary * null[form.unary[:, 1]],
            weights.binary * null[form.binary[:, 1]] * null[form.binary[:, 2]],
        ))  # fmt: skip
        values[settled[parents]] = 0.0
        best = int(np.argmax(values)) if len(values) else 0
        if not len(values) or values[best] == 0:
            break
        symbol = parents[best]
        null[symbol], settled[symbol], choice[symbol] = values[best], True, best
    rows = np.append(row, -1)[choice]
    return null, np.append(arity, -1)[choice].astype(np.int32), rows.astype(np.int32)


def _best_steps(steps: UnarySteps, n_symbols: int) -> tuple[Floats, Numbers]:
    """Log weight and number of the best single step between each two symbols."""
    single = np.full((n_symbols, n_symbols), -np.inf)
    number = np.full((n_symbols, n_symbols), -1, dtype=np.int32)
    for step, weight in enumerate(steps.weights):
        pair = steps.parents[step], steps.children[step]
        if number[pair] < 0 or weight > steps.weights[number[pair]]:
            number[pair], single[pair] = step, np.log(weight)
    return single, number


def _best_chains(single: Floats) -> tuple[Floats, Numbers]:
    """Best chains from every symbol (rows) to every goal (columns), and the symbol that comes next."""
    n = len(single)
    every = np.arange(n)
    chain = np.full((n, n), -np.inf)
    chain[every, every] = 0.0
    after, settled = np.full((n, n), -1, dtype=np.int32), np.zeros((n, n), dtype=bool)
    if not np.isfinite(single).any():
        return chain, after
    for _ in range(n):
        symbol = np.argmax(np.where(settled, -np.inf, chain), axis=0)  # for each goal, the best that is not settled
        settled[symbol, every] = True
        through = single[:, symbol] + chain[symbol, every]
        better = (through > chain) & ~settled
        chain[better] = through[better]
        after[better] = np.broadcast_to(symbol, (n, n))[better]
    return chain, after
