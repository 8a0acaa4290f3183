"""Where a single climb starts: no worse than one seeding, on tables of all kinds, and the same wherever rows are."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_iris, load_wine

from tests.places import DATA
from unveil import KMeans, scan
from unveil.clusters.kmeans.lloyd import fitted_centres
from unveil.clusters.kmeans.short_runs import FEW_ROWS, SEEDINGS, short_runs

Floats = NDArray[np.float64]


def wine() -> Floats:
    rows = load_wine().data
    return np.asarray((rows - rows.mean(axis=0)) / rows.std(axis=0))


def sipu(name: str) -> Floats:
    with gzip.open(DATA / f"{name}.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)


@pytest.mark.parametrize(
    ("rows", "k"), [(load_iris().data, 3), (wine(), 3), (sipu("a1"), 20), (sipu("s1"), 15), (sipu("s3"), 15)]
)
def test_single_fits_cost_no_more_than_those_of_scikit_learn(rows: Floats, k: int) -> None:
    ours = np.mean([KMeans(k, random_state=seed).fit(rows).inertia_ for seed in range(12)])
    peers = np.mean([Peer(k, random_state=seed).fit(rows).inertia_ for seed in range(12)])
    assert ours <= peers * (1 + 1e-3)


def test_the_certificate_tells_of_the_short_runs() -> None:
    rows = load_iris().data
    certificate = KMeans(3, random_state=0).fit(rows).certificate_
    assert certificate["restarts"].message.startswith(f"one climb, from the best of {SEEDINGS} short runs")
    assert "a single start" in KMeans(3, n_init=1, random_state=0).fit(rows).certificate_["restarts"].message


def test_all_groups_are_found_though_few_rows_are_looked_at() -> None:
    random = np.random.default_rng(0)
    homes = 100.0 * np.arange(10)[:, None] * np.ones(3)
    rows = homes[np.arange(5000) % 10] + random.normal(size=(5000, 3))
    assert len(rows) > max(FEW_ROWS, 640)
    for seed in range(5):
        found = short_runs(rows, np.zeros(3), np.empty(0), 10, np.random.default_rng(seed))
        assert found is not None
        np.testing.assert_allclose(np.sort(found[:, 0]), homes[:, 0], atol=1.0)


def test_rows_of_no_weight_are_no_start() -> None:
    rows, weights = np.repeat([[0.0], [5.0], [9.0]], 400, axis=0), np.repeat([1.0, 1.0, 0.0], 400)
    found = short_runs(rows, np.zeros(1), weights, 2, np.random.default_rng(0))
    assert found is not None
    assert sorted(found.ravel().tolist()) == [0.0, 5.0]
    assert short_runs(rows, np.zeros(1), weights, 3, np.random.default_rng(0)) is None


@pytest.mark.parametrize("n_rows", [3000, 20_000])
def test_a_start_is_the_same_wherever_the_rows_are(n_rows: int, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(n_rows, 3)) + 4 * random.integers(0, 3, size=(n_rows, 1))
    np.save(tmp_path / "rows.npy", rows)
    one, other = (KMeans(6, random_state=0).fit(data) for data in (rows, scan(tmp_path / "rows.npy")))
    assert one.cluster_centers_.tobytes() == other.cluster_centers_.tobytes()
    assert one.labels_.tobytes() == other.labels_.tobytes()


@pytest.mark.parametrize(("n", "k"), [(700, 4), (20_000, 60)])
def test_centres_for_those_who_need_no_estimator(n: int, k: int) -> None:
    """In one call, and on all threads."""
    random = np.random.default_rng(2)
    homes = random.uniform(-50, 50, size=(k, 8))
    points = homes[random.integers(k, size=n)] + 0.1 * random.normal(size=(n, 8))
    for weights in (None, random.random(n)):
        found = fitted_centres(points, weights, k, seed=3)
        gaps = np.sqrt(((homes[:, None] - found) ** 2).sum(axis=2)).min(axis=1)
        assert np.count_nonzero(gaps < 0.1) >= 0.95 * k
        np.testing.assert_array_equal(found, fitted_centres(points, weights, k, seed=3))


def test_rows_side_by_side_give_the_same_bits_as_rows_one_after_the_other() -> None:
    random = np.random.default_rng(3)
    rows = random.normal(size=(900, 5)) * 10.0 + random.integers(0, 4, size=(900, 1))
    one, other = (KMeans(4, random_state=0).fit(data) for data in (rows, np.asfortranarray(rows)))
    assert one.cluster_centers_.tobytes() == other.cluster_centers_.tobytes()
    assert one.inertia_ == other.inertia_
    assert one.predict(np.asfortranarray(rows)).tobytes() == other.predict(rows).tobytes()
