"""Patterns of missing cells: every row once, in the pattern that it shows."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from unveil.numerics.missing_patterns import Patterns, find_patterns, has_missing


def table(seed: int, n_rows: int, n_columns: int, share: float) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.where(random.random((n_rows, n_columns)) < share, np.nan, random.normal(size=(n_rows, n_columns)))


def check(rows: np.ndarray, patterns: Patterns) -> None:
    assert sorted(patterns.order) == list(range(len(rows)))
    assert patterns.order.dtype == patterns.bounds.dtype == np.intp
    assert len({line.tobytes() for line in patterns.present}) == len(patterns.present)
    for there, first, last in zip(patterns.present, patterns.bounds[:-1], patterns.bounds[1:], strict=True):
        numbers = patterns.order[first:last]
        assert len(numbers) > 0
        assert np.all(np.diff(numbers) > 0)
        assert np.array_equal(~np.isnan(rows[numbers]), np.tile(there, (len(numbers), 1)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 60), st.integers(1, 7), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_rows_are_grouped_by_what_is_there(seed: int, n_rows: int, n_columns: int, share: float) -> None:
    rows = table(seed, n_rows, n_columns, share)
    check(rows, find_patterns(rows))


@pytest.mark.parametrize("n_columns", [63, 64, 65, 130])
def test_as_many_columns_as_there_are(n_columns: int) -> None:
    rows = table(1, 50, n_columns, 0.02)
    rows[:, 0], rows[:20] = 1.0, rows[20:40]
    check(rows, find_patterns(rows))
    assert len(find_patterns(rows).present) <= 30


def test_columns_that_are_missing_come_first() -> None:
    patterns = find_patterns(table(2, 40, 5, 0.4))
    for there, columns, missing in zip(patterns.present, patterns.columns, patterns.missing, strict=True):
        assert np.array_equal(columns[:missing], np.flatnonzero(~there))
        assert np.array_equal(columns[missing:], np.flatnonzero(there))


def test_iterates_over_columns_and_rows() -> None:
    rows = np.array([[1.0, np.nan], [1.0, 2.0], [3.0, np.nan], [np.nan, np.nan]])
    found = {None if columns is None else tuple(columns): tuple(numbers) for columns, numbers in find_patterns(rows)}
    assert found == {None: (1,), (0,): (0, 2), (): (3,)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinity_is_not_missing(dtype: type) -> None:
    rows = np.array([[np.inf, 1.0], [-np.inf, 2.0]], dtype)
    assert not has_missing(rows)
    rows[0, 1] = np.nan
    assert has_missing(rows)


def test_no_rows_have_no_patterns() -> None:
    patterns = find_patterns(np.empty((0, 3)))
    assert list(patterns) == []
    assert patterns.bounds.tolist() == [0]
