"""What is said of columns is what NumPy finds."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.tables import open_table
from unveil.tables import survey as room
from unveil.tables.survey import survey


def seen(cells):
    return survey(open_table({"x": cells}))[0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-50, 50), st.floats(-1e6, 1e6)), min_size=1, max_size=60))
def test_figures_of_numbers(cells):
    floats = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    there = floats[~np.isnan(floats)]
    found = survey(open_table({"x": floats}), frozenset({"x"}))[0]
    assert (found.n, found.missing) == (len(cells), len(cells) - len(there))
    if not len(there):
        return
    assert found.distinct == len(np.unique(there))
    assert (found.low, found.high) == (there.min(), there.max())
    assert found.mean == pytest.approx(there.mean())
    assert found.deviation == pytest.approx(there.std())
    assert found.quantiles == pytest.approx(np.quantile(there, room.SHARES), rel=1e-9, abs=1e-9)
    assert sum(found.histogram) == len(there)
    assert dict(found.top) == pd.Series(there).value_counts().to_dict()
    assert found.whole == bool(np.all(there == np.floor(there)))


def test_words_and_dates_and_truth():
    words = seen(["a b", "c", None, "c", " c "])
    assert (words.distinct, words.missing, words.top[0]) == (2, 1, ("c", 3))
    assert (words.length, words.tokens) == (1.5, 1.25)
    days = seen([dt.date(2020, 1, 2), None, dt.date(2020, 1, 1)])
    assert (days.first, days.last, days.distinct, days.falling) == ("2020-01-01", "2020-01-02", 2, 1.0)
    truth = seen([True, False, None, True])
    assert (truth.mean, truth.counts) == (2 / 3, {False: 1, True: 2})


def test_the_order_of_rows_is_seen():
    assert seen(np.arange(5, 50, 5)).step == 5
    assert seen([1, 2, 4]).step == 0
    assert seen([3, 2, 1, 2]).falling == pytest.approx(2 / 3)
    assert seen(np.random.default_rng(0).permutation(30) * 4).spacing == 4


def test_keys_beyond_what_floats_hold_stay_distinct():
    assert seen(2**60 + np.arange(100)).distinct == 100


def test_a_sample_of_a_large_table_is_sorted(monkeypatch):
    monkeypatch.setattr(room, "SORTED_ROWS", 100)
    cells = np.where(np.arange(1000) % 5 == 0, -999.0, np.random.default_rng(0).normal(size=1000))
    found = seen(cells)
    assert found.sentinels == ((-999.0, 200),)
    assert found.high == cells.max()
    assert 50 < sum(found.histogram) < 100


def test_the_most_frequent_are_listed_first_of_many():
    cells = np.repeat(np.arange(200), np.arange(200) + 1)
    found = seen(cells.astype(float))
    assert found.top[:2] == ((199, 200), (198, 199))
    assert len(found.top) == room.LISTED
    assert not found.listed
