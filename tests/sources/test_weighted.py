"""Weights on any source."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from unveil.sources import ArraySource, Weighted, with_weights

ROWS = np.random.default_rng(1).standard_normal((18_000, 2))
WEIGHTS = np.arange(18_000.0)


def test_weights_follow_the_blocks() -> None:
    source = pickle.loads(pickle.dumps(with_weights(ArraySource(ROWS, names=("a", "b")), WEIGHTS)))
    blocks = list(source.read())
    assert np.array_equal(np.concatenate([block.weights for block in blocks]), WEIGHTS)
    assert np.array_equal(np.concatenate([block.rows for block in blocks]), ROWS)
    assert next(source.read([1])).weights[0] == 16384
    assert (source.n_rows, source.n_columns, source.dtype, source.names) == (18_000, 2, np.float64, ("a", "b"))


def test_weights_multiply() -> None:
    block = next(Weighted(ArraySource(ROWS, WEIGHTS), WEIGHTS).read())
    assert np.array_equal(block.weights, WEIGHTS[:16384] ** 2)


def test_no_weights_is_the_source_itself() -> None:
    source = ArraySource(ROWS)
    assert with_weights(source, None) is source


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0], r"sample_weight must have shape \(18000,\), one weight a row, got \(1,\)"),
        (np.where(WEIGHTS == 7, np.nan, 1), "must be finite and not negative, got nan in row 7"),
        (-WEIGHTS, r"must be finite and not negative, got -1\.0 in row 1"),
    ],
)
def test_what_is_not_taken(weights: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        with_weights(ArraySource(ROWS), weights)
