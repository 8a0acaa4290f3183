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


class Counts(PoissonMixture):
    """A mixture of counts. There is no tag for these, but one that makes the checks round the numbers they feed."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


REASONS = {
    KMeans: {
        "check_sample_weight_equivalence_on_dense_data": "a start is drawn by row number, so repeated rows draw "
        "another one; from the same start weights do equal rows (scikit-learn's own KMeans has the same exemption)",
    },
    Counts: {
        "check_positive_only_tag_during_fit": "its table holds a fraction before it holds a negative number, and the "
        "first cell that is no count is the one that is named",
        "check_sample_weight_equivalence_on_dense_data": "feeds fractions whatever the tags say",
    },
}


def exemptions(estimator):
    """Checks that are expected to fail, each with its reason."""
    return REASONS.get(type(estimator), {})


ESTIMATORS = [
    PCA(),
    KMeans(n_clusters=3),
    GaussianMixture(),
    GaussianMixture(covariance_type="VEV"),
    GaussianMixture(covariance_type="EVE"),
    BernoulliMixture(),
    CategoricalMixture(),
    Counts(),
    StudentMixture(),
    MixedMixture(),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=exemptions)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
