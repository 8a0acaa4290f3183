"""scikit-learn, https://scikit-learn.org."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from benchmarks.contenders.interface import Arrays, Run


def mixture(arrays: Arrays) -> Run:
    """GaussianMixture."""
    return _gaussian(arrays, "full", np.linalg.inv(arrays["covariances"]))


def diagonal(arrays: Arrays) -> Run:
    """GaussianMixture with covariance_type="diag"."""
    return _gaussian(arrays, "diag", 1.0 / arrays["covariances"])


def _gaussian(arrays: Arrays, structure: str, precisions: NDArray[Any]) -> Run:
    """GaussianMixture from the common start."""
    start = {"weights_init": arrays["weights"], "means_init": arrays["means"], "precisions_init": precisions}
    fixed = {"covariance_type": structure, "tol": 0.0, "reg_covar": 0.0, **start}

    def run(steps: int) -> Arrays:
        model = GaussianMixture(len(precisions), max_iter=steps, **fixed).fit(arrays["rows"])
        return {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}

    return run


def kmeans(arrays: Arrays, algorithm: str) -> Run:
    """KMeans by Lloyd's or Elkan's algorithm."""
    centres = arrays["centres"]

    def run(steps: int) -> Arrays:
        model = KMeans(len(centres), init=centres, n_init=1, tol=0.0, max_iter=steps, algorithm=algorithm)
        model.fit(arrays["rows"])
        return {"centres": model.cluster_centers_, "passes": np.array(model.n_iter_)}

    return run


def seeding(arrays: Arrays) -> Run:
    """kmeans_plusplus, greedy with 2 + log(K) candidates by default."""
    rows, k = arrays["rows"], int(arrays["n_clusters"])

    def run(steps: int) -> Arrays:
        return {"seeds": np.array([kmeans_plusplus(rows, k, random_state=seed)[1] for seed in range(steps)])}

    return run


def pca(arrays: Arrays, svd_solver: str) -> Run:
    """PCA by the covariance's eigenvectors or by a singular value decomposition of the rows."""

    def run(steps: int) -> Arrays:
        model = PCA(svd_solver=svd_solver).fit(arrays["rows"])
        return {"variances": model.explained_variance_, "components": model.components_}

    return run
