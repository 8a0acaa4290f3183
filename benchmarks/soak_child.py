"""The jobs of the soak, each run in a process of its own: ``write FILE GIGABYTES GROUP_ROWS`` and ``fit NAME FILE``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.soak import N_COLUMNS

ARGUMENTS: dict[str, dict[str, Any]] = {
    "GaussianMixture": {"n_components": 3, "max_iter": 3, "tol": 0.0, "random_state": 0},
    "KMeans": {"n_clusters": 8, "max_iter": 3, "tol": 0.0, "random_state": 0},
    "PCA": {},
    "ProbabilisticPCA": {"n_components": 5, "schedule": "batch", "max_iter": 3},
    "FactorAnalysis": {"n_components": 5},
    "LinearDiscriminantAnalysis": {},
    "ICA": {"max_iter": 3, "random_state": 0},
    "PrincipalCurve": {"max_iter": 2},
    "GenerativeTopographicMap": {"max_iter": 2, "lattice_shape": 8, "basis_shape": 4},
}
CLASSES = 8  # that rows belong to in turn, where labels are needed


def write(file: str, gigabytes: str, group_rows: str) -> None:
    """A Parquet file of a few clouds, one row group at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(0)
    centres = 3.0 * random.standard_normal((8, N_COLUMNS))
    left = int(float(gigabytes) * 1e9 / (8 * N_COLUMNS))
    schema = pa.schema([(f"x{column}", pa.float64()) for column in range(N_COLUMNS)])
    with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        while left > 0:
            count = min(left, int(group_rows))
            rows = random.standard_normal((count, N_COLUMNS)) + centres[random.integers(len(centres), size=count)]
            writer.write_table(pa.Table.from_arrays(list(rows.T.copy()), schema=schema))
            left -= count


def fit(name: str, file: str) -> None:
    """A few iterations of one estimator on a scan."""
    import numpy as np
    from sklearn.base import is_classifier

    import unveil

    warnings.simplefilter("ignore")  # that it stops at the limit of iterations is meant
    estimator, table = getattr(unveil, name)(**ARGUMENTS[name]), unveil.scan(file)
    labels = np.arange(table.n_rows, dtype=np.int8) % CLASSES if is_classifier(estimator) else None
    estimator.fit(table, labels)


JOBS: dict[str, Callable[..., None]] = {"write": write, "fit": fit}

if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
