"""scikit-learn's own checks, for every estimator."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from unveil import (
    PCA,
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    KMeans,
    MixedMixture,
    PoissonMixture,
    StudentMixture,
)

RANDOM_START = (
    "a start is drawn by row number, so repeated rows draw another one; from the same start weights do equal rows"
)


def exemptions(estimator):
    """Checks that are expected to fail, each with its reason (scikit-learn's own KMeans has the same one)."""
    return {"check_sample_weight_equivalence_on_dense_data": RANDOM_START} if isinstance(estimator, KMeans) else {}


@parametrize_with_checks(
    [
        PCA(),
        KMeans(n_clusters=3),
        GaussianMixture(),
        GaussianMixture(covariance_type="VEV"),
        GaussianMixture(covariance_type="EVE"),
        BernoulliMixture(),
        CategoricalMixture(),
        PoissonMixture(),
        StudentMixture(),
        MixedMixture(),
    ],
    expected_failed_checks=exemptions,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
