"""Names from the data, made safe for figures.

Plotly renders some HTML in its labels (<b>, <a href>), fills in ``%{...}`` in hover texts and hands ``$...$`` to
MathJax. Column names come from files that strangers wrote, so each such character becomes an entity, which plotly
shows as the character itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import bidirectional

from unveil.sources.errors import one_line

ISOLATED = ("\u2068", "\u2069")  # around such names, so that what stands behind them in a sentence stays behind them
LONGEST_LABEL = 40  # characters of a name that a figure has room for
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "$": "&#36;", "{": "&#123;"})


def plain(name: Any, longest: int = LONGEST_LABEL) -> str:
    """`name` as printable text on one line, cut to a bearable length; not yet escaped.

    >>> plain("a\\u202eb\\n c" + "x" * 50, longest=10)
    'a b cxxxx…'
    """
    text = one_line(name, longest, end="…")
    if not any(map(_leftwards, text)):
        return text
    return one_line(name, longest - len(ISOLATED), end="…").join(ISOLATED)


def _leftwards(letter: str) -> bool:
    """Is it written from right to left?"""
    return bidirectional(letter) in ("R", "AL")


def label(name: Any, longest: int = LONGEST_LABEL) -> str:
    """`name` as text that plotly shows and does not interpret.

    >>> label("<b>100%</b>")
    '&lt;b&gt;100&#37;&lt;/b&gt;'
    """
    return plain(name, longest).translate(_ENTITIES)


def column_labels(names: Sequence[Any] | None, n_columns: int, longest: int = LONGEST_LABEL) -> list[str]:
    """One label for each column: its name, or its number where it has none."""
    if names is None:
        return [f"column {number + 1}" for number in range(n_columns)]
    if len(names) != n_columns:
        raise ValueError(f"names must hold {n_columns} names, one a column; got {len(names)}")
    return [label(name, longest) or f"column {number + 1}" for number, name in enumerate(names)]


def axis_label(number: int, share: float) -> str:
    """Title of an axis of the principal plane."""
    words = ("First", "Second", "Third")
    return f"{words[number]} direction ({share:.1%} of the variance)"
