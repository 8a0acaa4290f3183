"""From choices of rows to trees of the normal form: empty trees, and chains of steps over a given subtree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from unveil.grammar.language.closure import LEFT_SILENT, UNARY, Steps
from unveil.grammar.language.normal_form import NormalForm
from unveil.grammar.language.trees import Tree


class Choice(NamedTuple):
    """A row of one of the tables of a normal form, by how many children it has: 0, 1 or 2."""

    n_children: int
    row: int


def grow(form: NormalForm, symbol: int, choose: Callable[[int], Choice]) -> Tree:
    """The empty tree of a symbol whose nodes use the rows that `choose` picks for them, parents first."""
    flat: list[Any] = []
    waiting = [symbol]
    while waiting:
        node = waiting.pop()
        n_children, row = choose(node)
        flat.append((form.symbols[node], n_children))
        if n_children:
            table = form.unary if n_children == 1 else form.binary
            waiting.extend(int(child) for child in table[row, :0:-1])
    return Tree.unflat(tuple(flat))


def wrap(form: NormalForm, steps: Steps, taken: Iterable[int], tree: Tree, silent: Callable[[int], Tree]) -> Tree:
    """A tree under a chain of steps, given by their numbers from the top down; `silent` makes empty trees."""
    taken = list(taken)
    sides = [silent(int(steps.silent[step])) if steps.kinds[step] != UNARY else None for step in taken]
    for step, side in zip(reversed(taken), reversed(sides), strict=True):
        label = form.symbols[steps.parents[step]]
        if side is None:
            tree = Tree(label, (tree,))
        else:
            tree = Tree(label, (side, tree) if steps.kinds[step] == LEFT_SILENT else (tree, side))
    return tree
