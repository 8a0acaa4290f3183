"""Partitions: clusters that are there, and clouds that were cut into pieces."""

from __future__ import annotations

import numpy as np
import pytest

import unveil

KINDS = [unveil.KMeans, unveil.KMedoids, unveil.KernelKMeans]


def three_blobs():
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(size=(80, 2)) + centre for centre in ([0, 0], [7, 0], [0, 7])])


@pytest.mark.parametrize("kind", KINDS)
def test_blobs_are_real_and_pieces_of_a_cloud_are_not(kind):
    X = three_blobs()
    assert unveil.examine(kind(3, random_state=0).fit(X), X).verdicts["real"] == "yes"
    cloud = np.random.default_rng(1).normal(size=(240, 2))
    certificate = unveil.examine(kind(3, random_state=0).fit(cloud), cloud)
    assert certificate.verdicts["real"] == "no"
    assert {reason.kind for reason in certificate.reasons("real")} & {"one_mode", "null"}


def test_too_many_clusters_are_doubtful_and_how_many_are_apart_is_said():
    X = three_blobs()
    certificate = unveil.examine(unveil.KMeans(5, random_state=0).fit(X), X)
    assert certificate.verdicts["real"] == "doubtful"
    assert certificate["valley"].remedy == "try n_clusters=3"


@pytest.mark.parametrize("shape", ["uniform", "lognormal", "ring"])
def test_clouds_of_other_shapes(shape):
    random = np.random.default_rng(2)
    angles = random.uniform(0, 2 * np.pi, size=300)
    ring = np.c_[np.cos(angles), np.sin(angles)] + 0.1 * random.normal(size=(300, 2))
    X = {"uniform": random.uniform(size=(300, 2)), "lognormal": random.lognormal(size=(300, 2)), "ring": ring}[shape]
    assert unveil.examine(unveil.KMeans(4, random_state=0).fit(X), X).verdicts["real"] == "no"


def test_distances_alone_are_judged_by_silhouette_and_stability():
    X = three_blobs()
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    certificate = unveil.examine(unveil.KMedoids(3, metric="precomputed", random_state=0).fit(distances), distances)
    assert certificate.verdicts["real"] == "yes"
    assert "valley" not in certificate


def test_one_cluster_is_not_examined():
    X = three_blobs()
    assert unveil.examine(unveil.KMeans(1, random_state=0).fit(X), X).verdicts["real"] == "not examined"
