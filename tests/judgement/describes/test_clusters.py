"""Scale of the columns and shape of the clusters."""

from __future__ import annotations

import numpy as np
import pytest

from unveil import KernelKMeans, KMeans, KMedoids
from unveil.judgement.describes.clusters import _half_bic_of_balls
from unveil.judgement.examine import examine

R = np.random.default_rng(300)
N = 300
BLOBS = (R.normal(size=(3, 3)) * 8)[R.integers(0, 3, N)] + R.normal(size=(N, 3))
LOUD = np.c_[BLOBS[:, :2], R.normal(size=N) * 500]
FACES = {
    "k-means": KMeans(3, random_state=0),
    "k-medoids": KMedoids(3, random_state=0),
    "kernel": KernelKMeans(3, random_state=0),
}


@pytest.mark.parametrize("name", FACES)
def test_round_groups_in_one_unit_are_described(name):
    assert examine(FACES[name].fit(BLOBS), BLOBS).verdicts["describes"] == "yes"


@pytest.mark.parametrize("name", FACES)
def test_a_column_in_small_units_decides_alone(name):
    model = FACES[name] if name != "kernel" else KernelKMeans(3, gamma=1e-6, random_state=0)
    certificate = examine(model.fit(LOUD), LOUD)
    assert certificate.verdicts["describes"] == "no"
    found = certificate["scale"]
    assert "column 2" in found.message
    assert "scale" in found.remedy


def test_groups_along_one_column_are_no_unit():
    X = np.c_[R.integers(0, 5, N) * 9.0 + R.normal(size=N), R.normal(size=(N, 2))]
    assert examine(KMeans(5, random_state=0).fit(X), X).verdicts["describes"] == "yes"


def test_scaling_that_changes_nothing_is_a_note():
    X = np.c_[R.integers(0, 3, N) * 9000.0 + R.normal(size=N) * 300, R.normal(size=N)]
    X[:, 1] += 12 * (X[:, 0] > 4000) + 12 * (X[:, 0] > 13000)
    assert examine(KMeans(3, random_state=0).fit(X), X)["scale"].severity == "note"


@pytest.mark.parametrize("turn", [0.0, 0.5])
def test_long_groups_are_not_described(turn):
    long = R.normal(size=(N, 2)) * [12, 1] + R.integers(0, 3, N)[:, None] * [[0, 6]]
    X = long @ [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    certificate = examine(KMeans(3, random_state=0).fit(X), X)
    assert certificate.verdicts["describes"] in ("no", "doubtful")
    assert "GaussianMixture" in certificate.reasons("describes")[0].remedy


def test_clusters_of_unequal_spread_are_named():
    X = np.concatenate([R.normal(size=(200, 2)) * 0.1, R.normal(size=(200, 2)) + 9])
    found = examine(KMeans(2, random_state=0).fit(X), X)["spread"]
    assert found.severity == "warning"
    assert found.value == pytest.approx(10, rel=0.2)


def test_distances_that_are_given_are_not_examined():
    from scipy.spatial.distance import cdist

    D = cdist(BLOBS, BLOBS)
    model = KMedoids(3, metric="precomputed", random_state=0).fit(D)
    assert examine(model, D).verdicts["describes"] == "not examined"


def test_balls_are_a_mixture_of_one_variance():
    from scipy.stats import multivariate_normal

    labels = KMeans(3, random_state=0).fit(BLOBS).labels_
    centres = np.stack([BLOBS[labels == label].mean(axis=0) for label in range(3)])
    variance = np.mean((BLOBS - centres[labels]) ** 2)
    shares = np.bincount(labels) / N
    joint = [w * multivariate_normal(c, variance * np.eye(3)).pdf(BLOBS) for w, c in zip(shares, centres, strict=True)]
    known = 0.5 * 12 * np.log(N) - np.log(np.sum(joint, axis=0)).sum()
    np.testing.assert_allclose(_half_bic_of_balls(BLOBS, labels), known)


def test_sparse_rows_and_weights():
    from scipy.sparse import csr_array

    X = csr_array(np.where(R.random((200, 3)) < 0.5, 0.0, np.abs(R.normal(size=(200, 3)))))
    model = KMeans(2, random_state=0).fit(X, sample_weight=np.ones(200))
    assert examine(model, X, sample_weight=np.ones(200)).verdicts["describes"] in ("yes", "doubtful")
