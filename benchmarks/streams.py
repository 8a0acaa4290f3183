"""Streams at size: ``python -m benchmarks.streams [--size 4GB] [--formats parquet csv] [--models PCA ...]``.

A table of so many bytes (as float64 in Parquet, as text in CSV) is written into a temporary folder, removed at the end.
For each format and model, in a process of its own:

- peak memory of a fit to a scan, against a limit of 700 MB;
- seconds of a pass of the fit: the slope between a short fit and a longer one, where a model iterates;
- a bare read of the file by pyarrow on all threads, and a pass over as many rows in memory (of a part of the table, so
  that it fits), and what share of 1 / (1 / in memory + 1 / bare read) the stream reaches; for PCA, of the bare read;
- whether parameters have the bits of those in memory, on the first `--part` rows.

Wall-clock figures mean little while anything else runs; what a child prints has seconds of processors beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

LIMIT = 700.0  # megabytes
MODELS = ("KMeans", "GaussianMixture", "PCA", "ICA", "LinearDiscriminantAnalysis", "CategoricalMixture")
UNIT = 1 if sys.platform == "darwin" else 1024
UNITS = {"MB": 10**6, "GB": 10**9}


def child(*arguments: str) -> tuple[dict[str, Any], float]:
    """What a job printed, as JSON, and its peak memory in megabytes."""
    command = [sys.executable, "-m", "benchmarks.streams_child", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}")
    return json.loads(said), usage.ru_maxrss * UNIT / 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables, fit all, tell."""
    parser = argparse.ArgumentParser("python -m benchmarks.streams", description="memory and speed of fits to files")
    parser.add_argument("--size", default="4GB", help="of each file, such as 400MB; 4GB by default")
    parser.add_argument("--part", type=int, default=200_000, help="rows that are fitted in memory, too")
    parser.add_argument("--formats", nargs="+", default=["parquet", "csv"], choices=["parquet", "csv"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--chain", nargs=2, type=int, metavar=("STEPS", "STATES"), help="a long chain instead")
    options = parser.parse_args(arguments)
    if options.chain:
        (steps, states), (took, megabytes) = options.chain, child("chain", *map(str, options.chain))
        table = 8e-6 * steps * states
        print(
            f"chain of {steps:,} steps, {states} states: {megabytes:.0f} MB (a table has {table:.0f}), {_seconds(took)}"
        )
        return 0
    size = size_of(options.size)
    failed = False
    for kind in options.formats:
        with tempfile.TemporaryDirectory(prefix="unveil-streams-") as folder:
            if shutil.disk_usage(folder).free < 2.2 * size:  # a cache of what was decoded beside it
                print(f"needs {2.2 * size / 1e9:.1f} GB of disk for temporary files")
                return 1
            written, _ = child("write", folder, kind, str(size), str(options.part))
            read, _ = child("read", folder, kind)
            print(f"{kind}: {written['bytes'] / 1e9:.2f} GB, {written['rows']:,} rows; bare read {_seconds(read)}")
            for name in options.models:
                failed = told(name, folder, kind, written["rows"], read, options.part) or failed
    return int(failed)


def told(name: str, folder: str, kind: str, n_rows: int, read: dict[str, float], part: int) -> bool:
    """Print what one model took; whether it took more memory than it may, or gave other bits."""
    stream, megabytes = child("fit", folder, kind, name, "all")
    some, _ = child("fit", folder, kind, name, "part")
    memory, _ = child("fit", folder, kind, name, "memory")
    same = some["bits"] == memory["bits"]
    passes = {which: some[which]["passes"] for which in ("short", "long")}
    took = a_pass(stream, {which: stream[which]["passes"] for which in passes})
    inside = a_pass(memory, passes)
    least = {how: read[how] + (0.0 if name == "PCA" else inside[how] * n_rows / part) for how in took}
    over = megabytes > LIMIT
    print(
        f"  {name:<27} {megabytes:4.0f} MB{' OVER' if over else ''}, {stream['long']['passes']:.1f} passes, "
        f"one {_seconds(took)}, in memory {_seconds({how: inside[how] * n_rows / part for how in inside})}: "
        f"{100 * least['wall'] / took['wall']:.0f}% of what reading{'' if name == 'PCA' else ' and computing'} allows "
        f"({100 * least['cpu'] / took['cpu']:.0f}% by processors), "
        f"{'same bits' if same else 'OTHER BITS'} as in memory",
        flush=True,
    )
    return over or not same


def a_pass(run: dict[str, Any], passes: dict[str, float]) -> dict[str, float]:
    """Seconds of one pass, by what a longer fit took more than a short one."""
    more = max(passes["long"] - passes["short"], 1e-9)
    return {how: max(run["long"][how] - run["short"][how], 1e-9) / more for how in ("wall", "cpu")}


def _seconds(took: dict[str, float]) -> str:
    return f"{took['wall']:.2f} s ({took['cpu']:.2f} s of processors)"


def size_of(said: str) -> int:
    """Bytes.

    >>> size_of("4GB"), size_of("250MB")
    (4000000000, 250000000)
    """
    found = re.fullmatch(r"([0-9.]+)(MB|GB)", said)
    if found is None:
        raise SystemExit(f"--size must be as 4GB or 250MB, got {said!r}")
    return int(float(found[1]) * UNITS[found[2]])


if __name__ == "__main__":
    sys.exit(main())
