"""Tables in memory."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.core.partition import partition_bounds
from unveil.sources import ArraySource

ROWS = np.random.default_rng(1).standard_normal((9000, 2))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 600), st.sampled_from([1, 3, 520]), st.sampled_from("CF"), st.sampled_from([np.float32, float]))
def test_blocks_are_the_rows(n_rows: int, n_columns: int, order: Any, dtype: Any) -> None:
    rows = np.asarray(np.arange(n_rows * n_columns).reshape(n_rows, n_columns), dtype=dtype, order=order)
    source = ArraySource(rows, weights=np.arange(n_rows, dtype=float))
    seen = 0
    for block in source.read():
        assert (block.start, block.start + len(block.rows)) == partition_bounds(block.index, n_rows, n_columns)
        assert block.rows.flags.c_contiguous
        assert block.rows.dtype == source.dtype == dtype
        assert np.array_equal(block.rows, rows[seen : seen + len(block.rows)])
        assert np.array_equal(block.weights, np.arange(seen, seen + len(block.rows)))
        seen += len(block.rows)
    assert seen == source.n_rows == n_rows


def test_nothing_is_copied_where_rows_are_contiguous() -> None:
    assert all(np.shares_memory(block.rows, ROWS) for block in ArraySource(ROWS).read())
    strided = ArraySource(ROWS[::2])
    assert np.array_equal(next(strided.read()).rows, ROWS[::2])


def test_pickle() -> None:
    source = pickle.loads(pickle.dumps(ArraySource(ROWS, names=("a", "b"))))
    assert np.array_equal(source.rows, ROWS)
    assert source.names == ("a", "b")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rows": np.zeros(3)}, r"rows must have 2 dimensions, got an array of shape \(3,\)"),
        ({"rows": np.zeros((3, 1), dtype=int)}, "rows must be float32 or float64, got int64"),
        ({"rows": ROWS, "names": ("a",)}, "names must be 2 strings, one a column, got 1"),
        ({"rows": ROWS, "weights": np.ones(3)}, r"sample_weight must have shape \(9000,\)"),
    ],
)
def test_what_is_not_taken(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ArraySource(**arguments)
