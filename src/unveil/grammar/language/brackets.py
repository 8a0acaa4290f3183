"""Penn brackets read: whole trees, and sentences of which only some constituents are bracketed.

    (S (NP (DT the) (NN cat)) (VP (V slept)))          a tree: each bracket begins with its label
    ( (S (NP-SBJ (-NONE- *)) (VP (VB go))) )           the treebank's empty outer bracket and its empty elements
    (the cat) (saw (NP the dog))                       a sentence: brackets may have a label, or none

-LRB- and -RRB- within words stand for round brackets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from unveil.grammar.language.trees import BRACKET_NAMES, Span, Tree

BRACKET_TOKEN = re.compile(r"\(\s*([^\s()]*)|\)|[^\s()]+")  # a bracket that opens, with what follows it
TIGHT_BRACKET_TOKEN = re.compile(r"\(([^\s()]*)|\)|[^\s()]+")  # only what follows it at once
EMPTY_ELEMENT = "-NONE-"  # the treebank's label for what is not said


class Bracketed(NamedTuple):
    """The words of a sentence and what is known of its constituents."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]

    @classmethod
    def from_tree(cls, tree: Tree) -> Bracketed:
        """All constituents of a tree that hold a word."""
        return cls(tree.leaves, tuple(span for span in tree.spans() if span.first < span.last))


class _Open(NamedTuple):
    """A bracket that is not closed yet."""

    position: int
    label: str
    children: list[Tree | str]
    dropped: list[str]  # labels of empty elements left out


def read_trees(text: str, keep_empty: bool = False) -> tuple[Tree, ...]:
    """All trees of a text, one after the other.

    A bracket without a label stands for the one tree in it. Empty elements such as (-NONE- *) are left out with all
    nodes that hold nothing else; with `keep_empty` they become nodes without children, made by empty rules.

    Examples
    --------
    >>> from unveil.grammar import read_trees
    >>> (tree,) = read_trees("( (S (NP-SBJ (-NONE- *)) (VP (VB go) (-RRB- -RRB-))) )")
    >>> print(tree, tree.leaves)
    (S (VP (VB go) (-RRB- -RRB-))) ('go', ')')
    """
    text_itself = _Open(0, "", [], [])
    stack = [text_itself]
    for position, token, label in _tokens(text):
        if token == "(":
            stack.append(_Open(position, label, [], []))
        elif len(stack) == 1:
            raise ValueError(f"{_place(text, position)}: expected a bracket that opens, got {token!r}")
        elif token == ")":
            closed = stack.pop()
            _add(text, closed, stack[-1], keep_empty)
        else:
            stack[-1].children.append(unescape(token))
    if len(stack) > 1:
        raise ValueError(f"{_place(text, stack[-1].position)}: this bracket is never closed")
    return tuple(child for child in text_itself.children if isinstance(child, Tree))


def read_bracketed(text: str, labels: Collection[str] = ()) -> Bracketed:
    """A sentence with some constituents in brackets.

    A word right after an opening bracket is the label of the bracket if it is one of `labels`; after a space it is
    always a word. Empty elements such as (-NONE- *) are left out.

    Examples
    --------
    >>> from unveil.grammar import read_bracketed
    >>> sentence = read_bracketed("(the cat) saw (NP the dog)", labels={"NP"})
    >>> sentence.words
    ('the', 'cat', 'saw', 'the', 'dog')
    >>> sentence.spans
    (Span(first=0, last=2, label=None), Span(first=3, last=5, label='NP'))
    """
    names = {*labels, EMPTY_ELEMENT}
    words: list[str] = []
    spans: list[Span] = []
    open_brackets: list[tuple[int, int]] = []  # where in the text, and which span
    for position, token, label in _tokens(text, names):
        if token == "(":
            open_brackets.append((position, len(spans)))
            spans.append(Span(len(words), len(words), label or None))
        elif token != ")":
            words.append(unescape(token))
        elif not open_brackets:
            raise ValueError(f"{_place(text, position)}: this bracket was never opened")
        else:
            opened, number = open_brackets.pop()
            if spans[number].label == EMPTY_ELEMENT:
                del words[spans[number].first :]
            elif spans[number].first == len(words) and "(" not in text[opened + 1 : position]:
                raise ValueError(f"{_place(text, opened)}: expected words between brackets, got none")
            spans[number] = spans[number]._replace(last=len(words))
    if open_brackets:
        raise ValueError(f"{_place(text, open_brackets[-1][0])}: this bracket is never closed")
    return Bracketed(
        tuple(words), tuple(span for span in spans if span.first < span.last and span.label != EMPTY_ELEMENT)
    )


def unescape(word: str) -> str:
    """A word as it is said: round brackets instead of their names."""
    for bracket, name in BRACKET_NAMES:
        word = word.replace(name, bracket)
    return word


def _tokens(text: str, names: Collection[str] | None = None) -> Iterator[tuple[int, str, str]]:
    """Brackets and words with their positions; opening brackets with their label, or "".

    The label is the token after the bracket; with `names`, only one of these and without a space between.
    """
    for match in (BRACKET_TOKEN if names is None else TIGHT_BRACKET_TOKEN).finditer(text):
        position, label = match.start(), match[1]
        if label is None:
            yield position, match[0], ""
        elif names is None or label in names:
            yield position, "(", label
        else:
            yield position, "(", ""
            if label:
                yield position + 1, label, ""


def _add(text: str, closed: _Open, parent: _Open, keep_empty: bool) -> None:
    """Put the node of a bracket that was just closed under its parent, unless it is left out.

    A root is never left out: it is under no bracket, or under one without a label.
    """
    label, children = closed.label, () if closed.label == EMPTY_ELEMENT else tuple(closed.children)
    if parent.label and not keep_empty and not children and (label == EMPTY_ELEMENT or closed.dropped):
        parent.dropped.append(label)
    elif label:
        parent.children.append(Tree(label, children))
    elif len(children) == 1 and isinstance(children[0], Tree):
        parent.children.append(children[0])
    else:
        raise ValueError(f"{_place(text, closed.position)}: expected a label after the bracket, or one tree inside")


def _place(text: str, position: int) -> str:
    """Line and column of a position."""
    before = text[:position]
    return f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))}"
