"""Every geometry through the one loop, by every engine, with the same bits; and what each asks of its rows."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from distributed import Client
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans as Peer
from sklearn.metrics.pairwise import nan_euclidean_distances

from unveil import KMeans, load
from unveil.certificate import FitWarning
from unveil.clusters.assignment.rules import Plain
from unveil.clusters.kmeans.geometry import Dense, Partial, Seeding, SparseGeometry, geometry_of
from unveil.clusters.kmeans.model import AssignmentsFixed, EmptyClusters
from unveil.clusters.kmeans.variance import variance_of
from unveil.clusters.seeding.furthest import Furthest
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.clusters.seeding.random import RandomRows
from unveil.core.loop import Parts, fit
from unveil.engines import Dask, Threads
from unveil.expectations import Hard
from unveil.schedules.batch import Batch
from unveil.sources.array import ArraySource
from unveil.sources.sparse import SparseSource
from unveil.sources.weighted import with_weights


class Estimator(BaseEstimator):
    """What a geometry wants of an estimator."""


@cache
def table(n=4500, d=120, k=5, seed=0):
    generator = np.random.default_rng(seed)
    owner = generator.integers(0, k, n)
    return (3.0 * (np.arange(d) % k == owner[:, None]) + generator.normal(size=(n, d))) * (
        generator.random((n, d)) < 0.15
    ) + 0.01 * (np.arange(d) == 0)


@cache
def holed(seed=0):
    rows = table(seed=seed)
    return np.where(np.random.default_rng(seed).random(rows.shape) < 0.2, np.nan, rows)


CASES = {
    "dense": (Dense(), table()),
    "sparse": (SparseGeometry(), sparse.csr_array(table())),
    "partial": (Partial(), holed()),
    "cosine": (Dense(sphere=True), table()),
    "cosine-sparse": (SparseGeometry(sphere=True), sparse.csr_matrix(table())),
}
WEIGHTS = np.random.default_rng(9).integers(0, 3, 4500).astype(float)


def fitted(geometry, X, engine, n_clusters=5):
    source = geometry.source(Estimator(), X, WEIGHTS, reset=True)
    shift, sample = geometry.shift(source), geometry.sample(source, 0, n_clusters)
    start = geometry.begin(
        geometry.draw(Seeding(PlusPlus()), sample, shift, n_clusters, np.random.default_rng(0)), shift
    )
    model = geometry.model(n_clusters, shift, Plain(), EmptyClusters())
    parts = Parts(model, source, Hard(), Batch(), engine, AssignmentsFixed(), 15)
    return fit(parts, start), source, model


@cache
def of_one_thread(name):
    return fitted(*CASES[name], Threads(1))


@pytest.mark.parametrize("name", CASES)
def test_one_thread_and_two_give_the_same_bits(name):
    one, *_ = of_one_thread(name)
    two, *_ = fitted(*CASES[name], Threads(2))
    np.testing.assert_array_equal(one.params.centres, two.params.centres)
    assert [record.free_energy for record in one.history] == [record.free_energy for record in two.history]
    assert one.history.largest_fall() <= 1e-9 * abs(one.objective)


def test_a_cluster_gives_the_same_bits():
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        for name in ("sparse", "partial", "cosine-sparse"):
            here, *_ = of_one_thread(name)
            there, *_ = fitted(*CASES[name], Dask(client))
            np.testing.assert_array_equal(here.params.centres, there.params.centres)


@pytest.mark.parametrize("name", CASES)
def test_labels_and_costs_of_all_rows_add_up_to_the_cost_of_the_fit(name):
    geometry, (outcome, source, model) = CASES[name][0], of_one_thread(name)
    centres = model.locate(outcome.entered)
    use, plan = geometry.fitted(centres, source.n_rows)
    total, counts = 0.0, np.zeros(5)
    for block in source.read():
        geometry.check(block)
        labels, costs = use.label(plan, block)
        total += block.weights @ costs
        counts += np.bincount(labels, block.weights, 5)
        apart = use.apart(plan, block)
        assert apart.shape == (len(labels), 5)
        np.testing.assert_array_equal(apart.argmin(axis=1), labels)
    np.testing.assert_allclose(total, -outcome.objective, rtol=1e-10)
    np.testing.assert_array_equal(counts, outcome.statistics["counts"])


@pytest.mark.parametrize("kind", ["euclidean", "cosine"])
def test_sparse_and_dense_rows_are_predicted_alike(kind):
    rows, centres = table(seed=1), table(seed=2)[:6]
    answers = []
    for X in (rows, sparse.csr_array(rows)):
        geometry = geometry_of(X, metric=kind)
        model, plan = geometry.fitted(centres / np.linalg.norm(centres, axis=1)[:, None], len(rows))
        blocks = list(geometry.source(Estimator(), X, reset=True).read())
        answers.append(
            (
                np.concatenate([model.label(plan, b)[0] for b in blocks]),
                np.concatenate([model.apart(plan, b) for b in blocks]),
            )
        )
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_allclose(answers[0][1], answers[1][1], rtol=1e-10)
    expected = cdist(rows, centres / np.linalg.norm(centres, axis=1)[:, None], kind)
    np.testing.assert_allclose(answers[0][1], expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("seeding", [PlusPlus(), PlusPlus(trials=1), Furthest(), RandomRows()])
@pytest.mark.parametrize("name", CASES)
def test_first_centres_are_rows_with_weight(name, seeding):
    geometry, X = CASES[name]
    source = geometry.source(Estimator(), X, WEIGHTS, reset=True)
    sample, shift = geometry.sample(source, 0, 4), geometry.shift(source)
    centres = geometry.draw(Seeding(seeding), sample, shift, 4, np.random.default_rng(1)) + shift
    rows = sample[0].dense() if hasattr(sample[0], "dense") else sample[0]
    where = cdist(centres, rows).argmin(axis=1)
    np.testing.assert_allclose(centres, rows[where], atol=1e-12)
    assert np.all(sample[1][where] > 0)
    assert np.isfinite(rows).all()


def test_a_sample_of_a_large_sparse_table_follows_the_cells_that_are_stored():
    matrix = sparse.random_array((200_000, 500), density=0.002, format="csr", rng=np.random.default_rng(0))
    rows, weights = SparseGeometry().sample(SparseSource(matrix), 0, 3)
    assert (len(rows), weights) == (65_536, None)


@pytest.mark.parametrize("name", ["dense", "sparse", "partial", "cosine", "cosine-sparse"])
def test_variances_are_those_of_numpy_on_every_engine(name):
    geometry, X = CASES[name]
    source = geometry.source(Estimator(), X, WEIGHTS, reset=True)
    shift = geometry.shift(source)
    one, two = (variance_of(geometry.spread, source, Threads(count), shift) for count in (1, 2))
    rows = X.toarray() if sparse.issparse(X) else X
    rows = rows / np.linalg.norm(rows, axis=1)[:, None] if "cosine" in name else rows
    assert one == two
    np.testing.assert_allclose(one, np.nanvar(rows, axis=0).mean(), rtol=1e-10)


def test_the_geometry_follows_from_what_is_handed_in():
    source = with_weights(SparseSource(sparse.eye_array(3).tocsr()), np.ones(3))
    assert geometry_of(source) == geometry_of(sparse.coo_matrix(np.eye(2))) == SparseGeometry()
    assert geometry_of(ArraySource(np.eye(2)), missing="partial") == Partial()
    assert geometry_of(sparse.eye_array(3), metric="cosine") == SparseGeometry(sphere=True)
    with pytest.raises(ValueError, match="metric must be one of 'euclidean', 'cosine', got 'taxi'"):
        geometry_of(np.eye(2), metric="taxi")
    with pytest.raises(ValueError, match="missing must be one of 'error', 'partial', got 'guess'"):
        geometry_of(np.eye(2), missing="guess")
    with pytest.raises(ValueError, match="missing='partial' takes metric='euclidean'"):
        geometry_of(np.eye(2), metric="cosine", missing="partial")


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SparseGeometry().source(Estimator(), sparse.csr_array(np.array([[np.nan, 1.0]])), reset=True)
    with pytest.raises(ValueError, match="no direction in row 5"):
        fitted(SparseGeometry(sphere=True), sparse.csr_array(np.eye(4500, 5)), Threads(1))
    inf = Partial().source(Estimator(), ArraySource(np.array([[1.0, np.inf]])), reset=True)
    with pytest.raises(ValueError, match="infinity: row 0, column 1"):
        Partial().check(next(inf.read()))


# -- through the estimator ---------------------------------------------------------------------------------------------


def kmeans(X, **settings):
    return KMeans(5, **{"random_state": 0} | settings).fit(X)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_tables_of_every_format_are_clustered_as_dense_ones(kind, dtype):
    rows = table(2000).astype(dtype)
    one, other = kmeans(rows, init=rows[:5]), kmeans(kind(rows), init=rows[:5])
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.inertia_, other.inertia_, rtol=1e-6)
    np.testing.assert_array_equal(other.predict(rows), other.predict(kind(rows)))
    np.testing.assert_allclose(other.transform(kind(rows)), other.transform(rows), rtol=1e-5)
    assert other.transform(kind(rows)).dtype == dtype
    assert other.cluster_centers_.dtype == np.float64


def test_sparse_tables_give_what_scikit_learn_gives():
    rows = table(2000)
    peer = Peer(5, init=rows[:5], n_init=1, tol=0).fit(sparse.csr_matrix(rows))
    model = kmeans(sparse.csr_matrix(rows), init=rows[:5], tol=0)
    np.testing.assert_array_equal(model.labels_, peer.labels_)
    assert model.n_iter_ == peer.n_iter_
    np.testing.assert_allclose(model.inertia_, peer.inertia_, rtol=1e-9)


@pytest.mark.parametrize("init", ["k-means++", "plain-k-means++", "furthest-first", "random"])
@pytest.mark.parametrize("settings", [{}, {"metric": "cosine"}, {"missing": "partial"}])
def test_every_word_starts_every_geometry(init, settings):
    rows = (holed() if "missing" in settings else table())[:2000]
    model = kmeans(rows, init=init, n_init=2, **settings)
    assert model.certificate_["bound"].severity == "fine"
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_scalable_seeding_says_what_it_cannot_look_at():
    assert kmeans(table(), init="k-means||", metric="cosine").converged_
    with pytest.raises(ValueError, match=r"init='k-means\|\|' cannot look at sparse rows; 'k-means\+\+' can"):
        kmeans(sparse.csr_array(table()), init="k-means||")
    with pytest.raises(ValueError, match=r"init='k-means\|\|' cannot look at rows with missing cells"):
        kmeans(holed(), init="k-means||", missing="partial")


def test_a_callable_start_is_shown_a_sparse_matrix():
    def first(X, n_clusters, random_state):
        assert sparse.issparse(X)
        assert X.format == "csr"
        return X[random_state.choice(X.shape[0], n_clusters, replace=False)]

    assert len(kmeans(sparse.csr_array(table(500)), init=first).history_.restarts) == 10


@pytest.mark.parametrize("compressed", [False, True])
def test_only_directions_count_for_the_cosine(compressed):
    rows = table()
    lengths = np.random.default_rng(3).uniform(0.1, 9.0, len(rows))[:, None]
    one, other = (kmeans(sparse.csr_array(X) if compressed else X, metric="cosine") for X in (rows, rows * lengths))
    np.testing.assert_allclose(np.linalg.norm(one.cluster_centers_, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.inertia_, cdist(rows, one.cluster_centers_, "cosine").min(axis=1).sum(), rtol=1e-9)
    np.testing.assert_allclose(one.transform(rows), cdist(rows, one.cluster_centers_, "cosine"), atol=1e-12)


def test_missing_cells_are_an_error_unless_asked_for():
    with pytest.raises(ValueError, match="Input X contains NaN"):
        kmeans(holed())
    model = kmeans(holed(), missing="partial")
    assert np.isfinite(model.cluster_centers_).all()
    np.testing.assert_allclose(model.transform(holed()), nan_euclidean_distances(holed(), model.cluster_centers_))
    np.testing.assert_allclose(model.inertia_, (model.transform(holed()).min(axis=1) ** 2).sum(), rtol=1e-9)
    whole = table()
    np.testing.assert_array_equal(
        kmeans(whole, init=whole[:5], missing="partial").labels_, kmeans(whole, init=whole[:5]).labels_
    )


@pytest.mark.parametrize("policy", ["keep", "relocate", "drop"])
@pytest.mark.parametrize("name", CASES)
def test_policies_for_empty_clusters_hold_in_every_geometry(name, policy):
    geometry, X = CASES[name]
    far = np.zeros((1, 120))
    far[0, 7] = -500.0
    first = X[:4].toarray() if sparse.issparse(X) else np.nan_to_num(X[:4])
    settings = {"metric": "cosine"} if "cosine" in name else {"missing": "partial"} if geometry.missing else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = kmeans(X, init=np.concatenate([first, far]), empty_clusters=policy, **settings)
    assert model.history_.largest_fall() <= 1e-9 * model.inertia_
    assert len(model.cluster_centers_) == len(np.unique(model.labels_)) or policy == "keep"
    assert model.partial_fit(X[:50]).cluster_centers_.shape == (len(model.cluster_centers_), 120)


@pytest.mark.parametrize("name", CASES)
def test_a_stream_and_a_file_keep_the_geometry(name, tmp_path):
    geometry, X = CASES[name]
    model = KMeans(
        5,
        random_state=0,
        metric="cosine" if "cosine" in name else "euclidean",
        missing="partial" if geometry.missing else "error",
    )
    model.partial_fit(X[:1500]).partial_fit(X[1500:3000])
    assert np.isfinite(model.score(X))
    model.fit(X)
    model.save(tmp_path / "model.unveil")
    loaded = load(tmp_path / "model.unveil")
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    np.testing.assert_array_equal(loaded.transform(X[:20]), model.transform(X[:20]))


def test_overflow_of_sparse_rows_is_no_riddle():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(2, random_state=0, max_iter=3).fit(sparse.csr_array(np.array([[1e200, 0], [-1e200, 1], [1, 1]])))
    assert model.labels_.shape == (3,)
