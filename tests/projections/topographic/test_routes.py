"""GenerativeTopographicMap by every part and every route to the rows, saved, interrupted and logged."""

from __future__ import annotations

import logging
import pickle
import warnings

import dask.array
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster
from sklearn import decomposition
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import unveil
from tests.projections.topographic.test_topographic_map import SMALL, curve, holed
from unveil import GenerativeTopographicMap, watch
from unveil.engines import Dask, Threads
from unveil.expectations import Sparse

# -- how a fit ends ----------------------------------------------------------------------------------------------------


def stop_at(iteration):
    """A callback that is Ctrl-C in this pass of the start that gets there first; it is not called again."""
    pressed = []

    def callback(state):
        assert not pressed
        if state.iteration == iteration:
            pressed.append(state)
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_fit_keeps_the_best_so_far(late):
    X = curve(200)[0]
    first = GenerativeTopographicMap(**SMALL, random_state=0).fit(X)
    count = first.n_iter_ + 3 if late else 4  # in another start, which is worse so far, or in the first
    model = GenerativeTopographicMap(**SMALL, n_init=3, random_state=0)
    with watch(stop_at(count)), pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X)
    assert not model.converged_
    assert model.lower_bounds_ == first.lower_bounds_[:count]
    assert (model.means_.tobytes() == first.means_.tobytes()) == late


def test_warnings_point_at_the_line_that_called_fit():
    with pytest.warns(ConvergenceWarning, match="not converged") as seen:
        GenerativeTopographicMap(**SMALL, max_iter=1).fit(curve(100)[0])
    assert [warning.filename for warning in seen] == [__file__]


def test_passes_are_logged_if_asked_for(caplog):
    with caplog.at_level(logging.INFO, logger="unveil"):
        model = GenerativeTopographicMap(**SMALL, verbose=1).fit(curve(100)[0])
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("GenerativeTopographicMap: pass 1, free energy per row")


# -- parts, files and routes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["batch", "incremental", "stepwise", "squarem", "gradient", "ascent", "lbfgs"])
def test_every_schedule(schedule):
    X, _ = curve(400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GenerativeTopographicMap(**SMALL, schedule=schedule, max_iter=60).fit(holed(X, 0.1))
    assert model.score(X) > decomposition.PCA(2).fit(X).score(X)


@pytest.mark.parametrize("expectation", ["hard", "sampled", Sparse(active=10), "annealed"], ids=str)
def test_every_expectation(expectation):
    X, _ = curve(400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GenerativeTopographicMap(**SMALL, expectation=expectation, random_state=0, max_iter=60).fit(X)
    assert model.score(X) > decomposition.PCA(2).fit(X).score(X) - 0.5


def test_saved_and_pickled(tmp_path):
    X = curve(300)[0]
    model = GenerativeTopographicMap(1).fit(X)
    model.save(tmp_path / "map.unveil")
    for other in (unveil.load(tmp_path / "map.unveil"), pickle.loads(pickle.dumps(model))):
        assert other.transform(X).tobytes() == model.transform(X).tobytes()
        assert other.magnification_factors().tobytes() == model.magnification_factors().tobytes()
        assert str(other.certificate_) == str(model.certificate_)
    assert clone(model).get_params() == model.get_params()


def test_frames_in_and_out():
    frame = pd.DataFrame(curve(200)[0], columns=list("abc"))
    model = GenerativeTopographicMap(**SMALL).set_output(transform="pandas").fit(frame)
    found = model.transform(frame)
    assert list(found.columns) == ["generativetopographicmap0", "generativetopographicmap1"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def bits(model, X):
    found = (model.means_, model.coefficients_, model.noise_variance_, model.lower_bounds_, model.transform(X))
    return [np.asarray(value).tobytes() for value in found]


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_same_bits_by_every_route(tmp_path, share):
    X = holed(curve(40_000)[0], share)
    given = {"lattice_shape": 7, "basis_shape": 3, "tol": 0.1}
    np.save(tmp_path / "X.npy", X)
    pyarrow.parquet.write_table(
        pa.table(dict(zip("abc", X.T, strict=True))), tmp_path / "X.parquet", row_group_size=777
    )
    wanted = bits(GenerativeTopographicMap(**given, engine=Threads(1)).fit(X), X)
    for threads in (2, 5):
        assert bits(GenerativeTopographicMap(**given, engine=Threads(threads)).fit(X), X) == wanted
    for path in ("X.npy", "X.parquet"):
        scan = unveil.scan(tmp_path / path)
        assert bits(GenerativeTopographicMap(**given).fit(scan), scan) == wanted
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        assert bits(GenerativeTopographicMap(**given, engine=Dask(client)).fit(X), X) == wanted
        collection = dask.array.from_array(X, chunks=(9_999, 3))
        assert bits(GenerativeTopographicMap(**given).fit(collection), collection) == wanted
