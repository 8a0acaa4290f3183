"""Planted misfits of mixtures, with their kinds; and fits that describe their rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from unveil import BernoulliMixture, CategoricalMixture, GaussianMixture, MixedMixture, PoissonMixture, StudentMixture
from unveil.judgement.case import Case
from unveil.judgement.describes.density.calibration import Described
from unveil.judgement.describes.density.transforms import log_densities, margin, uniforms
from unveil.judgement.describes.mixtures import examine_mixture
from unveil.judgement.examine import examine

R = np.random.default_rng(200)
N = 400
TURN = R.random(N) * 2 * np.pi
GROUP = R.integers(0, 2, N)[:, None]

PLANTED = {
    "t3": (GaussianMixture(1), R.standard_t(3, size=(N, 2)), "tails", "StudentMixture would gain"),
    "uniform": (GaussianMixture(1), R.random((N, 2)), "bounded", "components would gain"),
    "ring": (GaussianMixture(1), np.c_[np.cos(TURN), np.sin(TURN)] * 3 + R.normal(size=(N, 2)) * 0.2, "bounded", ""),
    "blobs": (GaussianMixture(1), R.normal(size=(N, 2)) + R.integers(0, 3, N)[:, None] * [[6, 4]], "dependence", ""),
    "lognormal": (GaussianMixture(1), np.exp(R.normal(size=(N, 2))), "skew", "the log of column"),
    "exponential": (GaussianMixture(1), R.exponential(size=(N, 1)), "skew", "the log of column 0 would gain"),
    "long": (
        GaussianMixture(2, covariance_type="spherical", random_state=0),
        R.normal(size=(N, 2)) @ np.array([[5, 4.9], [0, 0.5]]) + GROUP * [[0, 8]],
        "shape",
        'covariance_type="full" would gain',
    ),
    "integers": (GaussianMixture(2), R.integers(0, 4, (N, 3)).astype(float), "discrete", "CategoricalMixture"),
    "overdispersed": (PoissonMixture(1), R.poisson(R.gamma(2, 2, size=(N, 3))), "dispersion", "components would gain"),
    "zeros": (PoissonMixture(1), np.where(R.random((N, 1)) < 0.3, 0, R.poisson(5, (N, 1))), "zeros", ""),
    "bits": (
        BernoulliMixture(1),
        (R.random((N, 5)) < np.where(GROUP, 0.8, 0.2)).astype(float),
        "dependence",
        "2 components would gain",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::unveil.certificate.FitWarning")
def test_a_planted_misfit_is_found(name):
    model, X, kind, remedy = PLANTED[name]
    certificate = examine(model.fit(X), X)
    assert certificate.verdicts["describes"] == "no"
    found = {finding.kind: finding for finding in certificate.reasons("describes")}
    assert kind in found
    assert any(remedy in finding.remedy for finding in found.values())


def holes(X):
    X = X.copy()
    X[np.random.default_rng(201).random(X.shape) < 0.1] = np.nan
    return X


HEALTHY = {
    "gaussian": (GaussianMixture(1), R.normal(size=(N, 2)) @ [[1, 0.5], [0, 2]]),
    "groups": (GaussianMixture(2, random_state=0), R.normal(size=(N, 2)) + 6 * GROUP),
    "too many": (GaussianMixture(4, random_state=0), R.normal(size=(N, 2)) + 6 * GROUP),
    "holes": (GaussianMixture(2, random_state=0), holes(R.normal(size=(N, 3)) + 6 * GROUP)),
    "student": (StudentMixture(1, random_state=0), R.normal(size=(N, 2)) / np.sqrt(R.chisquare(4, (N, 1)) / 4)),
    "counts": (PoissonMixture(2, random_state=0), R.poisson(np.where(GROUP, 3, 10), size=(N, 3))),
    "bits": (BernoulliMixture(2, random_state=0), (R.random((N, 5)) < np.where(GROUP, 0.8, 0.2)).astype(float)),
    "words": (CategoricalMixture(1), R.choice(np.array(["a", "b", "c"], dtype=object), (N, 3))),
    "mixed": (
        MixedMixture(2, random_state=0, families={1: "count"}),
        np.c_[R.normal(size=N) + 5 * GROUP[:, 0], R.poisson(np.where(GROUP[:, 0], 2, 8))],
    ),
    "rounded": (GaussianMixture(1), R.normal(size=(N, 2)).round(1)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_model_that_is_true_describes_its_rows(name):
    model, X = HEALTHY[name]
    certificate = examine(model.fit(X), X)
    assert certificate.verdicts["describes"] == "yes", str(certificate)


def test_a_harmless_misfit_of_many_rows_is_no_reason():
    X = np.random.default_rng(202).standard_t(20, size=(50_000, 1))
    assert examine(GaussianMixture(1).fit(X), X).verdicts["describes"] != "no"


def test_the_same_words_for_the_same_seed_and_nothing_is_changed():
    model, X = HEALTHY["groups"]
    model.fit(X)
    before = {name: np.copy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    one, other = (examine_mixture(Case(model, X, seed=3)) for _ in range(2))
    assert one == other
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)


def test_weights_are_rows():
    random = np.random.default_rng(203)
    X, weights = random.normal(size=(300, 2)), random.integers(1, 4, 300).astype(float)
    model = GaussianMixture(1).fit(X, sample_weight=weights)
    assert examine(model, X, sample_weight=weights).verdicts["describes"] == "yes"
    heavy = random.standard_t(2, size=(300, 2))
    model = GaussianMixture(1).fit(heavy, sample_weight=weights)
    assert examine(model, heavy, sample_weight=weights).verdicts["describes"] == "no"


def test_columns_are_called_by_their_names():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(204)
    X = pandas.DataFrame({"age": random.normal(size=300), "income": np.exp(random.normal(size=300))})
    found = examine(GaussianMixture(1).fit(X), X)["skew"]
    assert "'income'" in found.message
    assert "upper" in found.message
    assert "'income'" in found.remedy


def test_few_rows_say_nothing():
    X = np.random.default_rng(205).normal(size=(12, 2))
    assert examine(GaussianMixture(1).fit(X), X).verdicts["describes"] == "not examined"


def test_transforms_of_a_mixture_are_those_of_its_density():
    model, X = HEALTHY["groups"]
    fitted = model.fit(X)._mixture()
    case = Described(fitted.model, fitted.params, X, np.ones(len(X)))
    np.testing.assert_allclose(log_densities(case), model.score_samples(X))
    turned = uniforms(case, np.random.default_rng(0))
    np.testing.assert_allclose(turned.in_turn[0], margin(case, 0, case.framed[0]), atol=1e-12)
    np.testing.assert_allclose(turned.responsibilities.T, model.predict_proba(X), atol=1e-12)
    row, line = X[5], np.linspace(-30, X[5, 1], 20001)
    pairs = zip(model.weights_, model.means_, model.covariances_, strict=True)
    joint = sum(w * multivariate_normal(m, c).pdf(np.c_[np.full_like(line, row[0]), line]) for w, m, c in pairs)
    pairs = zip(model.weights_, model.means_, model.covariances_, strict=True)
    alone = sum(w * multivariate_normal(m[:1], c[:1, :1]).pdf(row[0]) for w, m, c in pairs)
    np.testing.assert_allclose(turned.in_turn[1, 5], np.trapezoid(joint, line) / alone, atol=1e-6)


def test_the_order_of_the_rows_is_harmless():
    random = np.random.default_rng(0)
    rows = random.normal(size=(1000, 2)) + np.repeat([[0.0], [9.0]], 500, axis=0)  # sorted by group
    model = GaussianMixture(2, random_state=0).fit(rows)
    assert examine(model, rows).verdicts["describes"] == "yes"
    assert examine(model, random.permutation(rows)).verdicts["describes"] == "yes"


def test_what_degenerates_is_no_remedy():
    """Two straight lines: covariances of their own have no spread across them, and gain without end."""
    along = np.random.default_rng(0).uniform(-1, 1, (2, 150))
    X = np.concatenate([np.column_stack([along[0], 2 * along[0]]), np.column_stack([6 + along[1], -2 * along[1]])])
    certificate = examine(GaussianMixture(2, covariance_type="tied", random_state=0).fit(X), X)
    assert certificate.verdicts["describes"] == "no"
    assert not any("'full'" in one.remedy or '"full"' in one.remedy for one in certificate.reasons("describes"))
