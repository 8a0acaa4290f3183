"""scikit-learn's own checks, for every estimator; those of KernelKMeans and KMedoids are in their own files."""

from __future__ import annotations

import pytest
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


class Counts(PoissonMixture):
    """A mixture of counts. There is no tag for these, but one that makes the checks round the numbers they feed."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


DRAWN = (
    "a start is drawn by row number, so repeated rows draw another one; from the same start weights do equal rows "
    "(scikit-learn's own KMeans has the same exemption)"
)
REASONS = {
    KMeans: {
        "check_sample_weight_equivalence_on_dense_data": DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": DRAWN,
    },
    Counts: {
        "check_positive_only_tag_during_fit": "its table holds a fraction before it holds a negative number, and the "
        "first cell that is no count is the one that is named",
        "check_sample_weight_equivalence_on_dense_data": "feeds fractions whatever the tags say",
    },
}


NO_DIRECTION = "feeds a row of zeros, which has no direction and is refused by its number"
COSINE = dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
    ),
    NO_DIRECTION,
)


def exemptions(estimator):
    """Checks that are expected to fail, each with its reason."""
    reasons = REASONS.get(type(estimator), {})
    return reasons | COSINE if getattr(estimator, "metric", None) == "cosine" else reasons


ESTIMATORS = [
    PCA(),
    KMeans(),
    KMeans(n_clusters=3, algorithm="kd-tree"),
    KMeans(n_clusters=3, metric="cosine"),
    KMeans(n_clusters=3, missing="partial"),
    GaussianMixture(),
    GaussianMixture(covariance_type="VEV"),
    GaussianMixture(covariance_type="EVE"),
    BernoulliMixture(),
    CategoricalMixture(),
    Counts(),
    StudentMixture(),
    MixedMixture(),
]


@pytest.mark.filterwarnings("ignore:KMeans. clusters left without rows")  # some checks feed but a few rows
@pytest.mark.filterwarnings("ignore:.*more parameters than the rows support")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=exemptions)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
