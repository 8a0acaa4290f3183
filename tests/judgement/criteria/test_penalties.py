import math

import numpy as np
import pytest
from scipy.stats import norm

from unveil.judgement.criteria.clusterings import AIC_PENALTY
from unveil.judgement.criteria.penalties import gaussian_bic, opine_bic, opine_penalty, penalised_aic, penalised_bic


def line(name, values):
    return [{"n_clusters": k, name: value} for k, value in enumerate(values, 1)]


def test_the_prices_of_the_lecture_notes():
    assert penalised_aic(10.0, 3, 4) == 10.0 + 2 * 3 * 4
    assert penalised_bic(10.0, 3, 4) == 10.0 + 3 * math.log(4)
    assert penalised_bic(10.0, 3, 1) == 10.0  # one column costs nothing


def test_bic_is_that_of_the_likelihood_with_known_labels():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [20, 30, 50])
    X = random.normal(size=(100, 2)) + 5.0 * labels[:, None]
    centres = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    cost = ((X - centres[labels]) ** 2).sum()
    shares, spread = np.array([0.2, 0.3, 0.5]), math.sqrt(cost / 200)
    likelihood = np.log(shares[labels]).sum() + norm.logpdf(X, centres[labels], spread).sum()
    parameters = 2 + 6 + 1
    assert gaussian_bic(cost, [20, 30, 50], 2) == pytest.approx(parameters * math.log(100) - 2 * likelihood)


def test_units_do_not_matter_to_the_difference():
    one = gaussian_bic(10.0, [5, 5], 3) - gaussian_bic(30.0, [10], 3)
    other = gaussian_bic(10.0 * 25, [5, 5], 3) - gaussian_bic(30.0 * 25, [10], 3)
    assert one == pytest.approx(other)


def test_an_empty_cluster_costs_its_parameters_only():
    more, less = gaussian_bic(10.0, [5, 5, 0], 3), gaussian_bic(10.0, [5, 5], 3)
    assert more - less == pytest.approx(4 * math.log(10))


def test_rows_on_their_centres_have_no_bic():
    assert gaussian_bic(0.0, [2, 2], 1) is None
    assert gaussian_bic(1.0, [1, 1], 1) is None
    assert opine_bic(line("bic", [None, None])).size is None


@pytest.mark.parametrize(
    ("values", "size", "words"),
    [
        ([90.0, 40.0, 60.0, 70.0], 2, "very strong"),
        ([40.0, 90.0, 95.0, 99.0], 1, "very strong"),
        ([90.0, 40.0, 41.0, 70.0], None, "as good at 3 as at 2"),
        ([90.0, 70.0, 60.0, 50.0], None, "still falls at 4"),
    ],
)
def test_what_bic_is_for(values, size, words):
    assert opine_bic(line("bic", values)).size == size
    assert words in opine_bic(line("bic", values)).words


def test_penalties_have_no_voice():
    told = opine_penalty(AIC_PENALTY, line("penalised_aic", [9.0, 5.0, 7.0]))
    assert (told.size, told.voice) == (2, False)
    assert opine_penalty(AIC_PENALTY, line("penalised_aic", [9.0, 5.0, 3.0])).size is None
