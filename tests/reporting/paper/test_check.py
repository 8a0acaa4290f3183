from dataclasses import replace

import pytest

from tests.reporting.paper.rich_page import CERTIFICATE
from unveil.reporting.paper.check import all_blocks, checked
from unveil.reporting.parts import Cell, Columns, Fold, Head, Page, Section, TableBlock, Text

EMPTY = Page("t", "Nothing.", [], CERTIFICATE, [], 0)


def with_blocks(*blocks):
    return replace(EMPTY, sections=[Section("only", "Only", "", blocks)])


def test_blocks_inside_others_are_found():
    inner = Text("a")
    page = with_blocks(Fold("f", [Columns("c", "Column", {"x": [inner]})]))
    assert list(all_blocks(page))[-1] is inner
    assert checked(page) is page


@pytest.mark.parametrize("name", ["", "A", "1a", "a b", 'a"b', "main", "verdict-real", "h-only"])
def test_anchors_that_are_none_are_named(name):
    with pytest.raises(ValueError, match="anchor"):
        checked(with_blocks(TableBlock(name, [], [])))


def test_an_anchor_twice():
    with pytest.raises(ValueError, match="'t' again"):
        checked(with_blocks(TableBlock("t", [], []), Fold("f", [TableBlock("t", [], [])])))


def test_tables_that_are_none():
    with pytest.raises(ValueError, match=r"table 't' must have 1 cells; got 2"):
        checked(with_blocks(TableBlock("t", [Head("a")], [["1", "2"]])))
    with pytest.raises(ValueError, match=r"tone .* must be one of best, .*; got 'loud'"):
        checked(with_blocks(TableBlock("t", [Head("a")], [[Cell("1", tone="loud")]])))
    with pytest.raises(ValueError, match="choices of 'c' must be at least one"):
        checked(with_blocks(Columns("c", "Column", {})))
