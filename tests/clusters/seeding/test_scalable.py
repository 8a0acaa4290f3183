"""k-means||: the law of its draws, the same bits everywhere, and centres as good as those of k-means++."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import dask.array
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.clusters.seeding.scalable import DrawnRows, Round, Scalable
from unveil.core.partition import partition_rows
from unveil.core.protocols import Block
from unveil.core.statistics import tree_sum
from unveil.engines import Dask, Threads
from unveil.sources import ArraySource
from unveil.sources.dask import DaskSource


def blobs(n=40_000, d=3, k=12):
    generator = np.random.default_rng(0)
    return generator.normal(size=(n, d)) + 4 * generator.normal(size=(k, d))[generator.integers(k, size=n)]


ROWS = blobs()
WEIGHTS = np.random.default_rng(1).integers(0, 4, len(ROWS)) * 1.0
SHIFT = ROWS[: partition_rows(3)].mean(axis=0)


def cost(rows, centres):
    return ((rows[:, None] - centres) ** 2).sum(-1).min(1).sum()


def centres_of(source, engine, seed=3):
    return Scalable()(source, engine, SHIFT, 8, seed).tobytes()


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


def test_far_from_the_origin_and_in_float32():
    far = Scalable()(ArraySource(ROWS + 1e8), Threads(1), SHIFT + 1e8, 12, 0)
    near = Scalable()(ArraySource(ROWS), Threads(1), SHIFT, 12, 0)
    assert cost(ROWS[:4000], far + SHIFT) == pytest.approx(cost(ROWS[:4000], near + SHIFT), rel=0.3)
    light = Scalable()(ArraySource(ROWS.astype(np.float32)), Threads(1), SHIFT, 12, 0)
    assert light.dtype == np.float64
    assert cost(ROWS[:4000], light + SHIFT) == pytest.approx(cost(ROWS[:4000], near + SHIFT), rel=0.3)


def test_the_same_bits_on_threads_from_files_and_on_a_cluster(client, tmp_path):
    wanted = centres_of(ArraySource(ROWS), Threads(1))
    np.save(tmp_path / "rows.npy", ROWS)
    columns = {name: ROWS[:, number] for number, name in enumerate("abc")}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=7777)
    routes = [
        (ArraySource(ROWS), Threads(2)),
        (unveil.scan(tmp_path / "rows.npy"), Threads(2)),
        (unveil.scan(tmp_path / "rows.parquet"), Threads(3)),
        (unveil.scan(tmp_path / "rows.parquet"), Dask(client)),
        (DaskSource(dask.array.from_array(ROWS, chunks=(9_999, 2))), Dask(client)),
    ]
    assert [centres_of(*route) == wanted for route in routes] == [True] * len(routes)
    assert centres_of(ArraySource(ROWS), Threads(1), seed=4) != wanted


def test_the_same_bits_with_weights(client):
    weighted = ArraySource(ROWS, WEIGHTS)
    assert centres_of(weighted, Threads(1)) == centres_of(weighted, Threads(2)) == centres_of(weighted, Dask(client))


@dataclass(frozen=True)
class Forgetful:
    """An engine that loses what the blocks remember."""

    engine: Threads

    def map_reduce(self, step, source, memos, partitions=None):
        return self.engine.map_reduce(step, source, None, partitions)[0], None

    def map(self, function, source):
        return self.engine.map(function, source)


def test_lost_memos_change_nothing():
    assert centres_of(ArraySource(ROWS), Forgetful(Threads(1))) == centres_of(ArraySource(ROWS), Threads(1))


def test_costs_no_more_than_k_means_plus_plus():
    sample = ROWS[:4000]
    for k in (12, 40):
        ours = [cost(sample, Scalable()(ArraySource(ROWS), Threads(1), SHIFT, k, s) + SHIFT) for s in range(5)]
        theirs = [cost(sample, ROWS[PlusPlus()(ROWS, None, k, np.random.default_rng(s))]) for s in range(5)]
        assert np.mean(ours) < 1.02 * np.mean(theirs)


def test_a_row_is_drawn_with_its_probability():
    """One candidate at 0, so D² = x²: the rows are drawn with min(1, 3 w x² / Σ w x²), each on its own."""
    rows, weights = np.array([[0.0], [1.0], [2.0], [1.0], [6.0]]), np.array([1.0, 2.0, 1.0, 0.0, 2.0])
    odds = weights * rows[:, 0] ** 2
    drawn = np.zeros((4000, 5))
    for number in range(4000):
        found, _ = Round((np.zeros((1, 1)),), np.zeros(1), 3.0, 7, number)(Block(0, 0, rows, weights), None)
        drawn[number, np.searchsorted(rows[[0, 1, 2, 4], 0], found["rows"][:, 0])] = 1
    expected = np.minimum(1, 3 * odds / odds.sum())[[0, 1, 2, 4]]
    np.testing.assert_allclose(drawn[:, :4].mean(axis=0), expected, atol=0.025)
    assert abs(np.corrcoef(drawn[:, 1], drawn[:, 2])[0, 1]) < 0.06


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(0, 10**6))
def test_parts_added_in_any_order_draw_what_the_whole_draws(parts, seed):
    generator = np.random.default_rng(seed)
    odds, uniform = generator.integers(0, 50, size=(parts, 30)) * 1.0, generator.random((parts, 30))
    with np.errstate(divide="ignore", invalid="ignore"):
        keys = uniform / odds
    rows = np.arange(parts * 30.0).reshape(parts, 30, 1)
    pieces = [DrawnRows.of(o.sum(), 4.0, k, x) for o, k, x in zip(odds, keys, rows, strict=True)]
    whole = rows.reshape(-1)[keys.reshape(-1) < 4.0 / max(odds.sum(), 1e-300)]
    for order in (pieces, pieces[::-1], [pickle.loads(pickle.dumps(piece)) for piece in pieces]):
        np.testing.assert_array_equal(np.sort(tree_sum(order)["rows"].ravel()), whole)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 3), st.integers(1, 12), st.integers(1, 3), st.integers(0, 10**6))
def test_centres_are_different_as_far_as_rows_with_weight_are(n, d, k, levels, seed):
    generator = np.random.default_rng(seed)
    rows, weights = generator.integers(0, levels, size=(n, d)) * 1.0, generator.integers(0, 3, size=n) * 1.0
    weights[0] = 1.0
    shift = rows.mean(axis=0)
    centres = Scalable()(ArraySource(rows, weights), Threads(1), shift, k, seed) + shift
    different = np.unique(rows[weights > 0], axis=0)
    assert centres.shape == (k, d)
    assert len(np.unique(centres.round(9), axis=0)) == min(k, len(different))
    if len(different) <= k:
        np.testing.assert_allclose(np.unique(centres.round(9), axis=0), different, atol=1e-8)


def test_rounds_go_on_until_there_are_enough():
    centres = Scalable(oversampling=0.05, rounds=1)(ArraySource(ROWS[:500]), Threads(1), SHIFT, 20, 0)
    assert len(np.unique(centres, axis=0)) == 20


def test_refusals():
    with pytest.raises(ValueError, match="oversampling must be positive and finite, got 0"):
        Scalable(oversampling=0)
    with pytest.raises(ValueError, match="rounds must be a positive integer, got 0"):
        Scalable(rounds=0)
    with pytest.raises(ValueError, match="row of positive weight"):
        Scalable()(ArraySource(ROWS[:9], np.zeros(9)), Threads(1), SHIFT, 2, 0)
