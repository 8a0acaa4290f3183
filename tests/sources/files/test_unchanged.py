"""A file that changes between two passes is refused, by its name, whatever it is and however little changed."""

import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import unveil
from unveil.sources.files.scan import DataError

ROWS = np.random.default_rng(0).normal(size=(3000, 2))


def write(path, rows):
    table = pa.table({"a": rows[:, 0], "b": rows[:, 1]})
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path)
    else:
        np.save(path, rows)


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "npy"])
def test_a_file_that_is_written_anew_between_passes_is_refused(ending, tmp_path):
    path = tmp_path / f"table.{ending}"
    write(path, ROWS)
    table = unveil.scan(path)
    first = np.concatenate([block.rows for block in table.read()])
    assert np.array_equal(first, np.concatenate([block.rows for block in table.read()]))
    write(path, ROWS[::-1])  # as many rows, of as many bytes
    with pytest.raises(DataError, match=rf"table.{ending}: the file changed while it was in use: it had .* bytes"):
        unveil.PCA(1).fit(table)
    unveil.PCA(1).fit(unveil.scan(path))


def test_a_file_that_is_written_anew_during_a_fit_ends_it(tmp_path):
    path, rows = tmp_path / "table.npy", np.tile(ROWS, (50, 1))  # more than one partition: read again for every pass
    write(path, rows)

    def rewrite(state):
        write(path, rows[::-1])

    table = unveil.scan(path)
    with unveil.watch(rewrite), pytest.raises(DataError, match=r"table.npy: the file changed .* scan it anew"):
        unveil.GaussianMixture(2, random_state=0, init_params="random", tol=0.0, max_iter=5).fit(table)


def test_a_change_within_a_pass_is_seen_at_its_end(tmp_path):
    path = tmp_path / "table.parquet"
    write(path, ROWS)
    table = unveil.scan(path)
    blocks = table.read()
    next(blocks)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="changed while it was in use"):
        list(table.read())
    blocks.close()


def test_on_another_machine_times_may_differ_and_sizes_not(tmp_path):
    path = tmp_path / "table.csv"
    write(path, ROWS)
    table = unveil.scan(path)
    _ = table.n_rows
    sent = pickle.loads(pickle.dumps(table))
    os.utime(path, ns=(1, 1))
    assert sum(len(block.rows) for block in sent.read()) == len(ROWS)
    again = pickle.loads(pickle.dumps(table))
    write(path, ROWS[:-1])
    with pytest.raises(DataError, match="changed while it was in use"):
        list(again.read())
