"""unveil itself, with its defaults: threads on all cores, float64."""

from __future__ import annotations

import numpy as np

from benchmarks.contenders.interface import Arrays, Run
from unveil import PCA, GaussianMixture, KMeans


def mixture(arrays: Arrays) -> Run:
    """GaussianMixture."""
    precisions = np.linalg.inv(arrays["covariances"])
    start = {"weights_init": arrays["weights"], "means_init": arrays["means"], "precisions_init": precisions}

    def run(steps: int) -> Arrays:
        model = GaussianMixture(len(precisions), tol=0.0, reg_covar=0.0, max_iter=steps, **start).fit(arrays["rows"])
        return {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}

    return run


def kmeans(arrays: Arrays) -> Run:
    """KMeans, which picks its algorithm itself."""
    centres = arrays["centres"]

    def run(steps: int) -> Arrays:
        model = KMeans(len(centres), init=centres, n_init=1, tol=0.0, max_iter=steps).fit(arrays["rows"])
        return {"centres": model.cluster_centers_, "passes": np.array(model.n_iter_)}

    return run


def pca(arrays: Arrays) -> Run:
    """PCA, which picks its solver itself."""

    def run(steps: int) -> Arrays:
        model = PCA().fit(arrays["rows"])
        return {"variances": model.explained_variance_, "components": model.components_}

    return run
