"""Rows by number, and numbers at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.sources import ArraySource, sample_rows, take
from unveil.sources.weighted import Weighted

ROWS = np.random.default_rng(1).standard_normal((60_000, 2)).astype(np.float32)


@given(st.lists(st.integers(0, 59_999), max_size=50))
def test_take_is_indexing(numbers: list[int]) -> None:
    for source in (ArraySource(ROWS), Weighted(ArraySource(ROWS), np.ones(len(ROWS)))):  # at once, and by partitions
        taken = take(source, numbers)
        assert taken.dtype == np.float32
        assert np.array_equal(taken, ROWS[np.array(numbers, dtype=int)])


def test_take_reads_no_more_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    read = ArraySource.read
    monkeypatch.setattr(
        ArraySource, "read", lambda self, partitions: (asked.extend(partitions), read(self, partitions))[1]
    )
    source = Weighted(ArraySource(ROWS), np.ones(len(ROWS)))  # an array by itself is not read at all
    assert np.array_equal(take(source, [59_999, 5, 4]), ROWS[[59_999, 5, 4]])
    assert asked == [0, 3]


@pytest.mark.parametrize(
    ("numbers", "error", "said"),
    [
        ([60_000], IndexError, "rows must be numbers from 0 to 59999, got 60000"),
        ([-1, 0], IndexError, "got -1 to 0"),
        ([0.5], ValueError, "rows must be a list of whole numbers, got float64"),
        ([[0]], ValueError, r"of shape \(1, 1\)"),
    ],
)
def test_take_checks_its_numbers(numbers: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        take(ArraySource(ROWS), numbers)


@given(st.integers(0, 200), st.floats(0, 1), st.integers(0, 2**32))
def test_a_sample_has_no_row_twice(n_rows: int, share: float, seed: int) -> None:
    size = int(share * n_rows)
    rows = sample_rows(n_rows, size, seed)
    assert rows.dtype == np.int64
    assert len(rows) == size
    assert np.all(np.diff(rows) > 0)
    assert size == 0 or (rows[0] >= 0 and rows[-1] < n_rows)
    assert np.array_equal(rows, sample_rows(n_rows, size, seed))


@pytest.mark.parametrize("size", [3, 9])
def test_a_sample_is_fair(size: int) -> None:
    """Each of 12 rows is in a sample of 3 or 9 as often as any other, within five standard deviations."""
    counts = np.zeros(12)
    for seed in range(4000):
        counts[sample_rows(12, size, seed)] += 1
    share = size / 12
    assert np.all(np.abs(counts - 4000 * share) < 5 * np.sqrt(4000 * share * (1 - share)))


def test_samples_differ_by_seed_and_fit_the_table() -> None:
    assert not np.array_equal(sample_rows(1000, 10, 0), sample_rows(1000, 10, 1))
    assert not np.array_equal(sample_rows(1000, 10, [0, 1]), sample_rows(1000, 10, [0, 2]))
    with pytest.raises(ValueError, match="size must be from 0 to the number of rows, 3, got 4"):
        sample_rows(3, 4, 0)
