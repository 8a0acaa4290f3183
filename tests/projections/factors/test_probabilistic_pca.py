"""Probabilistic PCA: the closed form, EM with missing cells, what it is used for, and ugly data."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import unveil
from tests.projections.factors.tables import Floats, log_likelihood, table
from unveil import FactorAnalysis, ProbabilisticPCA

IRIS = load_iris().data
random = np.random.default_rng(0)


@parametrize_with_checks([ProbabilisticPCA(), ProbabilisticPCA(n_components=1, schedule="squarem")])
@pytest.mark.filterwarnings("ignore:ProbabilisticPCA. the noise variance is held")  # some checks feed but a few rows
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# -- complete rows -----------------------------------------------------------------------------------------------------


def test_the_reference() -> None:
    model = ProbabilisticPCA(2).fit(IRIS)
    assert model.noise_variance_ == pytest.approx(0.050682147865, abs=1e-12)
    assert model.score(IRIS) * 150 == pytest.approx(-404.962780156, abs=1e-9)
    assert model.history_[-1].log_likelihood == pytest.approx(-404.962780156, abs=1e-9)
    assert (model.converged_, model.n_iter_, model.history_.passes) == (True, 1, 1)
    assert model.certificate_.ok


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_directions_are_those_of_pca(count: int) -> None:
    model, plain = ProbabilisticPCA(count).fit(IRIS), decomposition.PCA(count).fit(IRIS)
    np.testing.assert_allclose(np.abs(model.components_ @ plain.components_.T), np.eye(count), atol=1e-10)
    np.testing.assert_allclose(model.explained_variance_, plain.explained_variance_ * 149 / 150)
    np.testing.assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(count), atol=1e-12)
    assert log_likelihood(model, IRIS) == pytest.approx(model.score(IRIS) * 150, rel=1e-12)
    assert model.transform(IRIS).shape == (150, count)


@pytest.mark.parametrize("schedule", ["batch", "squarem", "incremental"])
def test_em_reaches_the_closed_form(schedule: str) -> None:
    X = load_wine().data[:, [0, 1, 5, 6, 8]]
    closed, climbed = ProbabilisticPCA(2).fit(X), ProbabilisticPCA(2, schedule=schedule, tol=1e-13).fit(X)
    assert climbed.history_[-1].log_likelihood == pytest.approx(closed.history_[-1].log_likelihood, abs=1e-9)
    np.testing.assert_allclose(climbed.components_, closed.components_, atol=1e-6)
    assert climbed.noise_variance_ == pytest.approx(closed.noise_variance_, rel=1e-8)


@pytest.mark.parametrize("schedule", ["gradient", "ascent", "lbfgs"])
def test_schedules_that_do_not_suit_are_refused(schedule: str) -> None:
    with pytest.raises(ValueError, match=r"schedule .* is not possible: Factors has no unconstrained coordinates"):
        ProbabilisticPCA(1, schedule=schedule).fit(IRIS)


# -- missing cells -----------------------------------------------------------------------------------------------------


def plain_em(X: Floats, q: int, passes: int) -> float:
    """The log-likelihood that a loop of conditionals ends at."""
    mean, noise = np.nanmean(X, axis=0), float(np.nanvar(X))
    loadings = np.random.default_rng(3).normal(size=(X.shape[1], q))
    for _ in range(passes):
        total = loadings @ loadings.T + noise * np.eye(len(mean))
        grams, cross = np.zeros((len(mean), q + 1, q + 1)), np.zeros((len(mean), q + 1))
        for row in X:
            o = ~np.isnan(row)
            gain = loadings[o].T @ np.linalg.inv(total[np.ix_(o, o)])
            z = np.append(gain @ (row - mean)[o], 1.0)
            second = np.outer(z, z)
            second[:q, :q] += np.eye(q) - gain @ loadings[o]
            grams[o] += second
            cross[o] += row[o, None] * z
        both = np.array([np.linalg.solve(a, b) for a, b in zip(grams, cross, strict=True)])
        noise = float(np.nansum(X**2) - np.sum(both * cross)) / np.count_nonzero(~np.isnan(X))
        loadings, mean = both[:, :q], both[:, q]
    total = loadings @ loadings.T + noise * np.eye(len(mean))
    seen = [(row, o) for row, o in zip(X, ~np.isnan(X), strict=True) if o.any()]
    return float(sum(multivariate_normal(mean[o], total[np.ix_(o, o)]).logpdf(row[o]) for row, o in seen))


@pytest.mark.parametrize("repeated", [False, True], ids=["patterns differ", "patterns repeat"])
def test_missing_cells_end_where_a_plain_loop_does(repeated: bool) -> None:
    X = table(25, 4, 1, 0.0, seed=2)
    draw = np.random.default_rng(1)
    X[(draw.random((25, 1)) < 0.4) & (np.arange(4) < 2) if repeated else draw.random(X.shape) < 0.25] = np.nan
    X[17] = np.nan
    model = ProbabilisticPCA(1, tol=1e-14, max_iter=400).fit(X)
    assert model.history_[-1].log_likelihood == pytest.approx(plain_em(X, 1, 1000), abs=1e-9)
    assert model.score(X) * 25 == pytest.approx(log_likelihood(model, X), rel=1e-13)
    assert model.history_.largest_fall() <= 1e-11 * abs(model.history_[-1].log_likelihood)


@pytest.mark.parametrize("schedule", ["batch", "squarem", "incremental", "stepwise"])
def test_schedules_agree_on_missing_cells(schedule: str) -> None:
    X = table()
    model, other = ProbabilisticPCA(2).fit(X), ProbabilisticPCA(2, schedule=schedule).fit(X)
    assert other.score(X) == pytest.approx(model.score(X), rel=1e-4 if schedule == "stepwise" else 1e-8)
    if schedule != "stepwise":
        assert other.history_.largest_fall() <= 1e-10 * abs(other.history_[-1].log_likelihood)


def test_a_row_of_which_nothing_is_seen() -> None:
    X = table()
    X[3] = np.nan
    model = ProbabilisticPCA(2).fit(X)
    assert model.score_samples(X)[3] == 0.0
    np.testing.assert_array_equal(model.transform(X)[3], 0.0)
    np.testing.assert_allclose(model.impute(X)[3], model.mean_)
    without = ProbabilisticPCA(2).fit(np.delete(X, 3, axis=0))
    assert model.score(X) * 400 == pytest.approx(without.score(np.delete(X, 3, axis=0)) * 399, abs=1e-4)


@pytest.mark.parametrize("kind", [ProbabilisticPCA, FactorAnalysis])
def test_two_groups_of_columns_never_seen_together(kind: Any) -> None:
    """Both groups have two directions of their own; a fit that never related them would find one in each."""
    X = table(300, 8, 2, 0.0)
    X[:150, :4], X[150:, 4:] = np.nan, np.nan
    model = kind(2).fit(X)
    assert model.converged_
    for rows, columns in ((slice(150, None), slice(4)), (slice(150), slice(4, None))):
        found = np.linalg.eigvalsh(model.get_covariance()[columns, columns])
        np.testing.assert_allclose(found[-2:], np.linalg.eigvalsh(np.cov(X[rows, columns].T))[-2:], rtol=0.1)


def test_imputation_is_the_conditional_expectation() -> None:
    X = table(60)
    model = ProbabilisticPCA(2).fit(X)
    filled, covariance = model.impute(X), model.get_covariance()
    for row, got in zip(X, filled, strict=True):
        o, m = ~np.isnan(row), np.isnan(row)
        slope = covariance[np.ix_(m, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
        np.testing.assert_allclose(got[m], model.mean_[m] + slope @ (row - model.mean_)[o], rtol=1e-8)
        np.testing.assert_array_equal(got[o], row[o])
    expected = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(expected[np.isnan(X)], filled[np.isnan(X)], rtol=1e-10)


def test_scores_of_rows_with_holes_come_near_those_of_whole_rows() -> None:
    whole = table(300, 10, 2, 0.0)
    model = ProbabilisticPCA(2).fit(whole)
    holes = np.where(random.random(whole.shape) < 0.2, np.nan, whole)
    assert np.corrcoef(model.transform(holes)[:, 0], model.transform(whole)[:, 0])[0, 1] > 0.99


# -- how many components -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_bic_finds_the_dimension(holes: float) -> None:
    X = table(500, 8, 3, holes)
    model = ProbabilisticPCA("bic").fit(X)
    assert model.n_components_ == 3
    others = {count: ProbabilisticPCA(count).fit(X).bic(X) for count in range(8)}
    assert min(others, key=others.__getitem__) == 3
    assert model.bic(X) == pytest.approx(others[3], rel=1e-9)


def test_bic_finds_no_structure_in_noise() -> None:
    assert ProbabilisticPCA("bic").fit(random.normal(size=(500, 5))).n_components_ == 0


def test_minka() -> None:
    X = table(500, 8, 3, 0.0)
    assert ProbabilisticPCA("mle").fit(X).n_components_ == decomposition.PCA("mle").fit(X).n_components_ == 3
    with pytest.raises(ValueError, match="n_components='mle' is for complete rows, and X has missing cells"):
        ProbabilisticPCA("mle").fit(table())
    with pytest.raises(ValueError, match="only supported if n_samples >= n_features"):
        ProbabilisticPCA("mle").fit(X[:5])


def test_criteria() -> None:
    model = ProbabilisticPCA(2).fit(IRIS)
    n_parameters = 4 + 4 * 2 - 1 + 1
    assert model.aic(IRIS) == pytest.approx(2 * 404.962780156 + 2 * n_parameters)
    assert model.bic(IRIS) == pytest.approx(2 * 404.962780156 + n_parameters * np.log(150))


# -- the rest of the face ----------------------------------------------------------------------------------------------


def test_a_precision_is_the_inverse_of_the_covariance() -> None:
    model = ProbabilisticPCA(2).fit(IRIS)
    np.testing.assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(4), atol=1e-10)


def test_a_sample_has_the_moments_of_the_model() -> None:
    model = ProbabilisticPCA(2, random_state=0).fit(IRIS)
    drawn = model.sample(40_000)
    np.testing.assert_allclose(drawn.mean(axis=0), model.mean_, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), model.get_covariance(), atol=0.1)
    np.testing.assert_array_equal(drawn, model.sample(40_000))


def test_float32_stays_float32() -> None:
    light = table().astype(np.float32)
    model = ProbabilisticPCA(2).fit(light)
    assert model.transform(light).dtype == model.impute(light).dtype == np.float32
    assert model.score(light) == pytest.approx(ProbabilisticPCA(2).fit(light.astype(np.float64)).score(light))


def test_frames_and_their_names() -> None:
    frame = pd.DataFrame(table(), columns=list("abcdefg"))
    model = ProbabilisticPCA(2).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["probabilisticpca0", "probabilisticpca1"]
    assert list(model.feature_names_in_) == list("abcdefg")


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("kind", [ProbabilisticPCA, FactorAnalysis])
def test_pickles_files_and_copies(kind: Any, holes: float, tmp_path: Path) -> None:
    X = table(holes=holes)
    model = kind(2).fit(X)
    model.save(tmp_path / "model.unveil")
    copies = [pickle.loads(pickle.dumps(model)), unveil.load(tmp_path / "model.unveil")]
    assert {copy.transform(X).tobytes() for copy in copies} == {model.transform(X).tobytes()}
    assert {str(copy.certificate_) for copy in copies} == {str(model.certificate_)}
    further = model.partial_fit(table()[:50]).components_.tobytes()
    assert {copy.partial_fit(table()[:50]).components_.tobytes() for copy in copies} == {further}
    assert clone(model).n_components == 2


def test_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="unveil"):
        ProbabilisticPCA(2, verbose=1).fit(table())
    assert "ProbabilisticPCA: pass 1, free energy per row" in caplog.text
