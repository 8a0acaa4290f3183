"""Probabilistic PCA: the closed form, EM with missing cells, what it is used for, and ugly data."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import unveil
from unveil import FactorAnalysis, ProbabilisticPCA
from unveil.certificate import FitWarning
from unveil.core.result import Status
from unveil.engines import Dask, Threads
from unveil.projections.factors.missing import Factors
from unveil.schedules import Stepwise
from unveil.sources import ArraySource

Floats = NDArray[np.float64]
IRIS = load_iris().data
random = np.random.default_rng(0)


def table(n: int = 400, d: int = 7, q: int = 2, holes: float = 0.2, seed: int = 0) -> Floats:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n, q)) @ draw.normal(size=(q, d)) * 2.0 + draw.normal(size=(n, d)) * 0.5 + 3.0
    return np.where(draw.random((n, d)) < holes, np.nan, rows)


def log_likelihood(model: Any, X: Floats, weights: Floats | None = None) -> float:
    """By the marginal of the cells of each row."""
    covariance, total = model.get_covariance(), 0.0
    for row, weight in zip(X, np.ones(len(X)) if weights is None else weights, strict=True):
        o = ~np.isnan(row)
        if o.any():
            total += weight * multivariate_normal(model.mean_[o], covariance[np.ix_(o, o)]).logpdf(row[o])
    return float(total)


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


# -- weights, streams --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_weights_equal_repetition(holes: float) -> None:
    X, times = table(200, holes=holes), random.integers(0, 3, 200)
    weighted = ProbabilisticPCA(2).fit(X, sample_weight=times)
    repeated = ProbabilisticPCA(2).fit(np.repeat(X, times, axis=0))
    for name in ("components_", "explained_variance_", "noise_variance_", "mean_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-7, atol=1e-8)
    assert weighted.score(X, sample_weight=times) == pytest.approx(repeated.score(np.repeat(X, times, axis=0)))
    assert weighted.bic(X, times) == pytest.approx(repeated.bic(np.repeat(X, times, axis=0)))


def test_a_stream_of_complete_batches_is_the_fit_of_all() -> None:
    X = table(1000, holes=0.0)
    stream = ProbabilisticPCA(2)
    for first in range(0, 1000, 150):
        stream.partial_fit(X[first : first + 150])
    whole = ProbabilisticPCA(2).fit(X)
    np.testing.assert_allclose(stream.components_, whole.components_, rtol=1e-9, atol=1e-11)
    assert stream.noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-11)
    assert stream.history_.status is Status.STREAMING
    assert (stream.n_iter_, stream.converged_) == (7, False)


def test_a_stream_with_missing_cells_comes_near() -> None:
    X = table(6000)
    stream, whole = ProbabilisticPCA(2), ProbabilisticPCA(2).fit(X)
    for first in range(0, 6000, 500):
        stream.partial_fit(X[first : first + 500])
    assert stream.score(X) == pytest.approx(whole.score(X), abs=0.01)
    mixed = ProbabilisticPCA(2, schedule=Stepwise(decay=0.8)).partial_fit(table(6000, holes=0.0)[:2000])
    for first in range(0, 6000, 500):
        mixed.partial_fit(X[first : first + 500])
    assert mixed.score(X) == pytest.approx(whole.score(X), abs=0.01)


def test_a_fit_or_complete_batches_go_on_with_missing_cells() -> None:
    X, more = table(3000, holes=0.0), table(3000)[:500]
    for begun in (ProbabilisticPCA(2).fit(X), ProbabilisticPCA(2).partial_fit(X), ProbabilisticPCA(2).fit(table(3000))):
        before = begun.components_.copy()
        begun.partial_fit(more)
        np.testing.assert_allclose(begun.components_, before, atol=0.05)
        assert not np.array_equal(begun.components_, before)


def test_a_refused_batch_leaves_the_stream_as_it_was() -> None:
    bad = table(100)
    bad[70, 2] = np.inf
    for start in (table(500), table(500, holes=0.0)):
        model = ProbabilisticPCA(2).partial_fit(start)
        before = model.components_.tobytes()
        with pytest.raises(ValueError, match="infinity: row 70, column 2"):
            model.partial_fit(ArraySource(bad))
        assert model.components_.tobytes() == before
        with pytest.raises(ValueError, match="n_components=3 was changed"):
            clone(model).set_params(n_components=2).partial_fit(start).set_params(n_components=3).partial_fit(start)


# -- ugly data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_an_offset_of_a_hundred_million(holes: float) -> None:
    X = np.round(table(holes=holes), 4)
    near, far = ProbabilisticPCA(2).fit(X), ProbabilisticPCA(2).fit(X + 1e8)
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-5)
    assert far.noise_variance_ == pytest.approx(near.noise_variance_, rel=1e-6)
    assert far.score(X + 1e8) == pytest.approx(near.score(X), rel=1e-6)
    np.testing.assert_allclose(far.mean_ - 1e8, near.mean_, atol=1e-6)


def test_rows_in_a_plane_have_no_noise() -> None:
    flat = random.normal(size=(100, 2)) @ random.normal(size=(2, 5))
    with pytest.warns(
        FitWarning,
        match="noise variance is held at .*, its floor: the rows lie in 2 dimensions or fewer, but for a billionth",
    ):
        model = ProbabilisticPCA(2).fit(flat)
    assert np.isfinite(model.score(flat))
    assert model.noise_variance_ == pytest.approx(1e-9 * np.mean(np.var(flat, axis=0)))
    assert not model.certificate_.ok
    assert "noise" in model.certificate_
    assert ProbabilisticPCA().fit(flat).n_components_ == 1


@pytest.mark.parametrize(("rank", "count"), [(2, 2), (2, 3), (3, 3)])
def test_rows_in_a_plane_with_holes(rank: int, count: int) -> None:
    flat = random.normal(size=(100, rank)) @ random.normal(size=(rank, 8))
    X = np.where(random.random(flat.shape) < 0.1, np.nan, flat)
    with pytest.warns(FitWarning, match="the noise variance is held at .*, its floor"):
        model = ProbabilisticPCA(count).fit(X)
    assert model.converged_
    assert model.history_.passes < 60
    assert model.noise_variance_ == pytest.approx(1e-9 * np.mean(np.nanvar(X, axis=0)), rel=1e-6)
    np.testing.assert_allclose(model.impute(X), flat, atol=1e-5 * np.std(flat))


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_fewer_rows_than_columns(holes: float) -> None:
    X = table(12, 30, 2, holes)
    model = ProbabilisticPCA(2).fit(X)
    assert model.score(X) * 12 == pytest.approx(log_likelihood(model, X), rel=1e-10)
    assert ProbabilisticPCA().fit(table(12, 30, 2, 0.0)).n_components_ == 10
    if not holes:
        values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / 12
        assert model.noise_variance_ == pytest.approx(values[2:].sum() / 28)


def test_constant_and_duplicated_columns() -> None:
    X = table(holes=0.0)
    ugly = np.column_stack([X, np.full(400, 7.1e7), X[:, 0]])
    model = ProbabilisticPCA(2).fit(ugly)
    assert model.score(ugly) * 400 == pytest.approx(log_likelihood(model, ugly), rel=1e-9)
    assert model.components_[:, 7] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(model.components_[:, 0], model.components_[:, 8], atol=1e-10)


def test_one_row_and_equal_rows() -> None:
    with pytest.raises(ValueError, match=r"1 sample.* minimum of 2"):
        ProbabilisticPCA(1).fit(IRIS[:1])
    with pytest.raises(ValueError, match="X has no variance: all rows are equal"):
        ProbabilisticPCA(1).fit(np.tile([1e8 + 0.1, 3.0], (5, 1)))
    with pytest.raises(ValueError, match="X has no variance: all rows are equal"):
        ProbabilisticPCA(1).fit(IRIS, sample_weight=np.eye(150)[0])


def test_a_column_wholly_missing() -> None:
    X = table()
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="X has no value in column 2: all of its cells are missing"):
        ProbabilisticPCA(1).fit(X)


def test_other_refusals() -> None:
    with pytest.raises(ValueError, match="n_components=4 must be from 0 to 3 for n_features=4"):
        ProbabilisticPCA(4).fit(IRIS)
    with pytest.raises(ValueError, match="infinity: row 5, column 1"):
        ProbabilisticPCA(1).fit(ArraySource(np.where(np.arange(600).reshape(150, 4) == 21, np.inf, IRIS)))
    both = table()
    both[300, 3] = -np.inf
    with pytest.raises(ValueError, match="infinity: row 300, column 3"):
        ProbabilisticPCA(1).fit(ArraySource(both))
    model = ProbabilisticPCA(2).fit(IRIS)
    with pytest.raises(ValueError, match="X must have 2 columns, one a component, got 3"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="n_samples must be a positive integer, got 0"):
        model.sample(0)


@pytest.mark.parametrize("kind", [ProbabilisticPCA, FactorAnalysis])
@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("size", [1e200, 1e80, 1e-80, 1e-160])
def test_squares_that_numbers_cannot_hold(kind: Any, holes: float, size: float) -> None:
    with pytest.raises(ValueError, match=r"X has a column whose weighted squares add up to .* change the units"):
        kind(1).fit(table(holes=holes) * size)
    if size in (1e80, 1e-80):
        with pytest.raises(ValueError, match=r"weighted squares add up to .* change the units"):
            kind(1).fit(table(holes=holes), sample_weight=np.full(400, size**2))


def test_interrupted_while_choosing_the_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the choice too, not just the number that was being tried."""
    tried = []

    def pressed(self: Any, *given: Any) -> tuple[Any, float]:
        tried.append(given[0].kernel.loadings.shape[1])
        if len(tried) > 12:
            raise KeyboardInterrupt
        return sums(self, *given)

    sums = Factors._sums
    monkeypatch.setattr(Factors, "_sums", pressed)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = ProbabilisticPCA("bic", engine=Threads(1)).fit(table())
    assert len(tried) == 13
    assert model.n_components_ <= max(tried)
    assert not model.converged_


