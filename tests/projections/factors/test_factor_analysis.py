"""Factor analysis: at least scikit-learn's likelihood, missing cells, rotations, Heywood cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import FactorAnalysis as Peer
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from unveil import FactorAnalysis, ProbabilisticPCA
from unveil.core.result import Status
from unveil.projections.factors.noise_search import NoisePlace, Profile

Floats = NDArray[np.float64]
random = np.random.default_rng(0)
IRIS, WINE = load_iris().data, load_wine().data
TRUE = random.normal(size=(8, 2)) * 1.5
NOISE = random.uniform(0.2, 2.0, 8)
TABLE = random.normal(size=(600, 2)) @ TRUE.T + random.normal(size=(600, 8)) * np.sqrt(NOISE) + 5.0
HOLES = np.where(random.random(TABLE.shape) < 0.2, np.nan, TABLE)


def log_likelihood(model: Any, X: Floats) -> float:
    covariance, total = model.get_covariance(), 0.0
    for row, o in zip(X, ~np.isnan(X), strict=True):
        factor = np.linalg.cholesky(covariance[np.ix_(o, o)])
        gap = np.linalg.solve(factor, (row - model.mean_)[o])
        total -= 0.5 * (o.sum() * np.log(2 * np.pi) + 2 * np.sum(np.log(np.diagonal(factor))) + gap @ gap)
    return total


CHECKED = [FactorAnalysis(), FactorAnalysis(n_components=1, rotation="varimax")]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore:FactorAnalysis.*more parameters than the rows support")  # some feed but a few rows
@pytest.mark.filterwarnings("ignore:FactorAnalysis. not converged")
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


SETS = {"iris 1": (IRIS, 1), "iris 2": (IRIS, 2), "wine 3": (WINE, 3), "wine 6": (WINE, 6), "drawn": (TABLE, 2)}


@pytest.mark.parametrize(("X", "count"), SETS.values(), ids=SETS.keys())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_likelihood_is_at_least_that_of_scikit_learn(X: Floats, count: int) -> None:
    peer = Peer(count, svd_method="lapack", tol=1e-9, max_iter=2000).fit(X)
    model = FactorAnalysis(count).fit(X)
    assert model.score(X) >= peer.score(X) - 1e-9
    assert model.score(X) * len(X) == pytest.approx(log_likelihood(model, X), rel=1e-9)
    assert model.history_[-1].log_likelihood == pytest.approx(model.score(X) * len(X), rel=1e-9)
    assert model.history_.passes == 1
    assert model.converged_


def test_an_interior_optimum_is_that_of_scikit_learn() -> None:
    peer, model = Peer(2, svd_method="lapack", tol=1e-12, max_iter=5000).fit(TABLE), FactorAnalysis(2).fit(TABLE)
    np.testing.assert_allclose(model.noise_variance_, peer.noise_variance_, rtol=1e-4)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(peer.components_), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(model.get_covariance(), peer.get_covariance(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(np.abs(model.transform(TABLE)), np.abs(peer.transform(TABLE)), rtol=0.01, atol=0.01)
    assert model.loglike_[-1] == pytest.approx(peer.loglike_[-1], rel=1e-9)


def test_canonical_form() -> None:
    model = FactorAnalysis(3).fit(WINE)
    strengths = (model.components_ / model.noise_variance_) @ model.components_.T
    np.testing.assert_allclose(strengths, np.diag(np.diagonal(strengths)), atol=1e-6 * strengths.max())
    assert np.all(np.diff(np.diagonal(strengths)) <= 0)
    assert np.all(model.components_[range(3), np.argmax(np.abs(model.components_), axis=1)] > 0)


@pytest.mark.parametrize("X", [TABLE, HOLES], ids=["complete", "holes"])
def test_units_of_the_columns_do_not_matter(X: Floats) -> None:
    """Were floors measured by other columns, those of small units would drown in them."""
    scales = np.logspace(-6, 6, 8)
    one, other = FactorAnalysis(2, tol=1e-12).fit(X), FactorAnalysis(2, tol=1e-12).fit(X * scales)
    np.testing.assert_allclose(other.noise_variance_, one.noise_variance_ * scales**2, rtol=2e-3)  # where all is flat
    shift = float(np.sum(np.log(scales) * np.mean(~np.isnan(X), axis=0)))
    assert other.score(X * scales) == pytest.approx(one.score(X) - shift, abs=1e-9)


@pytest.mark.parametrize("schedule", ["batch", "squarem", "incremental"])
def test_em_reaches_the_optimum(schedule: str) -> None:
    direct, climbed = FactorAnalysis(2).fit(TABLE), FactorAnalysis(2, schedule=schedule).fit(TABLE)
    assert climbed.score(TABLE) == pytest.approx(direct.score(TABLE), abs=1e-6)


@pytest.mark.parametrize("schedule", ["auto", "batch", "incremental"])
def test_missing_cells(schedule: str) -> None:
    model = FactorAnalysis(2, schedule=schedule).fit(HOLES)
    assert model.score(HOLES) * 600 == pytest.approx(log_likelihood(model, HOLES), rel=1e-12)
    assert model.history_.largest_fall() <= 1e-10 * abs(model.history_[-1].log_likelihood)
    assert model.score(HOLES) * 600 == pytest.approx(-6619.9665, abs=1e-3)  # by three thousand passes of plain EM
    np.testing.assert_allclose(model.noise_variance_, NOISE, rtol=0.35)
    filled = model.impute(HOLES)
    assert np.std((filled - TABLE)[np.isnan(HOLES)]) < 0.8 * np.nanstd(HOLES)


def observed_likelihood(vector: Floats, X: Floats, count: int) -> tuple[float, Floats]:
    """Minus the log-likelihood of the cells, and its gradient in loadings, mean and logarithms of the noise."""
    d = X.shape[1]
    loadings, mean, noise = vector[: d * count].reshape(d, count), vector[d * count : -d], np.exp(vector[-d:])
    value, slopes, pulls = 0.0, np.zeros((d, d)), np.zeros(d)
    for row in X:
        o = ~np.isnan(row)
        total = loadings[o] @ loadings[o].T + np.diag(noise[o])
        inverse, gap = np.linalg.inv(total), row[o] - mean[o]
        pull = inverse @ gap
        value += 0.5 * (o.sum() * np.log(2 * np.pi) + np.linalg.slogdet(total)[1] + gap @ pull)
        slopes[np.ix_(o, o)] += 0.5 * (inverse - np.outer(pull, pull))
        pulls[o] -= pull
    return value, np.concatenate([(2.0 * slopes @ loadings).ravel(), pulls, np.diagonal(slopes) * noise])


HARD = {"wine, 5 of 13": (WINE / WINE.std(axis=0), 5, 0.1), "iris, a Heywood case": (IRIS, 1, 0.2)}


@pytest.mark.parametrize(("X", "count", "share"), HARD.values(), ids=HARD.keys())
def test_missing_cells_end_at_the_optimum_in_few_passes(X: Floats, count: int, share: float) -> None:
    """A search over all parameters at once, from where the fit ended, finds hardly anything more."""
    X = np.where(np.random.default_rng(1).random(X.shape) < share, np.nan, X)
    model = FactorAnalysis(count).fit(X)
    assert model.history_.passes <= 25
    least = np.log(1e-9 * np.nanvar(X, axis=0))
    start = np.concatenate([model.components_.T.ravel(), model.mean_, np.maximum(np.log(model.noise_variance_), least)])
    free = [(None, None)] * (len(start) - X.shape[1])
    bounds = [*free, *((low, None) for low in least)]
    options = {"maxiter": 60, "ftol": 1e-16, "gtol": 1e-9}
    found = minimize(observed_likelihood, start, (X, count), "L-BFGS-B", jac=True, bounds=bounds, options=options)
    assert model.score(X) * len(X) == pytest.approx(-found.fun, abs=1e-6)


def test_a_column_of_which_little_is_seen() -> None:
    """Few cells tell too little for rows to be completed by them; one cell has no variance to measure a floor by."""
    for seen in (1, 2, 20):
        X = np.where((np.arange(8) == 2) & (np.arange(600)[:, None] >= seen), np.nan, TABLE)
        model = FactorAnalysis(1).fit(X)
        assert model.converged_
        assert model.noise_variance_[2] >= 1e-12 * np.nanvar(TABLE)
        assert model.score(X) * 600 == pytest.approx(log_likelihood(model, X), rel=1e-9)


def test_columns_never_seen_together() -> None:
    X = TABLE.copy()
    X[:300, 0], X[300:, 5] = np.nan, np.nan
    model = FactorAnalysis(2).fit(X)
    assert model.converged_
    assert model.history_.passes < 40
    np.testing.assert_allclose(model.get_covariance()[0, 5], (TRUE @ TRUE.T)[0, 5], atol=0.5)


def test_a_heywood_case_is_floored_and_said() -> None:
    model = FactorAnalysis(1).fit(IRIS)
    assert model.noise_variance_[2] == pytest.approx(1e-9 * np.var(IRIS[:, 2]), rel=1e-4)
    assert "the noise of column 2 is held at its floor (a Heywood case)" in str(model.certificate_)
    assert model.certificate_.ok
    assert np.isfinite(model.score_samples(IRIS)).all()


def test_a_heywood_case_with_holes() -> None:
    X = np.where(np.random.default_rng(0).random(IRIS.shape) < 0.2, np.nan, IRIS)
    model = FactorAnalysis(1).fit(X)
    assert "(a Heywood case)" in str(model.certificate_)
    assert model.score(X) * 150 >= -376.46117
    assert model.history_.largest_fall() < 1e-6


def test_no_factors_are_independent_columns() -> None:
    model = FactorAnalysis(0).fit(TABLE)
    np.testing.assert_allclose(model.noise_variance_, np.var(TABLE, axis=0), rtol=1e-6)
    assert model.transform(TABLE).shape == (600, 0)


@pytest.mark.parametrize("holes", [False, True])
def test_bic_finds_the_number(holes: bool) -> None:
    assert FactorAnalysis("bic").fit(HOLES if holes else TABLE).n_components_ == 2


def test_none_is_what_a_covariance_can_tell_apart() -> None:
    assert FactorAnalysis().fit(TABLE).n_components_ == 4
    many = FactorAnalysis(6).fit(TABLE)
    assert "8 columns can tell 4 factors apart, and 6 were asked for" in str(many.certificate_)


# -- rotation ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rotation", ["varimax", "quartimax"])
def test_a_rotation_is_that_of_scikit_learn(rotation: str) -> None:
    X = WINE / WINE.std(axis=0)
    plain, model = FactorAnalysis(2).fit(X), FactorAnalysis(2, rotation=rotation).fit(X)
    start = plain.noise_variance_
    peer = Peer(2, svd_method="lapack", tol=1e-12, max_iter=20_000, rotation=rotation, noise_variance_init=start).fit(X)
    order = np.argsort(-np.sum(peer.components_**2, axis=1))
    np.testing.assert_allclose(np.abs(model.components_), np.abs(peer.components_[order]), atol=2e-3)
    np.testing.assert_allclose(model.get_covariance(), plain.get_covariance(), atol=1e-10)
    assert model.score(X) == pytest.approx(plain.score(X), rel=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), plain.inverse_transform(plain.transform(X)))


def test_varimax_spreads_squared_loadings() -> None:
    def spread(model: FactorAnalysis) -> float:
        return float(np.sum(np.var(model.components_**2, axis=1)))

    assert spread(FactorAnalysis(3, rotation="varimax").fit(WINE)) > spread(FactorAnalysis(3).fit(WINE))


# -- weights, streams, ugly data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [TABLE, HOLES], ids=["complete", "holes"])
def test_weights_equal_repetition(X: Floats) -> None:
    times = np.random.default_rng(2).integers(0, 3, len(X))
    weighted = FactorAnalysis(2).fit(X, sample_weight=times)
    repeated = FactorAnalysis(2).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.noise_variance_, repeated.noise_variance_, rtol=1e-3, atol=1e-6)
    assert weighted.score(X, sample_weight=times) == pytest.approx(
        repeated.score(np.repeat(X, times, axis=0)), abs=1e-7
    )


def test_a_stream() -> None:
    whole, stream, holes = FactorAnalysis(2).fit(TABLE), FactorAnalysis(2), FactorAnalysis(2)
    for first in range(0, 600, 100):
        stream.partial_fit(TABLE[first : first + 100])
        holes.partial_fit(HOLES[first : first + 100])
    assert stream.score(TABLE) == pytest.approx(whole.score(TABLE), abs=1e-8)
    assert holes.score(TABLE) == pytest.approx(whole.score(TABLE), abs=0.3)


@pytest.mark.parametrize("X", [TABLE, HOLES], ids=["complete", "holes"])
def test_an_offset_of_a_hundred_million(X: Floats) -> None:
    X = np.round(X, 4)
    near, far = FactorAnalysis(2).fit(X), FactorAnalysis(2).fit(X + 1e8)
    np.testing.assert_allclose(far.noise_variance_, near.noise_variance_, rtol=1e-4)
    assert far.score(X + 1e8) == pytest.approx(near.score(X), abs=1e-6)


def test_constant_and_duplicated_columns() -> None:
    ugly = np.column_stack([TABLE, np.full(600, 3.0), TABLE[:, 0]])
    model = FactorAnalysis(2).fit(ugly)
    assert np.isfinite(model.score(ugly))
    assert {8} <= {j for j in range(10) if model.noise_variance_[j] < 1e-7 * np.var(ugly)}
    assert model.components_[:, 8] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.filterwarnings("ignore:FactorAnalysis.*more parameters than the rows support")
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_fewer_rows_than_columns(holes: float) -> None:
    draw = np.random.default_rng(5)
    X = draw.normal(size=(12, 2)) @ draw.normal(size=(2, 20)) + draw.normal(size=(12, 20))
    X[draw.random(X.shape) < holes] = np.nan
    model = FactorAnalysis(2).fit(X)
    assert model.score(X) * 12 == pytest.approx(log_likelihood(model, X), rel=1e-6)
    assert model.score(X) >= ProbabilisticPCA(2).fit(X).score(X) - 1e-6


def test_a_start_of_hardly_any_noise_is_no_trap() -> None:
    plain = FactorAnalysis(2).fit(TABLE).score(TABLE)
    for size in (1e-30, 1e30):
        start = FactorAnalysis(2, noise_variance_init=np.full(8, size)).fit(TABLE)
        assert start.score(TABLE) == pytest.approx(plain, abs=1e-8)


def test_many_factors_do_not_lead_the_search_astray() -> None:
    """Unbounded from above, it took noise to the power of thousands."""
    draw = np.random.default_rng(5)
    X = draw.normal(size=(1500, 3)) @ draw.normal(size=(3, 15)) + draw.normal(size=(1500, 15))
    for count in (8, 10, 13, 15):
        model = FactorAnalysis(count).fit(X)
        assert np.all(model.noise_variance_ <= np.var(X, axis=0) * (1 + 1e-9))
        assert model.score(X) >= FactorAnalysis(3).fit(X).score(X)


def counting(monkeypatch: pytest.MonkeyPatch, pressed: int = 0) -> list[Floats]:
    """Where the search over the noise has looked; Ctrl-C is pressed at the look of that number."""
    looks: list[Floats] = []
    look = Profile.look

    def counted(self: Profile, logs: Floats) -> NoisePlace:
        looks.append(logs)
        if len(looks) == pressed:
            raise KeyboardInterrupt
        return look(self, logs)

    monkeypatch.setattr(Profile, "look", counted)
    return looks


@pytest.mark.parametrize("count", [2, "bic"])
def test_an_interrupted_search_keeps_the_best_so_far(count: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counting(monkeypatch, 6 if count == 2 else 30)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = FactorAnalysis(count).fit(TABLE)
    assert model.history_.status is Status.INTERRUPTED
    assert not model.converged_
    assert model.score(TABLE) == pytest.approx(model.history_[-1].log_likelihood / 600, abs=1e-8)


def test_an_interrupted_m_step_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        looks = counting(patch)
        whole = FactorAnalysis(2).fit(HOLES)
    counting(monkeypatch, len(looks) - 12)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = FactorAnalysis(2).fit(HOLES)
    assert 0 < model.n_iter_ < whole.n_iter_
    assert model.score(HOLES) == pytest.approx(whole.score(HOLES), abs=1e-3)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"1 sample.* minimum of 2"):
        FactorAnalysis(1).fit(IRIS[:1])
    with pytest.raises(ValueError, match="n_components=5 must be from 0 to 4 for n_features=4"):
        FactorAnalysis(5).fit(IRIS)
    with pytest.raises(
        ValueError, match="noise_variance_init must hold 4 positive numbers, one a column, got an array of"
    ):
        FactorAnalysis(1, noise_variance_init=np.ones(3)).fit(IRIS)
    with pytest.raises(ValueError, match="column 1: all of its cells are missing"):
        FactorAnalysis(1).fit(np.where(np.arange(4) == 1, np.nan, IRIS))


def test_stopping_early_is_said() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged"):
        model = FactorAnalysis(2, max_iter=1).fit(TABLE)
    assert not model.converged_
