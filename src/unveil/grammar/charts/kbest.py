"""The k likeliest trees of a sentence, exactly and lazily (Huang & Chiang, 2005, algorithm 3).

For every span and every set of symbols that unary steps connect there is a list of the trees found so far, the
likeliest first, and a heap of what may come next: two parts joined by a rule, each some tree from the list of its span;
or a step over a tree found before. Taking the best off the heap puts its successors there, which ask other lists for
one tree more. A step never makes a tree likelier, so that trees come off in falling order, and those that lead through
a circle of unary rules, which are trees like any other, come when their turn is. Empty trees have a list like that,
too. No symbol of a span needs more than k trees, which bounds all lists.

A tree of the grammar is exactly one tree of the normal form, so that all k differ.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Indices, Integers
from unveil.grammar.charts.best import UNKNOWN_LEAF, BestCharts
from unveil.grammar.charts.layouts import BestLayout
from unveil.grammar.language.closure import LEFT_EMPTY, UNARY, UnarySteps
from unveil.grammar.language.normal_form import NormalForm, Weights
from unveil.grammar.language.trees import Tree


class RankedTree(NamedTuple):
    """A tree of the normal form."""

    score: float
    symbol: int
    children: tuple[Any, ...]  # RankedTree, or a word


def k_best_trees(layout: BestLayout, codes: ArrayLike, k: int) -> list[tuple[Tree, float]]:
    """The k likeliest trees of one sentence with their log-probabilities, likeliest first; fewer if it has fewer.

    Trees that differ in unary chains or in empty constituents alone are different trees.

    Examples
    --------
    >>> from unveil.grammar import normal_form, read_grammar
    >>> from unveil.grammar.charts.kbest import k_best_trees
    >>> from unveil.grammar.charts.layouts import BestLayout
    >>> form = normal_form(grammar := read_grammar("S -> S S [0.25] | S [0.25] | 'a' [0.5]"))
    >>> layout = BestLayout(form, form.weights(grammar.probabilities))
    >>> for tree, log_probability in k_best_trees(layout, [0, 0], 3):
    ...     print(tree, round(log_probability, 6))
    (S (S a) (S a)) -2.772589
    (S (S (S a)) (S a)) -4.158883
    (S (S a) (S (S a))) -4.158883
    """
    form, search = layout.form, _KBestSearch(layout, np.ascontiguousarray(codes, dtype=np.int64), int(k))
    return [(form.collapse(_tree(form, found)), found.score) for found in search.trees()]


class _KBestSearch:
    """All lists of a sentence."""

    def __init__(self, layout: BestLayout, codes: Integers, k: int) -> None:
        form = self.form = layout.form
        self.codes, self.k, self.steps = codes, k, layout.closure.steps
        self.bases, self.tops = BestCharts(layout, codes, [len(codes)]).dense()
        with np.errstate(divide="ignore"):
            self.logs = Weights(*(np.log(part) for part in layout.weights))
        self.rules = [np.flatnonzero(form.binary[:, 0] == symbol) for symbol in range(form.n_symbols)]
        self.sets = _sets(self.steps, form.n_symbols)
        self.above: list[list[int]] = [[] for _ in range(form.n_symbols)]
        for number, child in enumerate(self.steps.children.tolist()):
            self.above[child].append(number)
        self.nothing = _Nothing(self)
        self.spans: dict[tuple[int, int, int], _Span] = {}

    def trees(self) -> Iterator[RankedTree]:
        """The trees of the whole."""
        for rank in range(self.k):
            found = self.get(0, len(self.codes), self.form.start, rank)
            if found is None:
                return
            yield found

    def get(self, first: int, last: int, symbol: int, rank: int) -> RankedTree | None:
        """The tree of a symbol over a span that has so many before it."""
        if first == last:
            return self.nothing.get(symbol, rank)
        key = (first, last, self.sets[symbol])
        if key not in self.spans:
            self.spans[key] = _Span(self, first, last, self.sets[symbol])
        return self.spans[key].get(symbol, rank)


class _List:
    """Trees over the same words, from the likeliest down."""

    def __init__(self, search: _KBestSearch) -> None:
        self.search = search
        self.done: dict[int, list[RankedTree]] = {}
        self.heap: list[tuple[float, int, Any]] = []
        self.pushed = 0

    def push(self, score: float, item: Any) -> None:
        """Something that may come next; what was there before it wins ties."""
        if score > -np.inf:
            heapq.heappush(self.heap, (-score, self.pushed, item))
            self.pushed += 1

    def get(self, symbol: int, rank: int) -> RankedTree | None:
        """The tree of a symbol that has so many before it."""
        own = self.done.setdefault(symbol, [])
        while len(own) <= rank and self.heap:
            score, _, item = heapq.heappop(self.heap)
            found = self.settle(-score, item)
            others = self.done.setdefault(found.symbol, [])
            if len(others) < self.search.k:
                others.append(found)
                self.extend(found, len(others) - 1)
        return own[rank] if rank < len(own) else None

    def settle(self, score: float, item: Any) -> RankedTree:
        """The tree that an item of the heap stands for, if that is none itself; puts its successors on the heap."""
        assert isinstance(item, RankedTree)
        return item

    def extend(self, found: RankedTree, rank: int) -> None:
        """Put on the heap what can be made of a tree over the same words."""
        raise NotImplementedError


class _Parts(NamedTuple):
    """Two parts joined by a rule: which, where, and which tree of each."""

    rule: int
    split: int
    left: int
    right: int


class _Step(NamedTuple):
    """A step over a tree, and which empty tree it takes if it has an empty side."""

    number: int
    tree: RankedTree
    empty: int


class _Span(_List):
    """Trees of connected symbols over some words."""

    def __init__(self, search: _KBestSearch, first: int, last: int, group: int) -> None:
        super().__init__(search)
        self.first, self.last = first, last
        for symbol in np.flatnonzero(search.sets == group).tolist():
            if last == first + 1:
                self._push_word(symbol)
            else:
                self._push_parts(symbol)
        self.seen: set[_Parts] = set()

    def _push_word(self, symbol: int) -> None:
        search = self.search
        code = int(search.codes[self.first])
        word = search.form.words[code] if code >= 0 else UNKNOWN_LEAF
        value = float(search.bases[self.first, self.last, symbol])
        self.push(value, RankedTree(value, symbol, (word,)))

    def _push_parts(self, symbol: int) -> None:
        """The k likeliest ways to join two parts: each begins with the best tree of both."""
        search, middles = self.search, np.arange(self.first + 1, self.last)
        rules = search.rules[symbol]
        if not len(rules):
            return
        _, left, right = search.form.binary[rules].T
        sums = search.tops[self.first, middles][:, left] + search.tops[middles, self.last][:, right]
        scores = (search.logs.binary[rules] + sums).T.reshape(-1)
        for place in np.argsort(-scores, kind="stable")[: search.k].tolist():
            rule, split = int(rules[place // len(middles)]), int(middles[place % len(middles)])
            self.push(float(scores[place]), _Parts(rule, split, 0, 0))

    def settle(self, score: float, item: Any) -> RankedTree:
        """A word, two parts or a step."""
        if isinstance(item, RankedTree):
            return item
        if isinstance(item, _Step):
            return self._settle_step(score, item)
        parent, one, other = self.search.form.binary[item.rule].tolist()
        left = self.search.get(self.first, item.split, one, item.left)
        right = self.search.get(item.split, self.last, other, item.right)
        for after in (item._replace(left=item.left + 1), item._replace(right=item.right + 1)):
            self._push_after(after, one, other)
        return RankedTree(score, parent, (left, right))

    def _push_after(self, parts: _Parts, one: int, other: int) -> None:
        if parts in self.seen or max(parts.left, parts.right) >= self.search.k:
            return
        self.seen.add(parts)
        left = self.search.get(self.first, parts.split, one, parts.left)
        right = self.search.get(parts.split, self.last, other, parts.right)
        if left is not None and right is not None:
            self.push(float(self.search.logs.binary[parts.rule]) + left.score + right.score, parts)

    def extend(self, found: RankedTree, rank: int) -> None:
        """All steps that lead to a symbol."""
        for number in self.search.above[found.symbol]:
            self._push_step(_Step(number, found, 0))

    def _push_step(self, step: _Step) -> None:
        search, steps = self.search, self.search.steps
        row = steps.rows[step.number]
        if steps.kinds[step.number] == UNARY:
            self.push(float(search.logs.unary[row]) + step.tree.score, step)
        elif (empty := search.nothing.get(int(steps.empty[step.number]), step.empty)) is not None:
            self.push(float(search.logs.binary[row]) + step.tree.score + empty.score, step)

    def _settle_step(self, score: float, step: _Step) -> RankedTree:
        steps = self.search.steps
        parent, kind = int(steps.parents[step.number]), steps.kinds[step.number]
        if kind == UNARY:
            return RankedTree(score, parent, (step.tree,))
        empty = self.search.nothing.get(int(steps.empty[step.number]), step.empty)
        if step.empty + 1 < self.search.k:
            self._push_step(step._replace(empty=step.empty + 1))
        return RankedTree(score, parent, (empty, step.tree) if kind == LEFT_EMPTY else (step.tree, empty))


class _Nothing(_List):
    """Empty trees of all symbols."""

    def __init__(self, search: _KBestSearch) -> None:
        super().__init__(search)
        for symbol, value in zip(search.form.empty.tolist(), search.logs.empty.tolist(), strict=True):
            self.push(value, RankedTree(value, symbol, ()))

    def extend(self, found: RankedTree, rank: int) -> None:
        """All rules with this tree as a child, and any tree found up to now as the other."""
        form, logs = self.search.form, self.search.logs
        for row in np.flatnonzero(form.unary[:, 1] == found.symbol).tolist():
            score = float(logs.unary[row]) + found.score
            self.push(score, RankedTree(score, int(form.unary[row, 0]), (found,)))
        for row in np.flatnonzero((form.binary[:, 1:] == found.symbol).any(axis=1)).tolist():
            parent, left, right = form.binary[row].tolist()
            pairs = [(found, other) for other in self.done.get(right, [])] if left == found.symbol else []
            if right == found.symbol:  # not the pair with itself again
                pairs += [(other, found) for other in self.done.get(left, []) if left != right or other is not found]
            for one, other in pairs:
                score = float(logs.binary[row]) + one.score + other.score
                self.push(score, RankedTree(score, parent, (one, other)))


def _sets(steps: UnarySteps, n_symbols: int) -> Indices:
    """Number of the set of connected symbols that each symbol belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(steps.parents)), (steps.parents, steps.children)), shape=(n_symbols, n_symbols))
    return np.asarray(connected_components(edges, directed=False)[1])


def _tree(form: NormalForm, found: RankedTree) -> Tree:
    """The tree of the normal form; a loop, as trees may be deep."""
    flat: list[Any] = []
    waiting: list[Any] = [found]
    while waiting:
        node = waiting.pop()
        if isinstance(node, RankedTree):
            flat.append((form.symbols[node.symbol], len(node.children)))
            waiting.extend(reversed(node.children))
        else:
            flat.append(node)
    return Tree.unflat(tuple(flat))
