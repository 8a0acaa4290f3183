"""Sections as plain data: what a table and a time series are told in."""

import numpy as np
import pandas as pd
import pytest

from tests.reporting.study.made import analysed, blobs, visits
from unveil.reporting.parts import Cell, FigureBlock, TableBlock, Text
from unveil.reporting.sections.common import sentence
from unveil.reporting.sections.data import data
from unveil.reporting.sections.groups import groups
from unveil.reporting.sections.outliers import _odds
from unveil.reporting.sections.time import time
from unveil.reporting.sections.together import together


@pytest.fixture(scope="module")
def study():
    """Two regimes over time, and a column that is taken by its log."""
    random = np.random.default_rng(1)
    high = (np.arange(200) // 50) % 2 == 1
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=200)})
    frame["load"] = np.where(high, 60, 30) + random.normal(0, 3, 200)
    frame["Wind"] = np.exp(random.normal(0, 1.2, 200) + 3.0 * high)
    return analysed(frame, time="day", max_components=2)


def words_of(cell):
    return cell.words if isinstance(cell, Cell) else cell


def columns_of(study):
    """The table of columns, a list of words for each."""
    table = next(block for block in data(study).blocks if isinstance(block, TableBlock))
    assert all(len(row) == len(table.heads) for row in table.rows)
    return {words_of(row[0]): [words_of(cell) for cell in row] for row in table.rows}


def test_columns_are_told_in_their_own_words(study):
    rows = columns_of(study)
    assert rows["day"][4:9] == ["2024-01-01", "", "2024-04-09", "", "2024-07-18"]
    rows = columns_of(analysed(visits()[0], max_components=1))
    assert rows["visit_id"][3:9] == ["V-00108, V-00010, V-00176\N{HORIZONTAL ELLIPSIS}", "", "", "", "", ""]
    assert rows["member"][3] == "yes (164), no (136)"


def test_series_are_drawn_in_the_units_of_the_table(study):
    section = time(study)
    plot = next(block.plot for block in section.blocks if isinstance(block, FigureBlock))
    wind = next(trace for trace in plot.data if trace.name == "Wind")
    assert min(wind.y) > 0  # though the model may have taken its log
    stays = next(block.words for block in section.blocks if isinstance(block, Text))
    assert stays.startswith("Regime 1 holds ")
    assert "steps at a time; regime 2" in stays


def test_tables_of_groups_have_a_cell_for_each_head():
    for apart in (0.0, 9.0):
        table = groups(analysed(blobs(apart=apart), max_components=2)).blocks[0]
        assert {len(row) for row in table.rows} == {len(table.heads)}


def test_two_columns_need_no_map():
    section = together(analysed(blobs(), max_components=1))
    assert section.lead.startswith("Two columns go together strongly: x0 and x1 (+0.9")
    assert not any(isinstance(block, FigureBlock) for block in section.blocks)


def test_names_keep_their_capital_letters():
    assert sentence("component 1 and Group A") == "Component 1 and Group A"
    assert _odds(np.log10(4_222_837)) == "1 in 4,200,000"
