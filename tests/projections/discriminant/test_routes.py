"""LinearDiscriminantAnalysis batch by batch, and by every route: threads, files, clusters, frames, saved."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.exceptions import NotFittedError

import unveil
from tests.projections.discriminant.test_discriminant import IRIS, close
from unveil import LinearDiscriminantAnalysis
from unveil.engines import Dask, Threads

# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"solver": "eigen", "shrinkage": 0.2}, {"solver": "lsqr", "priors": [0.5, 0.3, 0.2]}, {"unbiased": True}],
    ids=str,
)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_batches_equal_the_whole(options: Any, offset: float) -> None:
    X, y = IRIS[0] + offset, IRIS[1]
    whole = LinearDiscriminantAnalysis(**options).fit(X, y)
    model = LinearDiscriminantAnalysis(**options)
    for first in range(0, 150, 17):  # the labels come in order: of most classes the first batches have none
        model.partial_fit(X[first : first + 17], y[first : first + 17], classes=[0, 1, 2])
    close(model.predict_proba(X), whole.predict_proba(X), 1e-9)
    close(model.within_scatter_, whole.within_scatter_, 1e-10)
    assert model.evidence_ == pytest.approx(whole.evidence_, rel=1e-9)
    resumed = LinearDiscriminantAnalysis(**options).fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    close(resumed.predict_proba(X), whole.predict_proba(X), 1e-9)


def test_a_class_has_probability_zero_until_it_has_rows() -> None:
    X, y = IRIS
    model = LinearDiscriminantAnalysis().partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    assert model.predict_proba(X)[:, 2].max() == 0
    assert np.isnan(model.means_[2]).all()
    close(model.predict_proba(X)[:, :2], LinearDiscriminantAnalysis().fit(X[:100], y[:100]).predict_proba(X), 1e-10)


def test_the_first_batches_may_be_tiny() -> None:
    X, y = IRIS
    model = LinearDiscriminantAnalysis()
    for i in (0, 50, 100):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.partial_fit(X[1:99], y[1:99]).score(X, y) > 0.6


def test_eigen_waits_for_rows_that_span_all_columns() -> None:
    X, y = IRIS
    model = LinearDiscriminantAnalysis("eigen").partial_fit(X[48:52], y[48:52], classes=[0, 1, 2])
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(np.delete(X, range(48, 52), 0), np.delete(y, range(48, 52)))
    close(model.predict_proba(X), LinearDiscriminantAnalysis("eigen").fit(X, y).predict_proba(X), 1e-10)


def test_a_batch_that_is_refused_leaves_no_trace() -> None:
    X, y = IRIS
    model = LinearDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1, 2])
    before = bits(model)
    with pytest.raises(ValueError, match="priors must have shape"):
        model.set_params(priors=[1.0]).partial_fit(X, y)
    model.set_params(priors=None).partial_fit(X, y, sample_weight=np.full(150, 1e-90))
    assert model.class_count_.tolist() == [50, 50, 50]
    assert bits(model) == before


def test_errors_of_partial_fit() -> None:
    X, y = IRIS
    with pytest.raises(ValueError, match="priors leave no probability to the classes that have rows"):
        LinearDiscriminantAnalysis(priors=[0, 0, 1]).partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        LinearDiscriminantAnalysis().partial_fit(X, y)
    model = LinearDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="y holds 7, which is not one of the classes"):
        model.partial_fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match=r"classes=\[0, 1\] are not those of the calls before"):
        model.partial_fit(X[:2], y[:2], classes=[0, 1])
    with pytest.raises(ValueError, match="call fit anew"):
        model.set_params(priors=[0.2, 0.3, 0.5], solver="lsqr").partial_fit(X, y)
    with pytest.raises(ValueError, match="look at rows twice"):
        LinearDiscriminantAnalysis("lsqr", shrinkage="auto").partial_fit(X, y, classes=[0, 1, 2])


# -- every route -------------------------------------------------------------------------------------------------------

N_ROWS = 40_000
RANDOM = np.random.default_rng(1)
CODES = RANDOM.choice(3, N_ROWS, p=[0.6, 0.3, 0.1])
ROWS = RANDOM.normal(size=(N_ROWS, 3)) + np.array([[0.0, 0, 0], [2, 1, 0], [0, 3, 1]])[CODES]
WORDS = np.array(["low", "middle", "top"])[CODES]
WEIGHTS = RANDOM.integers(0, 3, N_ROWS).astype(float)
ROUTES: list[dict[str, Any]] = [{}, {"solver": "eigen", "shrinkage": "auto"}]


def bits(model: Any) -> bytes:
    names = ("means_", "coef_", "intercept_", "within_scatter_", "between_scatter_", "signal_to_noise_", "scalings_")
    return b"".join(np.ascontiguousarray(getattr(model, name)).tobytes() for name in names)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("discriminant")
    np.save(folder / "rows.npy", ROWS)
    columns = {"a": ROWS[:, 0], "b": ROWS[:, 1], "c": ROWS[:, 2]}
    table = pa.table(columns | {"kind": WORDS, "code": CODES, "w": WEIGHTS})
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=7777)
    return folder


@pytest.mark.parametrize("options", ROUTES, ids=str)
def test_the_same_bits_by_threads_and_from_files(options: Any, stored: Path) -> None:
    wanted = bits(LinearDiscriminantAnalysis(**options, engine=Threads(1)).fit(ROWS, WORDS))
    make = LinearDiscriminantAnalysis(**options)
    for threads in (2, 5):
        assert bits(make.set_params(engine=Threads(threads)).fit(ROWS, WORDS)) == wanted
    assert bits(make.fit(np.asfortranarray(ROWS), CODES)) == wanted
    assert bits(make.fit(unveil.scan(stored / "rows.npy"), CODES)) == wanted
    for name in ("kind", "code"):
        scan = unveil.scan(stored / "rows.parquet", columns=["a", "b", "c"])
        assert bits(make.fit(scan, name)) == wanted
        assert make.feature_names_in_.tolist() == ["a", "b", "c"]
    assert make.score(scan, "code") == np.mean(make.predict(scan) == CODES)


def test_weights_from_files(stored: Path) -> None:
    wanted = LinearDiscriminantAnalysis().fit(ROWS, WORDS, sample_weight=WEIGHTS)
    found = LinearDiscriminantAnalysis().fit(unveil.scan(stored / "rows.parquet", weight="w"), "code")
    assert found.n_features_in_ == 3  # neither labels nor weights are features
    assert bits(found) == bits(wanted)


@pytest.mark.parametrize("options", ROUTES, ids=str)
def test_the_same_bits_on_a_cluster(options: Any) -> None:
    from distributed import Client

    wanted = LinearDiscriminantAnalysis(**options, engine=Threads(1)).fit(ROWS, CODES, sample_weight=WEIGHTS)
    rows, labels = dask.array.from_array(ROWS, chunks=(9_999, 2)), dask.array.from_array(CODES, chunks=7_000)
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        one = LinearDiscriminantAnalysis(**options).fit(rows, labels, sample_weight=WEIGHTS)
        other = LinearDiscriminantAnalysis(**options, engine=Dask(client)).fit(ROWS, CODES, sample_weight=WEIGHTS)
        assert bits(one) == bits(other) == bits(wanted)
        assert (one.predict(rows) == wanted.predict(ROWS)).all()


def test_frames_and_names() -> None:
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LinearDiscriminantAnalysis().fit(frame, pd.Series(y))
    assert model.get_feature_names_out().tolist() == [f"lineardiscriminantanalysis{j}" for j in range(2)]
    shown = model.set_output(transform="pandas").transform(frame)
    assert list(shown.columns) == model.get_feature_names_out().tolist()
    assert bits(model) == bits(LinearDiscriminantAnalysis().fit(X, y))


@pytest.mark.parametrize("labels", [IRIS[1], np.array(["a", "b", "c"])[IRIS[1]]], ids=["numbers", "words"])
def test_saved_and_pickled(labels: Any, tmp_path: Path) -> None:
    X, _ = IRIS
    model = LinearDiscriminantAnalysis(n_components=1).partial_fit(X[::2], labels[::2], classes=np.unique(labels))
    model.save(tmp_path / "model.unveil")
    for again in (unveil.load(tmp_path / "model.unveil"), pickle.loads(pickle.dumps(model))):
        assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
        assert again.transform(X).tobytes() == model.transform(X).tobytes()
        assert (again.predict(X) == model.predict(X)).all()
        again.partial_fit(X[1::2], labels[1::2])
        close(again.coef_, LinearDiscriminantAnalysis().fit(X, labels).coef_, 1e-9)


def test_fitting_anew_leaves_nothing_behind() -> None:
    X, y = IRIS
    model = LinearDiscriminantAnalysis("eigen").fit(X, y)
    model.set_params(solver="svd").fit(X, y)
    assert not hasattr(model, "covariance_")
    model.set_params(solver="lsqr").fit(X, y)
    assert not hasattr(model, "scalings_")


def test_labels_in_a_file_are_whole_numbers_or_words(tmp_path: Path) -> None:
    X, y = IRIS
    columns = {"a": X[:, 0], "b": X[:, 1], "half": y + 0.5, "whole": y + 0.0, "huge": 2**53 + y}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    scan = unveil.scan(tmp_path / "rows.parquet", columns=["a", "b"])
    assert LinearDiscriminantAnalysis().fit(scan, "whole").classes_.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match=r"column 'half' has 0\.5 in row 0; labels must be whole numbers or words"):
        LinearDiscriminantAnalysis().fit(scan, "half")
    with pytest.raises(ValueError, match=r"column 'huge' holds whole numbers beyond 2\*\*53"):
        LinearDiscriminantAnalysis().fit(scan, "huge")


def test_predictions_need_no_table_of_rows_by_classes() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200_000, 2)).astype(np.float32), np.arange(200_000) % 60
    model = LinearDiscriminantAnalysis(engine=Threads(1)).fit(X, y)
    tracemalloc.start()
    found = model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found[:99] == model.predict_proba(X[:99]).argmax(axis=1)).all()
    assert peak < 0.5 * X.shape[0] * 60 * 8
