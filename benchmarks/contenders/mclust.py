"""mclust, https://mclust-org.github.io/mclust, through R.

mclust begins with an M step: it gets the responsibilities that an E step at the common start
gives, and after as many iterations it has made as many M steps as the others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.contenders import r_process
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
    process = r_process.started(SCRIPT, [model, str(len(rows)), str(d), str(k)], rows, responsibilities)

    def run(steps: int) -> Arrays:
        numbers = np.array(r_process.ask(process, SCRIPT.stem, str(steps)).split(), dtype=np.float64)
        weights, means, turned = np.split(numbers, [k, k + k * d])
        return {"weights": weights, "means": means.reshape(k, d), "covariances": turned.reshape(k, d, d)}

    return run
