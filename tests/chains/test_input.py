"""What users hand in as sequences."""

from __future__ import annotations

import dask.array
import numpy as np
import pandas
import polars
import pytest

from unveil.chains.input import as_sequences, handed, joined_weights, lengths_of, rows_of
from unveil.sources.array import ArraySource

ROWS = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    "X",
    [
        [ROWS[:2], ROWS[2:]],
        (ROWS[:2], ROWS[2:]),
        [ROWS[:2].tolist(), ROWS[2:].tolist()],
        [pandas.DataFrame(ROWS[:2], columns=["a", "b"]), pandas.DataFrame(ROWS[2:], columns=["a", "b"])],
        [polars.DataFrame(ROWS[:2], schema=["a", "b"]), polars.DataFrame(ROWS[2:], schema=["a", "b"])],
        [dask.array.from_array(ROWS[:2]), dask.array.from_array(ROWS[2:])],
    ],
    ids=["list", "tuple", "lists", "pandas", "polars", "dask"],
)
def test_a_list_of_tables_is_a_list_of_sequences(X):
    table, lengths = handed(X)
    np.testing.assert_array_equal(np.asarray(table), ROWS)
    assert lengths.tolist() == [2, 4]


def test_names_of_columns_survive():
    table, _ = handed([pandas.DataFrame({"a": [1.0]}), pandas.DataFrame({"a": [2.0, 3.0]})])
    assert list(table.columns) == ["a"]


def test_a_sequence_of_one_dimension_is_one_column():
    table, lengths = handed([np.array([1.0, 2.0, 3.0]), np.array([4.0])])
    assert table.tolist() == [[1.0], [2.0], [3.0], [4.0]]
    assert lengths.tolist() == [3, 1]


def test_words_stay_whole():
    table, lengths = handed([np.array(["a", "bb"]), np.array(["longer"])])
    assert table.ravel().tolist() == ["a", "bb", "longer"]
    table, _ = handed([[["a", 1]], [["b", 2], ["c", None]]])
    assert table.tolist() == [["a", 1], ["b", 2], ["c", None]]
    assert lengths.tolist() == [2, 1]


@pytest.mark.parametrize("X", [ROWS, ROWS.tolist(), [["a"], ["b"]], [(1, 2), (3, 4)], []])
def test_a_table_is_a_table(X):
    assert handed(X).table is X
    assert handed(X).lengths is None


def test_sequences_of_different_widths_are_refused():
    with pytest.raises(ValueError, match="sequence 0 has 2 and sequence 1 has 1"):
        handed([ROWS, ROWS[:, :1]])
    with pytest.raises(ValueError, match="rows of different lengths"):
        handed([[1, 2, 3], [1, 2]])
    with pytest.raises(ValueError, match="sequence 1 in X must have rows of one length"):
        handed([[[1.0], [2.0]], [[1.0], [2.0, 3.0]]])


# -- lengths -----------------------------------------------------------------------------------------------------------


def test_lengths_in_second_place():
    assert lengths_of([2, 4], None, 6).tolist() == [2, 4]
    assert lengths_of(None, None, 6) is None
    assert lengths_of(None, [1, 5], 6) == [1, 5]
    assert lengths_of([0.5] * 6, [1, 5], 6) == [1, 5]


@pytest.mark.parametrize("y", [[0, 1, 2, 0, 1, 2], [0.5] * 6, ["a"] * 6, np.zeros((6, 2))], ids=str)
def test_labels_in_second_place_are_ignored(y):
    assert lengths_of(y, None, 6) is None


@pytest.mark.parametrize("y", [[2, 3], [7], [0, 6], [3.0, 3.0], 6, "six"], ids=str)
def test_what_is_neither_is_an_error(y):
    with pytest.raises(ValueError, match="lengths must be integers from 1 on that sum to the number of rows, 6"):
        lengths_of(y, None, 6)


def test_sequences():
    source = as_sequences(ArraySource(ROWS), None, None, None)
    assert source.lengths.tolist() == [6]
    source = as_sequences(ArraySource(ROWS), None, [4, 2], [1.0, 3.0])
    assert (source.lengths.tolist(), source.sequence_weights.tolist()) == ([4, 2], [1.0, 3.0])
    assert as_sequences(ArraySource(ROWS), np.array([4, 2]), [4, 2], None).lengths.tolist() == [4, 2]


@pytest.mark.parametrize(
    ("found", "lengths", "weights", "words"),
    [
        (None, [6, 0], None, "lengths must be integers from 1 on, got 0 for sequence 1"),
        (None, [5], None, "lengths must sum to the number of rows, 6"),
        (np.array([4, 2]), [3, 3], None, "lengths must be left out"),
        (None, [4, 2], [1.0], "sequence_weight must have shape"),
        (None, [4, 2], [1.0, -1.0], "sequence_weight must be finite and not negative"),
        (None, [4, 2], [0.0, 0.0], "sequence_weight must have a positive entry"),
        (None, [4, 2], ["a", "b"], "sequence_weight must be numbers"),
    ],
)
def test_lengths_and_weights_that_cannot_be(found, lengths, weights, words):
    with pytest.raises(ValueError, match=words):
        as_sequences(ArraySource(ROWS), found, lengths, weights)


def test_steps_weigh_what_their_sequence_does():
    source = as_sequences(ArraySource(ROWS, np.array([1.0, 2.0, 1.0, 1.0, 1.0, 0.0])), None, [2, 4], [2.0, 3.0])
    (block,) = rows_of(source).read()
    assert block.weights.tolist() == [2.0, 4.0, 3.0, 3.0, 3.0, 0.0]
    plain = as_sequences(ArraySource(ROWS), None, [2, 4], None)
    assert rows_of(plain) is plain.source


def test_weights_by_sequence():
    assert joined_weights([np.ones(2), np.zeros(1)]).tolist() == [1.0, 1.0, 0.0]
    assert joined_weights([1.0, 2.0]) == [1.0, 2.0]
    assert joined_weights(None) is None
