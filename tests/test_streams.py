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
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 if sys.platform == "darwin" else 1024)

    fit("some")  # libraries, kernels
    before = fit("some")
    print(fit("all") - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="resident sizes are read in another way there")
def test_a_stream_holds_a_bounded_amount(tmp_path: Path) -> None:
    """2,000,000 rows of 16 columns, 256 MB; bounds of Hamerly's algorithm and rows beside them would be 150 MB more."""
    code = [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path)]
    grown = int(subprocess.run(code, capture_output=True, text=True, check=True).stdout)
    assert grown < 190  # 128 of memos, and what readers of large row groups hold
