import warnings

import numpy as np
import pytest

from unveil import GaussianMixture, KMeans, watch
from unveil.core.result import State
from unveil.judgement.criteria.fits import fitted

X = np.random.default_rng(0).normal(size=(60, 2))


def test_a_clone_is_fitted_with_a_seed_and_quietly():
    estimator = GaussianMixture(max_iter=1, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(estimator, {"n_components": 2}, X, None)
    assert (model.n_components, model.random_state, model.converged_) == (2, 0, False)
    assert not hasattr(estimator, "means_")


def test_weights_reach_the_fit():
    weights = np.r_[np.full(30, 5.0), np.full(30, 1.0)]
    model = fitted(KMeans(), {"n_clusters": 1}, X, weights)
    np.testing.assert_allclose(model.cluster_centers_[0], np.average(X, axis=0, weights=weights))


def test_what_was_interrupted_is_no_result():
    def stop(state: State) -> None:
        raise KeyboardInterrupt

    class Stopped(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            with watch(stop):
                return super().fit(X, y, sample_weight)

    with pytest.raises(KeyboardInterrupt):
        fitted(Stopped(), {"n_clusters": 3}, X, None)
