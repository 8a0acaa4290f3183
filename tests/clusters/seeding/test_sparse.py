"""Seeds among compressed rows: the rules for dense ones, by sparse products."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from unveil.clusters.seeding.furthest import Furthest
from unveil.clusters.seeding.ground import repeated, survey
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.clusters.seeding.random import RandomRows
from unveil.numerics.sparse_rows import Compressed

SEEDINGS = (PlusPlus(), PlusPlus(trials=1), Furthest(), RandomRows())


def blobs(seed, n=300, k=6, d=40):
    generator = np.random.default_rng(seed)
    owner = generator.integers(0, k, n)
    rows = 10.0 * (np.arange(d) % k == owner[:, None]) * (generator.random((n, d)) < 0.8)
    return Compressed.of(sparse.csr_array(rows + 0.1 * generator.normal(size=(n, d)) * (rows > 0))), owner


@pytest.mark.parametrize("seeding", [PlusPlus(), Furthest()])
def test_every_group_far_from_the_others_gets_a_seed(seeding):
    rows, owner = blobs(0)
    hits = [len(set(owner[seeding(rows, None, 6, np.random.default_rng(seed))])) for seed in range(5)]
    assert np.mean(hits) > 5.5


@pytest.mark.parametrize("seeding", SEEDINGS)
def test_different_rows_with_weight_come_first_and_runs_repeat(seeding):
    rows, _ = blobs(1)
    weights = (np.arange(len(rows)) % 3 == 0).astype(float)
    chosen = seeding(rows, weights, 20, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 20
    assert np.all(weights[chosen] > 0)
    np.testing.assert_array_equal(chosen, seeding(rows, weights, 20, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="n_clusters=301"):
        seeding(rows, None, 301, np.random.default_rng(0))


@pytest.mark.parametrize("seeding", SEEDINGS)
def test_copies_are_taken_only_when_nothing_else_is_left(seeding):
    rows = Compressed.of(sparse.csr_array(np.array([[1.0, 0], [1, 0], [0, 2], [1, 0], [0, 2], [3, 3], [0, 0]])))
    for seed in range(20):
        chosen = seeding(rows, None, 6, np.random.default_rng(seed))
        assert sorted(np.unique(rows.dense()[chosen[:4]], axis=0).sum(axis=1).tolist()) == [0.0, 1.0, 2.0, 6.0]
        assert len(set(chosen.tolist())) == 6


@pytest.mark.parametrize("seeding", SEEDINGS)
def test_rows_without_weight_fill_the_rest(seeding):
    rows, weights = Compressed.of(sparse.csr_array(np.diag(np.arange(1.0, 6)))), np.array([0.0, 1, 0, 1, 0])
    chosen = seeding(rows, weights, 4, np.random.default_rng(0))
    assert set(chosen[:2].tolist()) == {1, 3}
    assert len(set(chosen.tolist())) == 4
    assert len(set(seeding(rows, np.zeros(5), 3, np.random.default_rng(0)).tolist())) == 3


def test_candidates_are_drawn_in_proportion_to_squared_distance():
    rows, generator = Compressed.of(sparse.csr_array(np.array([[0.0], [1.0], [3.0]]))), np.random.default_rng(0)
    weights = np.array([1.0, 1e-9, 1e-9])  # so the first seed is the first row
    second = [int(PlusPlus(trials=1)(rows, weights, 2, generator)[1]) for _ in range(2000)]
    assert abs(np.mean(np.array(second) == 2) - 0.9) < 0.03


@pytest.mark.parametrize("seeding", SEEDINGS)
def test_dense_and_compressed_rows_have_the_same_seeds(seeding):
    rows, _ = blobs(3)
    weights = np.random.default_rng(0).integers(0, 3, len(rows)) * 1.0
    for seed in range(10):
        one, other = (seeding(table, weights, 9, np.random.default_rng(seed)) for table in (rows, rows.dense()))
        np.testing.assert_array_equal(one, other)


def test_distance_to_copies_is_zero_and_copies_are_found():
    rows, _ = blobs(2)
    twice = rows[np.repeat(np.arange(10), 2)]
    nearest, costs = np.full((1, 20, 20), np.inf), np.empty((1, 20))
    survey(twice, None, 2, np.float64).sweep(np.arange(20), 0, nearest, costs)
    assert np.all(np.diag(nearest[0, 1::2, ::2]) == 0)
    assert repeated(twice).tolist() == [False, True] * 10
