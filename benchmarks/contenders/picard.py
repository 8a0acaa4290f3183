"""python-picard, https://mind-inria.github.io/picard: maximum likelihood by preconditioned L-BFGS."""

from __future__ import annotations

import numpy as np
from picard import picard

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.tasks.sources import REACHED


def sources(arrays: Arrays) -> Run:
    """picard with its defaults: orthogonal, for heavy and light tails."""
    rows = arrays["rows"]

    def run(steps: int) -> Arrays:
        whitening, rotation, _, passes = picard(rows.T, tol=REACHED, max_iter=400, random_state=0, return_n_iter=True)
        return {"unmixing": rotation @ whitening, "passes": np.array(passes)}

    return run
