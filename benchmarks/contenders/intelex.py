"""scikit-learn-intelex: scikit-learn's classes on Intel's oneDAL. It has no mixture of its own."""

from __future__ import annotations

import numpy as np
from sklearnex.cluster import KMeans
from sklearnex.decomposition import PCA

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.tasks.components import Wide


def kmeans(arrays: Arrays) -> Run:
    """KMeans by Lloyd's algorithm; it takes "elkan" for the same."""
    centres = arrays["centres"]

    def run(steps: int) -> Arrays:
        model = KMeans(len(centres), init=centres, n_init=1, tol=0.0, max_iter=steps, algorithm="lloyd")
        model.fit(arrays["rows"])
        return {"centres": model.cluster_centers_, "passes": np.array(model.n_iter_)}

    return run


def pca(arrays: Arrays) -> Run:
    """PCA by the covariance's eigenvectors."""

    def run(steps: int) -> Arrays:
        model = PCA(svd_solver="covariance_eigh").fit(arrays["rows"])
        return {"variances": model.explained_variance_, "components": model.components_}

    return run


def wide(arrays: Arrays) -> Run:
    """The same with few components."""
    table, count = Wide.table(arrays), int(arrays["n_components"])

    def run(steps: int) -> Arrays:
        return {"components": PCA(count, svd_solver="covariance_eigh").fit(table).components_}

    return run
