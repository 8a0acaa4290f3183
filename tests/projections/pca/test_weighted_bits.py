"""PCA with weights of cells gives the same bits from every engine and storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.typing import NDArray

import unveil
from unveil.engines import Dask, Threads
from unveil.projections.pca.weighted import Beside, WeightedFit, scores_of, weighted_pca, with_cell_weights
from unveil.sources import ArraySource, with_weights

Floats = NDArray[np.float64]


def table(n: int, d: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Rows near a plane, and weights with a fifth of them at 0."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2)) @ random.normal(size=(2, d)) + 0.4 * random.normal(size=(n, d)) + 5.0
    return X, random.gamma(2.0, 1.0, X.shape) * (random.random(X.shape) < 0.8)


def fitted(X: Any, W: Any, engine: Any = None, rows: Any = None, **options: Any) -> WeightedFit:
    source = with_weights(X if hasattr(X, "read") else ArraySource(X), rows)
    return weighted_pca(engine or Threads(1), with_cell_weights(source, W), 2, **options)


def bits(found: WeightedFit) -> tuple[bytes, ...]:
    spectrum = found.spectrum
    arrays = spectrum.components, spectrum.values, spectrum.mean, found.history.column("objective")
    return (*(array.tobytes() for array in arrays), np.float64(found.cost).tobytes())


@pytest.fixture(scope="module")
def large() -> tuple[Floats, Floats]:
    return table(40_000, 4)


def test_same_bits_by_every_route(large: tuple[Floats, Floats], tmp_path: Path) -> None:
    X, W = large
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "weights.npy", W)
    columns = {f"x{j}": X[:, j] for j in range(4)}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=7777)
    rows, beside = unveil.scan(tmp_path / "rows.npy"), unveil.scan(tmp_path / "weights.npy")
    routes = {
        "two threads": (X, W, Threads(2)),
        "five threads": (X, W, Threads(5)),
        "columns side by side": (np.asfortranarray(X), np.asfortranarray(W), None),
        "scans": (rows, beside, Threads(2)),
        "parquet, weights in memory": (unveil.scan(tmp_path / "rows.parquet"), W, None),
        "weights mapped": (X, np.load(tmp_path / "weights.npy", mmap_mode="r"), Threads(2)),
        "weights in Dask": (X, dask.array.from_array(W, chunks=(9_999, 3)), None),
    }
    want = bits(fitted(X, W, max_iter=4))
    found = {name: bits(fitted(x, w, engine=engine, max_iter=4)) for name, (x, w, engine) in routes.items()}
    assert found == dict.fromkeys(routes, want)
    spectrum = fitted(X, W, max_iter=4).spectrum
    scores = [
        scores_of(x, w, spectrum.components, spectrum.mean, engine).tobytes()
        for x, w, engine in ((X, W, Threads(1)), (X, W, Threads(5)), (rows, beside, None))
    ]
    assert len(set(scores)) == 1


def test_same_bits_of_a_wide_table(tmp_path: Path) -> None:
    X, W = table(300, 400)
    np.save(tmp_path / "rows.npy", X)
    scan = unveil.scan(tmp_path / "rows.npy")
    want = bits(fitted(X, W, max_iter=4))
    assert bits(fitted(X, W, engine=Threads(5), max_iter=4)) == want
    assert bits(fitted(scan, W, engine=Threads(2), max_iter=4)) == want


def test_same_bits_on_a_cluster(large: tuple[Floats, Floats], tmp_path: Path) -> None:
    from distributed import Client

    X, W = large
    np.save(tmp_path / "weights.npy", W)
    want = bits(fitted(X, W, max_iter=3, rows=np.arange(len(X)) % 3))
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        for weights in (W, unveil.scan(tmp_path / "weights.npy")):
            found = fitted(X, weights, engine=Dask(client), max_iter=3, rows=np.arange(len(X)) % 3)
            assert bits(found) == want


def test_two_tables_in_files_are_read_through_by_one_thread(large: tuple[Floats, Floats], tmp_path: Path) -> None:
    paths = [tmp_path / "rows.parquet", tmp_path / "weights.parquet"]
    for path, values in zip(paths, large, strict=True):
        pyarrow.parquet.write_table(pa.table({f"x{j}": values[:, j] for j in range(4)}), path, row_group_size=7777)
    together = Beside(unveil.scan(paths[0]), unveil.scan(paths[1]))
    assert not together.side_by_side
    assert not hasattr(together, "runs")
    assert not hasattr(together, "ship")
    assert np.array_equal(np.concatenate([block.weights for block in together.read()]), large[1])
