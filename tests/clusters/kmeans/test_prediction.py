"""Fitted centres in use, beside scikit-learn's class: parameters, attributes, methods, labels of ties."""

from __future__ import annotations

import inspect

import numpy as np
import pandas
import pytest
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.cluster import KMeans as Peer
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from unveil import KMeans
from unveil.certificate import FitWarning
from unveil.clusters.kmeans.geometry import Dense
from unveil.clusters.kmeans.model import KMeansModel as Model
from unveil.clusters.kmeans.prediction import FittedCentres, assigned, distances
from unveil.core.protocols import Block

Floats = NDArray[np.float64]


def table(n_rows: int = 700, d: int = 3) -> Floats:
    random = np.random.default_rng(5)
    return random.normal(0, 3, (9, d))[random.integers(9, size=n_rows)] + random.normal(size=(n_rows, d))


def test_a_block_at_its_nearest_centres() -> None:
    model = Model(2, np.zeros(1))
    centres, rows = np.array([[0.0], [4.0]]), np.array([[1.0], [2.0], [7.0]], np.float32)
    fitted = FittedCentres(Dense(), model, model.prepare(model.start(centres)), centres)
    found = assigned(fitted, Block(0, 0, rows, np.array([1.0, 2.0, 3.0])))
    assert (found.labels.tolist(), found.inertia, found.counts.tolist()) == ([0, 0, 1], 36.0, [3.0, 3.0])
    apart = distances(fitted, Block(0, 0, rows))
    assert apart.dtype == np.float32
    assert apart.tolist() == [[1.0, 3.0], [2.0, 2.0], [7.0, 3.0]]


def test_every_parameter_of_scikit_learn_is_there_with_its_default() -> None:
    ours, peers = (inspect.signature(cls).parameters for cls in (KMeans, Peer))
    assert peers.keys() <= ours.keys()
    different = {name for name, peer in peers.items() if ours[name].default != peer.default}
    assert different == {"algorithm"}  # "auto" chooses; "lloyd" and "elkan" are taken
    assert all(ours[name].kind == peer.kind for name, peer in peers.items())


def test_every_attribute_and_method_of_scikit_learn_is_there() -> None:
    X = table()
    ours, peer = KMeans(3, random_state=0).fit(X), Peer(3, random_state=0).fit(X)
    wanted = {name for name in dir(peer) if not name.startswith("_")}
    assert wanted <= set(dir(ours))
    for name in ("labels_", "n_iter_", "inertia_", "n_features_in_", "cluster_centers_"):
        one, other = np.asarray(getattr(ours, name)), np.asarray(getattr(peer, name))
        assert (one.shape, one.dtype.kind) == (other.shape, other.dtype.kind)
    assert (ours.labels_.dtype, ours.transform(X).dtype) == (peer.labels_.dtype, peer.transform(X).dtype)
    for name in ("fit", "fit_predict", "fit_transform", "partial_fit", "predict", "score", "transform"):
        if hasattr(Peer, name):
            signatures = [list(inspect.signature(getattr(cls, name)).parameters) for cls in (KMeans, Peer)]
            assert signatures[0] == signatures[1]


def test_metadata_is_routed_and_output_set() -> None:
    with config_context(enable_metadata_routing=True):
        model = KMeans(2).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        assert model.get_metadata_routing().fit.requests == {"sample_weight": True}
    frame = KMeans(2, random_state=0).set_output(transform="pandas").fit_transform(table())
    assert list(frame.columns) == ["kmeans0", "kmeans1"]


def test_names_of_columns_are_kept() -> None:
    frame = pandas.DataFrame(table(), columns=["a", "b", "c"])
    model = KMeans(2, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "b", "a"]])


def test_the_table_is_not_written_to_whatever_copy_x_says() -> None:
    X = table()
    for copy in (True, False):
        KMeans(3, random_state=0, copy_x=copy).fit(X)
        np.testing.assert_array_equal(X, table())


def test_ties_go_to_the_first_cluster_everywhere() -> None:
    X = np.array([[-1.0], [1.0], [0.0], [-1.0], [1.0]])
    with pytest.warns(ConvergenceWarning):
        model = KMeans(2, init=[[-1.0], [1.0]], tol=0, max_iter=1).fit(X)
    model.cluster_centers_ = np.array([[-1.0], [1.0]])
    assert model.predict([[0.0]]).tolist() == [0]
    copies = KMeans(3, init=[[0.0], [0.0], [9.0]], tol=0)
    with pytest.warns(FitWarning, match="without rows: 1"):
        copies.fit([[0.0], [0.0], [9.0]])
    assert copies.labels_.tolist() == [0, 0, 2]


def test_before_and_after_fit() -> None:
    with pytest.raises(NotFittedError):
        KMeans().predict(table())
    model = KMeans(2, random_state=0).fit(table())
    for use in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="X has 2 features, but KMeans is expecting 3 features as input"):
            use(table()[:, :2])
    assert model.get_feature_names_out().tolist() == ["kmeans0", "kmeans1"]
