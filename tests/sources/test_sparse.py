"""A sparse matrix as a source."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from unveil.core.protocols import Piece
from unveil.sources.sparse import SparseSource
from unveil.sources.weighted import with_weights


def test_blocks_are_the_partitions_of_the_rows():
    dense = np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32)
    dense[dense < 0.5] = 0
    source = SparseSource(sparse.csr_array(dense), np.arange(20_000.0))
    blocks = list(source.read())
    assert [(b.index, b.start, len(b.rows)) for b in blocks] == [(0, 0, 16384), (1, 16384, 3616)]
    np.testing.assert_array_equal(np.concatenate([b.rows.dense() for b in blocks]), dense)
    np.testing.assert_array_equal(np.concatenate([b.weights for b in blocks]), np.arange(20_000.0))
    assert (source.n_rows, source.n_columns, source.dtype, source.names) == (20_000, 3, np.float32, None)
    assert [b.index for b in source.read([1])] == [1]


def test_blocks_are_cut_into_pieces_and_weighted_like_any_other():
    source = with_weights(SparseSource(sparse.eye_array(8).tocsr()), np.arange(8.0))
    piece = Piece(1, 2).cut(next(source.read()))
    assert (piece.start, piece.rows.dense().argmax(axis=1).tolist(), piece.weights.tolist()) == (
        4,
        [4, 5, 6, 7],
        [4.0, 5.0, 6.0, 7.0],
    )


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (sparse.csr_array(np.eye(2, dtype=np.int64)), "float32 or float64, got int64"),
        (sparse.csr_array(np.array([[0.0, np.nan]])), "finite, got nan in row 0, column 1"),
        (sparse.csr_array(np.array([[0.0, 1.0], [np.inf, 0.0]])), "finite, got inf in row 1, column 0"),
        (sparse.coo_array(np.ones(3)), "2 dimensions"),
    ],
)
def test_what_is_refused(matrix, said):
    with pytest.raises(ValueError, match=said):
        SparseSource(matrix)


def test_weights_are_checked():
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative"):
        SparseSource(sparse.eye_array(2).tocsr(), np.array([1.0, -1.0]))
