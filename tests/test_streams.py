"""What docs/scaling.md says of memory: a fit to a file holds less than the file has, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CHILD = """
    import resource, sys, warnings

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import unveil
    from unveil.engines import Threads

    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)
    some = random.integers(0, 9, (100_000, 16)) + 20.0 * random.integers(0, 3, (100_000, 1))
    table = pa.table({f"x{j}": some[:, j] for j in range(16)})
    for name, times in (("some", 1), ("all", 20)):
        with pq.ParquetWriter(f"{sys.argv[1]}/{name}.parquet", table.schema) as writer:
            for _ in range(times):
                writer.write_table(table)

    def fit(name):
        scan = unveil.scan(f"{sys.argv[1]}/{name}.parquet")
        made = {"init": "random", "n_init": 1, "max_iter": 3, "random_state": 0, "engine": Threads(2)}
        unveil.KMeans(8, algorithm="hamerly", **made).fit(scan)
        unveil.PCA(engine=Threads(2)).fit(scan)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) // 10**6

    fit("some")  # libraries, kernels
    before = fit("some")
    with unveil.memory_limit(1e6 * (before + ROOM)):
        print(fit("all") - before)
"""
ROOM = 90  # megabytes on top of what a fit to a twentieth of the rows took


@pytest.mark.skipif(sys.platform == "win32", reason="resident sizes are read in another way there")
def test_a_stream_keeps_within_a_limit(tmp_path: Path) -> None:
    """2,000,000 rows of 16 columns, 256 MB, of which Hamerly's algorithm would like to remember 150 MB."""
    code = [sys.executable, "-c", textwrap.dedent(CHILD).replace("ROOM", str(ROOM)), str(tmp_path)]
    grown = int(subprocess.run(code, capture_output=True, text=True, check=True).stdout)
    assert grown < ROOM  # without the limit 144, and without any bound 168
