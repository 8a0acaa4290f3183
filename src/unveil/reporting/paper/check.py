"""What a page must keep to before it is drawn: anchors that can stand in an address and are not taken twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from unveil.certificate.certificate import QUESTIONS
from unveil.reporting.parts import TONES, Block, Cell, Columns, FigureBlock, Fold, Page, Replay, TableBlock

_ANCHOR = re.compile(r"[a-z][a-z0-9-]*")
_TAKEN = frozenset(
    {"main", "contents", "lights", "tip", "library", "figures", *(f"verdict-{name}" for name in QUESTIONS)}
)
"""By the page itself, besides what it makes of anchors."""


def checked(page: Page) -> Page:
    """The page, if its anchors are in order and its tables are tables; an error that names what is wrong otherwise."""
    taken = set(_TAKEN)
    for anchor, made in _anchors(page):
        if not _ANCHOR.fullmatch(anchor):
            raise ValueError(f"an anchor must be small letters, digits and hyphens; got {anchor!r}")
        if taken & {anchor, made}:
            raise ValueError(f"anchors must differ from each other and from the page's own; got {anchor!r} again")
        taken |= {anchor, made}
    for block in all_blocks(page):
        if isinstance(block, TableBlock):
            _check_table(block)
        if isinstance(block, Columns) and not block.choices:
            raise ValueError(f"choices of {block.name!r} must be at least one; got none")
    return page


def all_blocks(page: Page) -> Iterator[Block]:
    """Every block of a page, those inside others too."""
    for section in page.sections:
        yield from _within(section.blocks)


def _within(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from _within(block.blocks)
        if isinstance(block, Columns):
            for choice in block.choices.values():
                yield from _within(choice)


def _anchors(page: Page) -> Iterator[tuple[str, str]]:
    """Each anchor, and the one that the page makes of it."""
    yield from ((section.anchor, f"h-{section.anchor}") for section in page.sections)
    for block in all_blocks(page):
        if isinstance(block, FigureBlock | Replay):
            yield block.name, f"plot-{block.name}"
        if isinstance(block, TableBlock | Columns):
            yield block.name, f"caption-{block.name}"


def _check_table(table: TableBlock) -> None:
    for row in table.rows:
        if len(row) != len(table.heads):
            raise ValueError(f"rows of table {table.name!r} must have {len(table.heads)} cells; got {len(row)}")
        for cell in row:
            if isinstance(cell, Cell) and cell.tone and cell.tone not in TONES:
                raise ValueError(f"tone of a cell must be one of {', '.join(TONES)}; got {cell.tone!r}")
