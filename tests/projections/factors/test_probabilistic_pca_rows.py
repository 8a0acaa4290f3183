"""Probabilistic PCA of rows with weights, in streams, of ugly data, and with the same bits wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import unveil
from tests.projections.factors.tables import Floats, log_likelihood, table
from unveil import FactorAnalysis, ProbabilisticPCA
from unveil.certificate import FitWarning
from unveil.core.result import Status
from unveil.engines import Dask, Threads
from unveil.projections.factors.missing import Factors
from unveil.schedules import Stepwise
from unveil.sources import ArraySource

IRIS = load_iris().data
random = np.random.default_rng(0)


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
    with pytest.raises(ValueError, match=r"X has .*squares add up to .*(change the units|divide by)"):
        kind(1).fit(table(holes=holes) * size)
    if size in (1e80, 1e-80):
        with pytest.raises(ValueError, match=r"sample_weight must have its largest entry between .* multiply all"):
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
    make = partial(kind, 3, tol=1e-3)  # a few passes tell
    want = bits(make(engine=Threads(1)).fit(rows))
    scan = unveil.scan(tmp_path / "rows.parquet")
    routes = {
        "two": make(engine=Threads(2)).fit(rows),
        "five": make(engine=Threads(5)).fit(rows),
        "fortran": make().fit(np.asfortranarray(rows)),
        "npy": make().fit(unveil.scan(tmp_path / "rows.npy")),
        "parquet": make(engine="threads").fit(scan),
        "dask": make(engine=Dask(client)).fit(rows),
        "collection": make().fit(dask.array.from_array(rows, chunks=(7000, 20))),
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
