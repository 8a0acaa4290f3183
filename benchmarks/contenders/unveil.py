"""unveil itself, with its defaults: threads on all cores, float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders.interface import Arrays, Run
from unveil import PCA, BernoulliMixture, GaussianMixture, KMeans


def mixture(arrays: Arrays) -> Run:
    """GaussianMixture."""
    return _gaussian(arrays, arrays["rows"], "full", np.linalg.inv(arrays["covariances"]))


def diagonal(arrays: Arrays) -> Run:
    """GaussianMixture with covariance_type="diag"."""
    return _gaussian(arrays, arrays["rows"], "diag", 1.0 / arrays["covariances"])


def missing(arrays: Arrays, rows: str = "holes") -> Run:
    """GaussianMixture of the rows with holes, or of the complete ones."""
    return _gaussian(arrays, arrays[rows], "full", np.linalg.inv(arrays["covariances"]))


def _gaussian(arrays: Arrays, rows: NDArray[Any], structure: str, precisions: NDArray[Any]) -> Run:
    """GaussianMixture from the common start."""
    start = {"weights_init": arrays["weights"], "means_init": arrays["means"], "precisions_init": precisions}
    fixed = {"covariance_type": structure, "tol": 0.0, "reg_covar": 0.0, **start}

    def run(steps: int) -> Arrays:
        model = GaussianMixture(len(precisions), max_iter=steps, **fixed).fit(rows)
        return {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}

    return run


def bernoulli(arrays: Arrays) -> Run:
    """BernoulliMixture from responsibilities, whose M step is where the others start."""
    shares = arrays["responsibilities"]
    fixed = {"binarize": None, "tol": 0.0, "responsibilities_init": shares}

    def run(steps: int) -> Arrays:
        model = BernoulliMixture(shares.shape[1], max_iter=steps, **fixed).fit(arrays["rows"])
        return {"weights": model.weights_, "probabilities": model.probabilities_}

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
