"""kmedoids, https://python-kmedoids.readthedocs.io: FasterPAM in Rust, by its authors."""

from __future__ import annotations

import kmedoids as library
import numpy as np

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.machine import cores


def medoids(arrays: Arrays, threads: bool) -> Run:
    """fasterpam: rows tried in their order by one core, or in a random order by all."""
    distances, start = arrays["distances"], arrays["medoids"]
    fixed = {"n_cpu": cores(), "random_state": 0} if threads else {"n_cpu": 1}

    def run(steps: int) -> Arrays:
        model = library.fasterpam(distances, start.astype(np.uint64), max_iter=steps, **fixed)
        return {"medoids": np.asarray(model.medoids), "passes": np.array(model.n_iter)}

    return run
