"""The jobs of `benchmarks.streams`, each in a process of its own; each prints one line of JSON.

``write FOLDER FORMAT BYTES PART``, ``read FOLDER FORMAT``, ``fit FOLDER FORMAT MODEL all|part|memory``.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

N_COLUMNS, LEVELS, CLASSES = 16, 5, 4
CHUNK_ROWS = 1 << 17  # of a row group of Parquet
SHORT, LONG = 2, 6  # passes
CODES = ("k0", "k1", "k2", "k3")  # columns of codes, which the mixture of categories is fitted to
MODELS: dict[str, tuple[dict[str, Any], bool]] = {  # arguments, and whether it iterates
    "KMeans": ({"n_clusters": 16, "tol": 0.0, "random_state": 0, "init": "random", "n_init": 1}, True),
    "GaussianMixture": ({"n_components": 8, "tol": 0.0, "random_state": 0, "schedule": "batch"}, True),
    "PCA": ({}, False),
    "ICA": ({"random_state": 0}, True),
    "LinearDiscriminantAnalysis": ({}, False),
    "CategoricalMixture": ({"n_components": 4, "tol": 0.0, "random_state": 0, "schedule": "batch"}, True),
}


def chunks(n_bytes: int, kind: str) -> Iterator[Any]:
    """Tables of a few clouds with codes beside them, until they have so many bytes."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(0)
    centres = 3.0 * random.standard_normal((8, N_COLUMNS))
    left = n_bytes // (8 * (N_COLUMNS + len(CODES)) if kind == "parquet" else 8 * N_COLUMNS + 2 * len(CODES))
    while left > 0:
        count = min(left, CHUNK_ROWS)
        group = random.integers(len(centres), size=count)
        rows = random.standard_normal((count, N_COLUMNS)) + centres[group]
        rows = rows if kind == "parquet" else rows.round(4)
        codes = (group[:, None] + random.integers(2, size=(count, len(CODES)))) % LEVELS
        columns = {f"x{j}": rows[:, j] for j in range(N_COLUMNS)} | dict(zip(CODES, codes.T, strict=True))
        yield pa.table(columns | {"group": group % CLASSES})
        left -= count


def write(folder: str, kind: str, n_bytes: str, part: str) -> dict[str, Any]:
    """The table, and its first rows in a file of their own."""
    import pyarrow.csv
    import pyarrow.parquet

    def opened(name: str, schema: Any) -> Any:
        path = str(Path(folder, f"{name}.{kind}"))
        return pyarrow.parquet.ParquetWriter(path, schema) if kind == "parquet" else pyarrow.csv.CSVWriter(path, schema)

    n_rows, left, whole, some = 0, int(part), None, None
    for table in chunks(int(n_bytes), kind):
        if whole is None or some is None:
            whole, some = opened("all", table.schema), opened("part", table.schema)
        whole.write_table(table)
        n_rows += table.num_rows
        if left > 0:
            some.write_table(table.slice(0, left))
            left -= min(left, table.num_rows)
    for writer in (whole, some):
        if writer is not None:
            writer.close()
    return {"rows": n_rows, "bytes": Path(folder, f"all.{kind}").stat().st_size}


def read(folder: str, kind: str) -> dict[str, Any]:
    """All columns of numbers, by pyarrow on all threads, nothing kept."""
    import pyarrow.csv
    import pyarrow.dataset

    path, names = str(Path(folder, f"all.{kind}")), [f"x{j}" for j in range(N_COLUMNS)]
    pyarrow.dataset.dataset(path, format=kind).head(10)
    began = time.perf_counter(), time.process_time()
    for batch in pyarrow.dataset.dataset(path, format=kind).to_batches(columns=names):
        del batch
    return {"wall": time.perf_counter() - began[0], "cpu": time.process_time() - began[1]}


def fit(folder: str, kind: str, name: str, what: str) -> dict[str, Any]:
    """A fit to a scan of all rows or of some, or to those in memory: seconds of a pass, and a hash of the parameters."""
    import numpy as np

    import unveil

    warnings.simplefilter("ignore")  # that it stops at the limit of iterations is meant
    names = list(CODES) if name == "CategoricalMixture" else [f"x{j}" for j in range(N_COLUMNS)]
    file = Path(folder, f"{'all' if what == 'all' else 'part'}.{kind}")
    table: Any = unveil.scan(file, columns=names)
    given, iterates = MODELS[name]
    label = None
    if name == "LinearDiscriminantAnalysis":
        table, label = unveil.scan(file, columns=[*names, "group"]), "group"
    if what == "memory":
        table = np.concatenate([block.rows for block in table.read()])
        if label is not None:
            table, label = np.ascontiguousarray(table[:, :-1]), table[:, -1]

    def once(**more: int) -> tuple[Any, float, float]:
        model = getattr(unveil, name)(**given, **more)
        began = time.perf_counter(), time.process_time()
        model.fit(table) if label is None else model.fit(table, label)
        return model, time.perf_counter() - began[0], time.process_time() - began[1]

    short = once(max_iter=SHORT) if iterates else once()
    if not iterates:
        model, wall, cpu = once()  # libraries are loaded, and lines are found
        return {"wall": wall, "cpu": cpu, "bits": bits(model)}
    model, wall, cpu = once(max_iter=LONG)
    passes = max(_passes(model) - _passes(short[0]), 1)
    took = {"wall": (wall - short[1]) / passes, "cpu": (cpu - short[2]) / passes}
    return {name: max(value, 1e-9) for name, value in took.items()} | {"bits": bits(model)}


def _passes(model: Any) -> int:
    return int(getattr(getattr(model, "history_", None), "passes", 0) or model.n_iter_)


def bits(model: Any) -> str:
    """A hash of all arrays that were fitted."""
    import numpy as np

    found = hashlib.sha256()
    for name in sorted(vars(model)):
        value = getattr(model, name)
        if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            found.update(name.encode() + value.tobytes())
    return found.hexdigest()


JOBS: dict[str, Callable[..., dict[str, Any]]] = {"write": write, "read": read, "fit": fit}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](*sys.argv[2:])))
