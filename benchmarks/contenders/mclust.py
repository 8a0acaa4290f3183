"""mclust, https://mclust-org.github.io/mclust, through R.

mclust begins with an M step: it gets the responsibilities that an E step at the common start
gives, and after as many iterations it has made as many M steps as the others. A whole fit is `Mclust` itself.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.contenders import r_process
from benchmarks.contenders.defaults import loaded
from benchmarks.contenders.interface import Arrays, Order, Run, Work
from benchmarks.machine import MISSING, version_in_r
from benchmarks.tasks.mixture import gaussian_joint

SCRIPT = Path(__file__).with_suffix(".R")
WHOLE = Path(__file__).with_name("mclust_whole.R")


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
    process = r_process.started(SCRIPT, [model, str(len(rows)), str(d), str(k)], rows, responsibilities)

    return lambda steps: _read(r_process.ask(process, SCRIPT.stem, str(steps)), k, d)


def _read(line: str, k: int, d: int) -> Arrays:
    """Parameters from the line of numbers that R prints."""
    numbers = np.array(line.split(), dtype=np.float64)
    weights, means, turned = np.split(numbers, [k, k + k * d])
    return {"weights": weights, "means": means.reshape(k, d), "covariances": turned.reshape(k, d, d)}


def whole(arrays: Arrays) -> Work:
    """Mclust(G=k): starts by its own hierarchy, and picks among fourteen shapes of covariances by BIC."""
    if version_in_r("mclust") == MISSING:
        raise RuntimeError("R's package mclust is not installed")
    return _Whole()


class _Whole:
    """An R process for the table at hand."""

    def __init__(self) -> None:
        self._arrays: Arrays = {}
        self._found: Arrays = {}
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, order: Order) -> Arrays:
        """Do what is ordered; what is asked of a fit is answered here, since it is not timed."""
        if order.verb == "load":
            return self._load(loaded(order))
        if order.verb == "fit":
            return self._fit(order)
        return {"found": gaussian_joint(self._arrays["rows"], self._found).argmax(axis=0)}

    def _load(self, arrays: Arrays) -> Arrays:
        self.close()
        self._arrays, sizes = arrays, [*arrays["rows"].shape, int(arrays["k"])]
        self._process = r_process.started(WHOLE, [*map(str, sizes)], arrays["rows"])
        return {}

    def _fit(self, order: Order) -> Arrays:
        assert self._process is not None
        for _ in range(order.calls):
            answer = r_process.ask(self._process, SCRIPT.stem, "fit")
        self._found = _read(answer, int(self._arrays["k"]), self._arrays["rows"].shape[1])
        return self._found

    def close(self) -> None:
        """End R, which does so when nothing more can come."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
