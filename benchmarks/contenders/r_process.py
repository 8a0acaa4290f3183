"""A library of R in a process that lives as long as this one.

Its script reads the rows once and then waits for orders, so that starting R counts as little as importing a library
does for the others.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np


def started(script: Path, arguments: list[str], *tables: np.ndarray) -> subprocess.Popen[str]:
    """R with the script running, the tables read from files that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="unveil-r-") as folder:
        files = [Path(folder, f"{number}.bin") for number in range(len(tables))]
        for file, table in zip(files, tables, strict=True):
            table.ravel(order="F").tofile(file)
        command = ["Rscript", "--vanilla", str(script), *arguments, *map(str, files)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ask(process, script.stem.split("_")[0])
    return process


def ask(process: subprocess.Popen[str], package: str, line: str | None = None) -> str:
    """What R, with a package after which its script is named, answers to a line, or says by itself."""
    assert process.stdin is not None
    assert process.stdout is not None
    if line is not None:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError(f"R ended without an answer: is its package {package} installed?")
    return answer
