"""What `select` answers for tables whose clusters are known, and for tables without any."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as Reference
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import silhouette_score

from tests.places import ROOT
from unveil import KMeans, select
from unveil.judgement.criteria.clusterings import CLUSTERINGS

GRID = {"n_clusters": range(1, 8)}


def read(path):
    return np.genfromtxt(ROOT / path, delimiter=",", skip_header=1)


def known():
    random = np.random.default_rng(0)
    return {
        "ruspini": (read("tests/data/ruspini.csv"), 4),
        "faithful": (read("examples/data/faithful.csv"), 2),
        "3 blobs of 2": (make_blobs(150, 2, centers=3, random_state=3)[0], 3),
        "5 blobs of 5": (make_blobs(200, 5, centers=5, random_state=3)[0], 5),
        "4 blobs of 30": (make_blobs(150, 30, centers=4, random_state=3)[0], 4),
        "uniform of 2": (random.random((200, 2)), 1),
        "uniform of 5": (random.random((200, 5)), 1),
        "normal of 1": (random.normal(size=(200, 1)), 1),
        "normal of 3": (random.normal(size=(200, 3)), 1),
    }


@pytest.fixture(scope="module")
def blobs():
    X = make_blobs(120, 3, centers=3, random_state=1)[0]
    return X, select(KMeans(random_state=0), X, {"n_clusters": range(1, 6)})


def column(selection, name):
    return selection.to_dict()[name]


@pytest.mark.parametrize("name", known())
def test_the_answer_is_known(name):
    X, size = known()[name]
    selection = select(KMeans(random_state=0), X, GRID)
    assert selection.best_params_ == {"n_clusters": size}, selection.verdict()
    assert selection.decisive
    assert len(selection.best_estimator_.cluster_centers_) == size
    by = {opinion.name: opinion.size for opinion in selection.choice.opinions}
    assert by["gap"] == size
    if size == 1:
        assert by["elbow"] is None
        assert selection.verdict().startswith("No clusters")
    else:
        assert selection.verdict().startswith(f"{size} clusters.")


def test_iris_has_no_clear_answer_for_k_means():
    selection = select(KMeans(random_state=0), load_iris().data, GRID)
    assert not selection.decisive
    assert selection.best_params_["n_clusters"] in (2, 3)
    assert "silhouette (0.68: reasonable structure)" in selection.verdict()
    assert "no clear answer" in repr(selection)


def test_every_column_is_there(blobs):
    _, selection = blobs
    names = {name for criterion in CLUSTERINGS.values() for name in criterion.columns}
    assert names <= set(selection.table[0])
    assert column(selection, "silhouette")[0] is None
    assert column(selection, "stability")[0] is None
    assert [len(values) for values in column(selection, "cluster_stability")[1:]] == [2, 3, 4, 5]
    assert sum(column(selection, "votes")) == pytest.approx(5.0)


def test_values_by_other_means(blobs):
    X, selection = blobs
    best = selection.best_estimator_
    row = selection.table[selection.best_index_]
    assert row["inertia"] == best.inertia_
    assert row["silhouette"] == pytest.approx(silhouette_score(X, best.labels_), abs=1e-12)
    assert row["penalised_aic"] == best.inertia_ + 2 * 3 * 3
    assert row["penalised_bic"] == best.inertia_ + 3 * np.log(3)


def test_weights_equal_repetition(blobs):
    X, _ = blobs
    counts = np.random.default_rng(0).integers(1, 4, len(X))
    grid = {"n_clusters": [1, 2, 3, 4]}
    weighted = select(KMeans(random_state=0), X, grid, sample_weight=counts.astype(float))
    repeated = select(KMeans(random_state=0), np.repeat(X, counts, axis=0), grid)
    for name in ("inertia", "bic", "gap", "gap_error", "silhouette", "stability"):
        for one, two in zip(column(weighted, name), column(repeated, name), strict=True):
            assert one == (None if two is None else pytest.approx(two, rel=1e-6)), name


def test_shares_as_weights_choose_as_counts_do(blobs):
    X, _ = blobs
    selection = select(KMeans(random_state=0), X, GRID, sample_weight=np.full(len(X), 1 / len(X)))
    assert selection.best_params_ == {"n_clusters": 3}
    assert selection.decisive


def test_scikit_learn_s_own_estimator(blobs):
    X, ours = blobs
    theirs = select(Reference(n_init=1, random_state=0), X, {"n_clusters": range(1, 6)})
    assert theirs.best_params_ == {"n_clusters": 3}
    np.testing.assert_allclose(column(theirs, "inertia")[:3], column(ours, "inertia")[:3], rtol=1e-6)


def test_more_clusters_than_rows_is_recorded():
    X = np.random.default_rng(0).normal(size=(5, 2))
    selection = select(KMeans(random_state=0), X, {"n_clusters": [1, 2, 5, 9]})
    assert "n_clusters=9" in selection.table[3]["error"]
    assert selection.table[2]["inertia"] == pytest.approx(0.0)
    assert selection.table[2]["bic"] is None
    assert "1 combination was impossible to fit" in selection.verdict()


def test_three_different_rows_are_three_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]], 20, axis=0)
    selection = select(KMeans(random_state=0), X, {"n_clusters": range(1, 4)})
    assert selection.table[2]["inertia"] == pytest.approx(0.0, abs=1e-12)
    assert column(selection, "silhouette")[2] == pytest.approx(1.0)
