"""tslearn, https://tslearn.readthedocs.io: clustering of time series, whose KernelKMeans takes plain rows as well.

Its distance to a cluster leaves out the squared norm of the cluster's mean, as if that were the same for all, so it
minimises something near the cost of kernel K-means.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.contenders.interface import Arrays, Run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # says on import what optional libraries are missing
    from tslearn.clustering import KernelKMeans


def kernel(arrays: Arrays) -> Run:
    """KernelKMeans with kernel="rbf"; from its seed it draws the labels that the others are given."""
    gamma, seed, k = float(arrays["gamma"]), int(arrays["seed"]), int(arrays["n_clusters"])
    fixed = {"kernel": "rbf", "kernel_params": {"gamma": gamma}, "n_init": 1, "tol": 1e-9, "random_state": seed}

    def run(steps: int) -> Arrays:
        model = KernelKMeans(k, max_iter=steps, **fixed).fit(arrays["rows"])
        return {"labels": np.asarray(model.labels_), "passes": np.array(model.n_iter_)}

    return run
