"""pyppca, https://github.com/shergreen/pyppca: probabilistic PCA with holes by EM. It stops by a rule of its own."""

from __future__ import annotations

import contextlib
import io

import numpy as np
from pyppca import ppca

from benchmarks.contenders.interface import Arrays, Run


def factors(arrays: Arrays) -> Run:
    """ppca; what it prints is not shown. Loadings are its directions times the spread of its scores, less the noise."""
    rows, count = arrays["rows"], int(arrays["n_components"])

    def run(steps: int) -> Arrays:
        with contextlib.redirect_stdout(io.StringIO()):
            directions, noise, mean, scores, _ = ppca(rows.copy(), count, False)
        spread = np.maximum(scores.real.var(axis=0) - noise, 0.0)
        return {"loadings": directions.real * np.sqrt(spread), "mean": np.asarray(mean), "noise": np.asarray(noise)}

    return run
