"""scikit-learn, https://scikit-learn.org."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.mixture import GaussianMixture

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.tasks.components import Components, Sparse, Wide
from benchmarks.tasks.sources import REACHED, gradient_norm


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


def wide(arrays: Arrays, svd_solver: str) -> Run:
    """PCA with few components."""
    return _few(Wide, arrays, svd_solver)


def sparse(arrays: Arrays, svd_solver: str) -> Run:
    """PCA of compressed rows, which are centred implicitly."""
    return _few(Sparse, arrays, svd_solver)


def _few(task: type[Components], arrays: Arrays, svd_solver: str) -> Run:
    table, count = task.table(arrays), int(arrays["n_components"])

    def run(steps: int) -> Arrays:
        return {"components": PCA(count, svd_solver=svd_solver, random_state=0).fit(table).components_}

    return run


def discriminant(arrays: Arrays, solver: str) -> Run:
    """LinearDiscriminantAnalysis."""

    def run(steps: int) -> Arrays:
        model = LinearDiscriminantAnalysis(solver=solver).fit(arrays["rows"], arrays["labels"])
        return {"coefficients": model.coef_, "intercepts": model.intercept_}

    return run


def sources(arrays: Arrays, whiten_solver: str) -> Run:
    """FastICA at the loosest tolerance, a power of ten, that makes the gradient small enough."""
    rows = arrays["rows"]

    def fit(tol: float) -> FastICA:
        return FastICA(whiten_solver=whiten_solver, tol=tol, max_iter=400, random_state=0).fit(rows)

    tolerances = (10.0**-digits for digits in range(4, 15))
    enough = next((tol for tol in tolerances if gradient_norm(fit(tol).components_, rows) <= REACHED), 1e-15)

    def run(steps: int) -> Arrays:
        model = fit(enough)
        return {"unmixing": model.components_, "passes": np.array(model.n_iter_)}

    return run
