"""mclust, https://mclust-org.github.io/mclust, through R: the one peer that is not a Python library.

`mclust.R` reads the rows once and then waits for orders, so that starting R counts as little as importing a library
does for the others. mclust begins with an M step: it gets the responsibilities that an E step at the common start
gives, and after as many iterations it has made as many M steps as the others.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.tasks.mixture import gaussian_joint

SCRIPT = Path(__file__).with_suffix(".R")


def mixture(arrays: Arrays) -> Run:
    """me with modelName="VVV"."""
    return _run("VVV", arrays, arrays["covariances"])


def diagonal(arrays: Arrays) -> Run:
    """me with modelName="VVI"."""
    fit = _run("VVI", arrays, np.array([*map(np.diag, arrays["covariances"])]))

    def run(steps: int) -> Arrays:
        found = fit(steps)
        return {**found, "covariances": np.diagonal(found["covariances"], axis1=1, axis2=2)}

    return run


def _run(model: str, arrays: Arrays, covariances: np.ndarray) -> Run:
    """Fits by an R process that lives as long as this one."""
    rows, (k, d) = arrays["rows"], arrays["means"].shape
    responsibilities = softmax(gaussian_joint(rows, {**arrays, "covariances": covariances}), axis=0).T
    process = _started([model, str(len(rows)), str(d), str(k)], rows, responsibilities)

    def run(steps: int) -> Arrays:
        numbers = np.array(_ask(process, str(steps)).split(), dtype=np.float64)
        weights, means, turned = np.split(numbers, [k, k + k * d])
        return {"weights": weights, "means": means.reshape(k, d), "covariances": turned.reshape(k, d, d)}

    return run


def _started(arguments: list[str], *tables: np.ndarray) -> subprocess.Popen[str]:
    """R with the script running, the tables read from files that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="unveil-mclust-") as folder:
        files = [Path(folder, f"{number}.bin") for number in range(len(tables))]
        for file, table in zip(files, tables, strict=True):
            table.ravel(order="F").tofile(file)
        command = ["Rscript", "--vanilla", str(SCRIPT), *arguments, *map(str, files)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        _ask(process)
    return process


def _ask(process: subprocess.Popen[str], line: str | None = None) -> str:
    """What R answers to a line, or says by itself."""
    assert process.stdin is not None
    assert process.stdout is not None
    if line is not None:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError("R ended without an answer: is its package mclust installed?")
    return answer
