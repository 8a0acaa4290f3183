"""What a page is made of: sections, and in them blocks of text, figures and tables. Plain data, escaped by the page.

A section is a title, a sentence that says what is to be seen, and blocks. Whoever writes a section knows no HTML;
whoever draws the page knows no analysis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unveil.certificate import Certificate

TONES = ("best", "alert", "good", "doubt", "bad", "quiet")


@dataclass(frozen=True)
class Text:
    """A paragraph. `quiet` is for what is worth knowing beside the point."""

    words: str
    quiet: bool = False


@dataclass(frozen=True)
class FigureBlock:
    """A Plotly figure (or a dict in its form) with its caption. `name` is its anchor; `alt` says what is to be seen."""

    name: str
    plot: Any
    alt: str
    caption: str


@dataclass(frozen=True)
class Head:
    """A column of a table of the page."""

    words: str
    numeric: bool = False
    gloss: str = ""  # what the word means, shown on demand


@dataclass(frozen=True)
class Cell:
    """A cell that is more than words."""

    words: str
    tone: str = ""  # one of TONES: how it is set off
    tag: str = ""  # a word in a small frame behind it
    bar: float | None = None  # a share from 0 to 1, drawn as a bar behind the words
    dot: int | None = None  # number of a group, whose colour stands before the words
    spark: Sequence[float] = ()  # heights of a small histogram, drawn in place of the words, which say it aloud


@dataclass(frozen=True)
class TableBlock:
    """A table; the first cell of a row names it. Wide and long ones scroll, and show `shown` rows until asked."""

    name: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell | str]]
    caption: str = ""
    shown: int = 30


@dataclass(frozen=True)
class Columns:
    """Blocks of one kind for each of many columns (densities, say), one of which is shown at a time, by a list."""

    name: str
    label: str  # what is chosen from the list: "Column"
    choices: Mapping[str, Sequence[Block]]


@dataclass(frozen=True)
class Replay:
    """EM step by step: a figure whose frames a slider and a button play, with the free energy beside it."""

    name: str
    plot: Any  # with `frames`, each of which holds the traces (and parts of the layout) that change
    alt: str
    caption: str
    steps: Sequence[str] = ()  # what frames are called; by default as the plot's meta or "step 3 of 40" has it


@dataclass(frozen=True)
class Verdicts:
    """Lights, and behind each question the findings with their remedies."""

    certificate: Certificate


@dataclass(frozen=True)
class Listing:
    """Text to copy: a command, a piece of Python."""

    words: str
    title: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks that are shown when asked for."""

    title: str
    blocks: Sequence[Block]


Block = Text | FigureBlock | TableBlock | Columns | Replay | Verdicts | Listing | Fold


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its title, the sentence before the first block, the blocks."""

    anchor: str
    title: str
    lead: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """All of it. `headline` is one sentence, `rests_on` what it rests on and what was left out, a sentence each."""

    title: str
    headline: str
    rests_on: Sequence[str]
    lights: Certificate
    sections: Sequence[Section]
    seed: int
    meta: Mapping[str, str] = field(default_factory=dict)  # for the footer: version, date
