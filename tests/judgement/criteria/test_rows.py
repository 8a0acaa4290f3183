import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import unveil
from unveil.judgement.criteria.rows import SAMPLE_ROWS, draw

X = np.random.default_rng(0).normal(size=(60, 3))


def test_a_small_table_is_taken_whole():
    rows = draw(unveil.KMeans(), X, None, seed=0)
    np.testing.assert_array_equal(rows.values, X)
    assert rows.whole
    assert rows.dense
    assert (rows.total, rows.scale) == (60.0, 1.0)


def test_a_large_table_is_sampled_by_the_seed_alone():
    table = np.random.default_rng(1).normal(size=(3 * SAMPLE_ROWS, 2))
    one, two, other = (draw(unveil.KMeans(), table, None, seed=seed) for seed in (0, 0, 1))
    assert len(one.chosen) == SAMPLE_ROWS
    assert not one.whole
    np.testing.assert_array_equal(one.values, table[one.chosen])
    np.testing.assert_array_equal(one.chosen, two.chosen)
    assert (one.chosen != other.chosen).any()


def test_every_kind_of_table_gives_the_same_rows(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    tables = [frame, unveil.scan(tmp_path / "rows.csv"), da.from_array(X, chunks=(20, 3))]
    for table in tables:
        np.testing.assert_array_equal(draw(unveil.KMeans(), table, None, seed=0).values, X)
    np.testing.assert_array_equal(draw(unveil.KMeans(), csr_matrix(X), None, seed=0).values.toarray(), X)


def test_weights_count_rows_and_none_leaves_a_row_out():
    weights = np.r_[np.zeros(10), np.full(50, 2.0)]
    rows = draw(unveil.KMeans(), X, weights, seed=0)
    assert len(rows.values) == 50
    assert rows.whole
    assert rows.total == 100.0
    assert rows.counts(np.r_[np.zeros(10, int), np.ones(50, int)], 3).tolist() == [0.0, 100.0, 0.0]


def test_weights_that_are_shares_become_counts():
    rows = draw(unveil.KMeans(), X, np.full(60, 1 / 60), seed=0)
    np.testing.assert_allclose(rows.weights, 1.0)
    assert rows.total == pytest.approx(60.0)


def test_missing_cells_and_sparse_rows_are_not_dense():
    holed = X.copy()
    holed[3, 1] = np.nan
    assert not draw(unveil.KMeans(), holed, None, seed=0).dense
    assert not draw(unveil.KMeans(), csr_matrix(X), None, seed=0).dense