def test_stopping_early_is_said() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged: stopped at the limit of 2 passes"):
        model = ProbabilisticPCA(2, max_iter=2, tol=0.0).fit(table())
    assert not model.converged_


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


# -- same bits ---------------------------------------------------------------------------------------------------------

BIG = table(20_000, 20, 3, 0.1)
WHOLE = table(20_000, 20, 3, 0.0)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


def bits(model: Any) -> tuple[bytes, ...]:
    names = ("components_", "noise_variance_", "mean_")
    return (*(np.asarray(getattr(model, name)).tobytes() for name in names), model.history_.log_likelihood.tobytes())


@pytest.mark.parametrize("kind", [ProbabilisticPCA, FactorAnalysis])
@pytest.mark.parametrize("rows", [BIG, WHOLE], ids=["holes", "complete"])
def test_same_bits(kind: Any, rows: Floats, client: Client, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", rows)
    pd.DataFrame(rows, columns=[f"c{j}" for j in range(20)]).to_parquet(tmp_path / "rows.parquet", row_group_size=3333)
    want = bits(kind(3, engine=Threads(1)).fit(rows))
    scan = unveil.scan(tmp_path / "rows.parquet")
    routes = {
        "two": kind(3, engine=Threads(2)).fit(rows),
        "five": kind(3, engine=Threads(5)).fit(rows),
        "fortran": kind(3).fit(np.asfortranarray(rows)),
        "npy": kind(3).fit(unveil.scan(tmp_path / "rows.npy")),
        "parquet": kind(3, engine="threads").fit(scan),
        "dask": kind(3, engine=Dask(client)).fit(rows),
        "collection": kind(3).fit(dask.array.from_array(rows, chunks=(7000, 20))),
    }
    assert {route: bits(model) for route, model in routes.items()} == dict.fromkeys(routes, want)
    model = routes["parquet"]
    answers = {
        model.set_params(engine=engine).transform(data).tobytes()
        for engine in (Threads(1), Threads(2), Dask(client))
        for data in (pd.DataFrame(rows, columns=scan.names), scan)
    }
    assert len(answers) == 1


@pytest.mark.parametrize("schedule", ["incremental", "stepwise", "batch"])
def test_same_bits_of_other_schedules(schedule: str) -> None:
    runs = (ProbabilisticPCA(3, schedule=schedule, tol=1e-4, engine=Threads(count)).fit(BIG) for count in (1, 2, 5))
    assert len({bits(run) for run in runs}) == 1
