import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.cluster import BisectingKMeans, MiniBatchKMeans, SpectralClustering
from sklearn.cluster import KMeans as Reference
from sklearn.metrics import pairwise_distances

import unveil
from unveil.judgement.criteria.dissimilarity import distances_of, has_metric, is_kmeans, metric_of
from unveil.judgement.criteria.rows import Rows

X = np.random.default_rng(0).normal(size=(12, 3))


class Medoids(BaseEstimator):
    """Stands for estimators with a metric."""

    def __init__(self, n_clusters=2, metric="euclidean", init="build", n_init=1):
        self.n_clusters, self.metric, self.init, self.n_init = n_clusters, metric, init, n_init


class Kernel(BaseEstimator):
    """Stands for estimators with a kernel."""

    def __init__(self, n_clusters=2, kernel="rbf", init="k-means++", n_init=1, tol=0.0):
        self.n_clusters, self.kernel, self.init, self.n_init, self.tol = n_clusters, kernel, init, n_init, tol


def rows(values=X, chosen=None):
    numbers = np.arange(values.shape[0]) if chosen is None else chosen
    return Rows(values, np.ones(values.shape[0]), numbers, None, values.shape[0], 1.0)


@pytest.mark.parametrize("estimator", [unveil.KMeans(), Reference(), MiniBatchKMeans(), BisectingKMeans()])
def test_what_is_k_means(estimator):
    assert is_kmeans(estimator)
    assert has_metric(estimator)


@pytest.mark.parametrize("estimator", [Medoids(), Kernel(), SpectralClustering()])
def test_what_is_not(estimator):
    assert not is_kmeans(estimator)


def test_kernels_are_no_metrics():
    assert not has_metric(Kernel())
    assert metric_of(Medoids(metric="manhattan")) == "manhattan"
    assert metric_of(unveil.KMeans()) == "euclidean"


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
def test_distances_by_name(metric):
    found = distances_of(Medoids(metric=metric), rows())(slice(2, 7))
    np.testing.assert_allclose(found, pairwise_distances(X, metric=metric)[2:7], atol=1e-7)


def test_a_matrix_of_distances_is_looked_up():
    chosen = np.array([1, 4, 9])
    whole = pairwise_distances(X)
    found = distances_of(Medoids(metric="precomputed"), rows(whole[chosen], chosen))(slice(0, 2))
    np.testing.assert_array_equal(found, whole[np.ix_([1, 4], chosen)])


def test_sparse_rows_and_missing_cells():
    np.testing.assert_allclose(
        distances_of(unveil.KMeans(), rows(csr_matrix(X)))(slice(0, 5)), pairwise_distances(X)[:5], atol=1e-7
    )
    holed = X.copy()
    holed[0, 0] = np.nan
    found = distances_of(unveil.KMeans(), rows(holed))(slice(0, 1))[0, 1]
    assert found == pytest.approx(np.sqrt(3 / 2 * ((X[0, 1:] - X[1, 1:]) ** 2).sum()))
