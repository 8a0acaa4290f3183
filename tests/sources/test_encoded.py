import pickle

import numpy as np
import pytest

from unveil.sources.array import ArraySource
from unveil.sources.binarized import Binarized
from unveil.sources.encoded import Encoded, Lookup, Within, encoded

TABLE = np.array([[7.0, 1.5], [9.0, np.nan], [np.nan, 2.5], [8.0, 0.5]])
READERS = (Lookup(np.array([7.0, 9.0])), None)


def is_even(cells):
    return cells == 2 * np.floor(cells / 2)


def rows_of(source):
    return np.concatenate([block.rows for block in source.read()])


def test_numbers_become_places_and_strangers_go_missing():
    rows = rows_of(Encoded(ArraySource(TABLE), READERS))
    np.testing.assert_array_equal(rows[:, 0], [0.0, 1.0, np.nan, np.nan])
    np.testing.assert_array_equal(rows[:, 1], TABLE[:, 1])


def test_the_table_itself_is_left_alone():
    before = TABLE.copy()
    rows_of(Encoded(ArraySource(TABLE), READERS))
    encoded(ArraySource(TABLE), READERS, now=True)
    np.testing.assert_array_equal(TABLE, before)


def test_a_strict_lookup_names_column_row_and_values():
    strict = (Lookup(np.array([7.0, 9.0]), True, "size"), None)
    with pytest.raises(ValueError, match=r"column 'size' holds 8 in row 3, .* fit time; values are 7, 9"):
        rows_of(Encoded(ArraySource(TABLE), strict))


@pytest.mark.parametrize("values", [[], [7.0], [1.0, 7.0, 8.0, 9.0]])
def test_a_lookup_in_lists_of_any_length(values):
    want = [values.index(cell) if cell in values else np.nan for cell in TABLE[:, 0].tolist()]
    np.testing.assert_array_equal(Lookup(np.array(values))(TABLE[:, 0]), want)


def test_single_precision_stays():
    source = encoded(ArraySource(TABLE.astype(np.float32)), READERS, now=True)
    lazy = Encoded(ArraySource(TABLE.astype(np.float32)), READERS)
    assert source.dtype == lazy.dtype == np.float32
    assert rows_of(source).dtype == rows_of(lazy).dtype == np.float32


def test_cells_outside_are_refused_and_those_not_finite_are_not_judged():
    within = Within(is_even, "even numbers", "n")
    cells = np.array([2.0, np.nan, np.inf, 4.0])
    assert within(cells) is cells
    with pytest.raises(ValueError, match=r"column 'n' must hold even numbers, got 3 in row 11"):
        within(np.array([2.0, 3.0]), 10)
    with pytest.raises(ValueError, match=r"Negative values in data passed to X: column 'n'"):
        within(np.array([-3.0]))


def test_now_and_later_give_the_same_rows():
    rows = np.random.default_rng(0).integers(0, 5, (40_000, 3)).astype(float)
    readers = (Lookup(np.array([1.0, 3.0])), None, Lookup(np.array([0.0])))
    source = ArraySource(rows, names=("a", "b", "c"))
    now, later = encoded(source, readers, now=True), encoded(source, readers, now=False)
    assert isinstance(now, ArraySource)
    assert isinstance(later, Encoded)
    assert now.names == later.names == ("a", "b", "c")
    np.testing.assert_array_equal(rows_of(now), rows_of(later))
    assert [block.start for block in now.read()] == [block.start for block in later.read()]


def test_what_is_only_looked_at_is_not_copied():
    source = ArraySource(np.ones((4, 1)))
    assert encoded(source, (None,), now=True) is source
    assert encoded(source, (Within(np.isfinite, "numbers"),), now=True) is source
    block = next(Encoded(source, (Within(np.isfinite, "numbers"),)).read())
    assert np.shares_memory(block.rows, source.rows)


def test_a_source_that_is_no_array_is_read_as_it_comes():
    source = encoded(Binarized(ArraySource(TABLE), 1.0), (Lookup(np.array([1.0])), None), now=True)
    assert isinstance(source, Encoded)
    np.testing.assert_array_equal(rows_of(source)[:, 0], [0.0, 0.0, np.nan, 0.0])


def test_it_travels_to_workers():
    back = pickle.loads(pickle.dumps(Encoded(ArraySource(TABLE), (Lookup(np.array([7.0])), Within(is_even, "even")))))
    assert isinstance(back.readers[0], Lookup)
