"""Trees of a grammar, as objects and as Penn brackets: (S (NP (DT the) (NN cat)) (VP (V slept))).

Every method walks with a list of its own rather than by recursion: a sentence of 5,000 words has trees that deep.
Brackets are read by `unveil.grammar.language.brackets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from unveil.grammar.language.rules import Nonterminal, Rule

BRACKET_NAMES = (("(", "-LRB-"), (")", "-RRB-"))


class Span(NamedTuple):
    """A run of words: the first, the one after the last, and the label of the constituent or None."""

    first: int
    last: int
    label: str | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Tree:
    """A node: its label and its children, which are trees or words (str). It may have no children.

    Examples
    --------
    >>> from unveil.grammar import Tree
    >>> tree = Tree("S", (Tree("NP", ("stars",)), Tree("VP", ("shine",))))
    >>> print(tree)
    (S (NP stars) (VP shine))
    >>> tree.leaves, tree.depth
    (('stars', 'shine'), 2)
    >>> tree.spans()[1]
    Span(first=0, last=1, label='NP')
    """

    label: str
    children: tuple[Tree | str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "children", tuple(self.children))

    def postorder(self) -> Iterator[Tree | str]:
        """All nodes and words, children before their parent, from left to right."""
        waiting: list[tuple[Tree | str, bool]] = [(self, False)]
        while waiting:
            node, entered = waiting.pop()
            if entered or isinstance(node, str):
                yield node
                continue
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.children))

    def preorder(self) -> Iterator[Tree | str]:
        """All nodes and words, parents before their children, from left to right."""
        waiting: list[Tree | str] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, Tree):
                waiting.extend(reversed(node.children))

    @property
    def leaves(self) -> tuple[str, ...]:
        """The words."""
        return tuple(node for node in self.preorder() if isinstance(node, str))

    @property
    def depth(self) -> int:
        """Nodes on the longest way from the root down; words are not counted."""
        depths: list[int] = []
        for node in self.postorder():
            if isinstance(node, str):
                depths.append(0)
                continue
            first = len(depths) - len(node.children)
            depths[first:] = [1 + max(depths[first:], default=0)]
        return depths[0]

    def rules(self) -> tuple[Rule, ...]:
        """The rules that made the tree, parents first, from left to right."""
        return tuple(
            Rule(Nonterminal(node.label), tuple(_symbol(child) for child in node.children))
            for node in self.preorder()
            if isinstance(node, Tree)
        )

    def spans(self) -> tuple[Span, ...]:
        """The words under each node, parents first, from left to right; an empty node has first = last."""
        spans: list[Span] = []
        waiting: list[Tree | str | int] = [self]
        position = 0
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                position += 1
            elif isinstance(node, int):  # the end of the node of that number
                spans[node] = spans[node]._replace(last=position)
            else:
                waiting.append(len(spans))
                spans.append(Span(position, position, node.label))
                waiting.extend(reversed(node.children))
        return tuple(spans)

    def __str__(self) -> str:
        return "".join(_pieces(self)).lstrip()

    def __repr__(self) -> str:
        return f"Tree({str(self)!r})"

    def pretty(self, width: int = 80, indent: int = 2) -> str:
        """Brackets over several lines: a node that does not fit in `width` puts each child on a line of its own."""
        lines: list[str] = []
        waiting: list[tuple[Tree | str, int, int]] = [(self, 0, 0)]
        lengths = _lengths(self, width)
        while waiting:
            node, level, closing = waiting.pop()
            margin = " " * (indent * level)
            if isinstance(node, str) or not node.children or lengths[id(node)] + len(margin) + closing <= width:
                lines.append(margin + (escape(node) if isinstance(node, str) else str(node)) + ")" * closing)
                continue
            lines.append(f"{margin}({node.label}")
            last = len(node.children) - 1
            ends = [closing + 1 if number == last else 0 for number in range(len(node.children))]
            waiting.extend(
                (child, level + 1, end) for child, end in reversed(list(zip(node.children, ends, strict=True)))
            )
        return "\n".join(lines)

    def flat(self) -> tuple[Any, ...]:
        """Nodes and words in preorder: (label, number of children) or a word. Equal for equal trees only."""
        return tuple(n if isinstance(n, str) else (n.label, len(n.children)) for n in self.preorder())

    @classmethod
    def unflat(cls, flat: tuple[Any, ...]) -> Tree:
        """The tree that `flat` tells of."""
        done: list[Tree | str] = []
        for node in reversed(flat):
            if isinstance(node, str):
                done.append(node)
                continue
            label, n_children = node
            children = tuple(reversed(done[len(done) - n_children :]))
            done[len(done) - n_children :] = [cls(label, children)]
        (root,) = done
        assert isinstance(root, Tree)
        return root

    def __eq__(self, other: object) -> bool:
        return self is other or (self.flat() == other.flat() if isinstance(other, Tree) else NotImplemented)

    def __hash__(self) -> int:
        return hash(self.flat())

    def __reduce__(self) -> tuple[Any, ...]:
        return Tree.unflat, (self.flat(),)


def escape(word: str) -> str:
    """A word as the treebank writes it: round brackets by name."""
    for bracket, name in BRACKET_NAMES:
        word = word.replace(bracket, name)
    return word


def _symbol(child: Tree | str) -> Nonterminal | str:
    """A child as a rule names it."""
    return child if isinstance(child, str) else Nonterminal(child.label)


def _pieces(tree: Tree) -> Iterator[str]:
    """The brackets of a tree, piece by piece."""
    waiting: list[Tree | str | None] = [tree]
    while waiting:
        node = waiting.pop()
        if node is None:
            yield ")"
        elif isinstance(node, str):
            yield " " + escape(node)
        else:
            yield f" ({node.label}"
            waiting.append(None)
            waiting.extend(reversed(node.children))


def _lengths(tree: Tree, width: int) -> dict[int, int]:
    """How long each node is on one line, by its identity."""
    lengths: dict[int, int] = {}
    stack: list[int] = []
    for node in tree.postorder():
        if isinstance(node, str):
            stack.append(len(escape(node)))
            continue
        first = len(stack) - len(node.children)
        lengths[id(node)] = 2 + len(node.label) + sum(1 + length for length in stack[first:])
        stack[first:] = [lengths[id(node)]]
    return lengths
