"""Memory on data larger than it should take: ``python -m benchmarks.soak [--gigabytes 0.25]``.

A Parquet file of so much uncompressed float64 is written, piece by piece, and each estimator is fitted to a scan of it
in a process of its own, whose maximum resident size is then read from the system. Exit code 1 where one is over the
limit. This process imports nothing large: a child's figure starts at the size of the parent that it was born of.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

LIMIT = 600.0  # megabytes
PER_ROW = {"PrincipalCurve": 64.0}  # bytes a row on top of it: where each lies along the curve is held, and sorted
N_COLUMNS = 32  # of the file that `soak_child` writes
ESTIMATORS = (
    *("GaussianMixture", "KMeans", "PCA", "ProbabilisticPCA", "FactorAnalysis", "LinearDiscriminantAnalysis", "ICA"),
    *("PrincipalCurve", "GenerativeTopographicMap"),
)
UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in which the system counts resident size


class Run(NamedTuple):
    """What a child took."""

    code: int
    megabytes: float
    seconds: float


def child(*arguments: str) -> Run:
    """Run one job to its end."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.soak_child", *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # already waited for
    return Run(process.returncode, usage.ru_maxrss * UNIT / 1e6, time.perf_counter() - began)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, fit all, tell."""
    parser = argparse.ArgumentParser("python -m benchmarks.soak", description="peak memory of fits to a Parquet scan")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="uncompressed size of the data, 2 by default")
    parser.add_argument("--group-rows", type=int, default=1 << 17, help="rows of a row group of the file")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="unveil-soak-") as folder:
        free = shutil.disk_usage(folder).free / 1e9
        if free < 1.2 * options.gigabytes:
            print(f"needs {1.2 * options.gigabytes:.1f} GB of disk for temporary files, {free:.1f} GB are free")
            return 1
        file = str(Path(folder, "rows.parquet"))
        written = child("write", file, str(options.gigabytes), str(options.group_rows))
        if written.code:
            return 1
        print(f"data: {options.gigabytes:g} GB of float64, file of {Path(file).stat().st_size / 1e9:.2f} GB")
        print(f"parent: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / 1e6:.0f} MB", flush=True)
        runs = {name: child("fit", name, file) for name in ESTIMATORS}
    limits = {name: limit_of(name, options.gigabytes) for name in runs}
    for name, run in runs.items():
        verdict = "FAILED" if run.code else "within" if run.megabytes < limits[name] else "OVER"
        print(f"{name:<26} {run.megabytes:6.0f} MB, {verdict} (limit {limits[name]:.0f} MB), {run.seconds:.0f} s")
    return int(any(run.code or run.megabytes >= limits[name] for name, run in runs.items()))


def limit_of(name: str, gigabytes: float) -> float:
    """Megabytes that a fit to so much data may take.

    >>> limit_of("PCA", 2.0), limit_of("PrincipalCurve", 2.0)
    (600.0, 1100.0)
    """
    rows = gigabytes * 1e9 / (8 * N_COLUMNS)
    return LIMIT + PER_ROW.get(name, 0.0) * rows / 1e6


if __name__ == "__main__":
    sys.exit(main())
