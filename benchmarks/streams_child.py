"""The jobs of `benchmarks.streams`, each in a process of its own; each prints one line of JSON.

``write FOLDER FORMAT BYTES PART``, ``read FOLDER FORMAT``, ``fit FOLDER FORMAT MODEL all|part|memory``,
``chain STEPS STATES``.
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
    """Two fits to a scan of all rows or of some, or to those in memory: what each took, and a hash of the parameters.

    The second makes more passes, if the model iterates; all that is done once is in both. Before them comes one to some
    rows, for which libraries load and kernels compile.
    """
    import unveil

    warnings.simplefilter("ignore")  # that it stops at the limit of iterations is meant
    given, iterates = MODELS[name]
    passes = _counted_passes()

    def once(which: str, **more: int) -> tuple[Any, dict[str, float]]:
        table, labels = _table(folder, kind, name, which)
        model = getattr(unveil, name)(**given, **more)
        if labels is None and hasattr(table, "n_rows"):
            _ = table.n_rows
        before, began = passes[0], (time.perf_counter(), time.process_time())
        model.fit(table) if labels is None else model.fit(table, labels)
        took = {"wall": time.perf_counter() - began[0], "cpu": time.process_time() - began[1]}
        return model, took | {"passes": passes[0] - before}

    once("part", **({"max_iter": SHORT} if iterates else {}))
    _, short = once(what, **({"max_iter": SHORT} if iterates else {}))
    model, long = once(what, **({"max_iter": LONG} if iterates else {}))
    return {"short": short if iterates else {"wall": 0.0, "cpu": 0.0, "passes": 0.0}, "long": long, "bits": bits(model)}


def _table(folder: str, kind: str, name: str, which: str) -> tuple[Any, Any]:
    """A table for a model, and labels where it takes them."""
    import numpy as np

    import unveil

    names = list(CODES) if name == "CategoricalMixture" else [f"x{j}" for j in range(N_COLUMNS)]
    labelled = name == "LinearDiscriminantAnalysis"
    file = Path(folder, f"{'all' if which == 'all' else 'part'}.{kind}")
    scan = unveil.scan(file, columns=[*names, "group"] if labelled else names)
    if which != "memory":
        return scan, "group" if labelled else None
    rows = np.concatenate([block.rows for block in scan.read()])
    return (np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int64)) if labelled else (rows, None)


def _counted_passes() -> list[float]:
    """How many times all rows of a scan were handed out, counted from now on."""
    from unveil.sources.files.scan import Scan

    passes, plain = [0.0], Scan._blocks

    def counted(self: Any, wanted: Any) -> Any:
        for block in plain(self, wanted):
            passes[0] += len(block.rows) / self.n_rows
            yield block

    Scan._blocks = counted  # type: ignore[method-assign]
    return passes


def bits(model: Any) -> str:
    """A hash of all arrays that were fitted."""
    import numpy as np

    found = hashlib.sha256()
    for name in sorted(vars(model)):
        value = getattr(model, name)
        if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            found.update(name.encode() + value.tobytes())
    return found.hexdigest()


def chain(steps: str, states: str) -> dict[str, Any]:
    """A fit of a hidden Markov model of codes to one chain, from tables that are given."""
    import numpy as np

    import unveil

    warnings.simplefilter("ignore")
    random, n, k = np.random.default_rng(0), int(steps), int(states)
    codes = random.integers(LEVELS, size=(n, 1)).astype(np.float32)
    began = time.perf_counter(), time.process_time()
    tables = {
        "transmat_init": random.dirichlet(np.ones(k), k),
        "emissionprob_init": random.dirichlet(np.ones(LEVELS), k),
    }
    start = tables | {"startprob_init": np.full(k, 1 / k)}
    unveil.CategoricalHMM(k, max_iter=SHORT, tol=0.0, random_state=0, **start).fit(codes)
    return {"wall": time.perf_counter() - began[0], "cpu": time.process_time() - began[1]}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {"write": write, "read": read, "fit": fit, "chain": chain}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](*sys.argv[2:])))
