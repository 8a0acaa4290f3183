"""Rows as the steps of sequences: partitions never part one, wherever the rows are kept."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import unveil
from unveil.core.partition import bounds_of, count_of, rows_of, runs_of
from unveil.sources import ArraySource, Sequences, with_weights


def table(n_rows: int) -> np.ndarray:
    return np.random.default_rng(n_rows).normal(size=(n_rows, 2))


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.integers(1, 90))
def test_partitions_are_whole_sequences_and_cover_every_row_once(lengths: list[int], enough: int) -> None:
    rows, weights = table(sum(lengths)), np.arange(sum(lengths), dtype=float)
    shares = np.arange(len(lengths), dtype=float)
    marks = [str(n) for n in range(len(lengths))]
    source = Sequences(ArraySource(rows, weights), lengths, shares, marks, enough)
    blocks = list(source.read())
    assert [block.index for block in blocks] == list(range(count_of(source)))
    assert [int(n) for block in blocks for n in block.lengths] == lengths
    assert [mark for block in blocks for mark in block.marks] == marks
    np.testing.assert_array_equal(np.concatenate([block.rows for block in blocks]), rows)
    np.testing.assert_array_equal(np.concatenate([block.sequence_weights for block in blocks]), shares)
    kept = [block.weights for block in blocks if block.weights is not None]
    np.testing.assert_array_equal(np.concatenate([[], *kept]), weights)
    for block in blocks:
        assert (block.start, block.start + len(block.rows)) == bounds_of(source, block.index)
        assert len(block.rows) == block.lengths.sum()
    assert all(len(block.rows) >= enough for block in blocks[:-1])


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.integers(1, 90), st.integers(1, 300))
def test_runs_have_enough_rows_and_cover_every_partition(lengths: list[int], enough: int, least: int) -> None:
    source = Sequences(ArraySource(table(sum(lengths))), lengths, enough=enough)
    runs = list(runs_of(source, least))
    assert [index for run in runs for index in run] == list(range(count_of(source)))
    assert all(rows_of(source, run) >= least for run in runs[:-1])
    assert all(rows_of(source, run[:-1]) < least for run in runs)
    assert all(one.stop == other.start for one, other in pairwise(runs))


def test_any_storage_is_cut_at_the_same_rows(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(1000, 1024))  # so wide that the storage has partitions of 256 rows
    np.save(tmp_path / "rows.npy", rows)
    lengths = [1, 256, 130, 5, 64, 244, 300]
    plain = list(Sequences(ArraySource(rows), lengths).read())
    scanned = Sequences(unveil.scan(tmp_path / "rows.npy"), lengths)
    for one, other in zip(plain, scanned.read(), strict=True):
        assert one.rows.tobytes() == other.rows.tobytes()
        assert one.lengths.tolist() == other.lengths.tolist()
    (last,) = scanned.read([len(plain) - 1])
    assert last.rows.tobytes() == plain[-1].rows.tobytes()


def test_weights_laid_over_rows_come_along() -> None:
    weights = np.linspace(0.0, 1.0, 10)
    source = Sequences(with_weights(ArraySource(table(10)), weights), [4, 6], enough=1)
    np.testing.assert_array_equal(np.concatenate([block.weights for block in source.read()]), weights)


def test_what_lies_over_them_keeps_their_cuts() -> None:
    source = with_weights(Sequences(ArraySource(table(10)), [4, 6], enough=1), np.arange(10.0))
    assert [bounds_of(source, index) for index in range(count_of(source))] == [(0, 4), (4, 10)]
    np.testing.assert_array_equal([block.weights[0] for block in source.read()], [0.0, 4.0])


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([3, 3], "sum to the number of rows, 10, got a sum of 6"),
        ([5, -1, 6], "integers from 0 on"),
        ([5.5, 4.5], "integers from 0 on"),
        ([], "one for each sequence"),
        (10, "one for each sequence"),
        (["a"], "integers from 0 on"),
    ],
)
def test_lengths_that_cannot_be(lengths: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Sequences(ArraySource(table(10)), lengths)  # type: ignore[arg-type]


def test_weights_of_sequences_are_checked() -> None:
    with pytest.raises(ValueError, match=r"sequence_weight must have shape \(2,\), one weight a sequence"):
        Sequences(ArraySource(table(10)), [4, 6], [1.0])
    with pytest.raises(ValueError, match="in sequence 1"):
        Sequences(ArraySource(table(10)), [4, 6], [1.0, -1.0])


def test_partitions_that_are_not_there() -> None:
    with pytest.raises(IndexError, match="from 0 to 0, got 5 to 5"):
        list(Sequences(ArraySource(table(10)), [10]).read([5]))


@pytest.mark.parametrize("n_rows", [1, 5, 20_000])
def test_without_lengths_all_rows_are_one_sequence(n_rows: int) -> None:
    alone, said = (Sequences(ArraySource(table(n_rows)), lengths) for lengths in (None, [n_rows]))
    assert alone.in_one_piece
    assert count_of(alone) == count_of(said) == 1
    np.testing.assert_array_equal(alone.cuts, said.cuts)
    for one, other in zip(alone.read(), said.read(), strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.lengths, other.lengths)
