"""The kernels of seeding, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.seeding.kernels import TILE_ROWS, Laid, approach, lay_out


def laid_out(rows, weights, dtype, origin, doubt, scale=0.25):
    count = -(-len(rows) // TILE_ROWS)
    padded = np.zeros((count, TILE_ROWS))
    padded.reshape(-1)[: len(rows)] = weights
    rows.flags.writeable = False
    tiles = np.zeros((count, rows.shape[1], TILE_ROWS), dtype)
    laid = Laid(rows, scale, tiles, np.empty((count, TILE_ROWS), dtype), padded)
    lay_out(laid, origin, doubt, 0, count)
    return laid


def swept(laid, chosen, before, first=0, last=None):
    count = len(laid.tiles)
    nearest, costs = np.empty((count, len(chosen) + 1, TILE_ROWS)), np.empty((count, len(chosen) + 1))
    nearest[:, -1] = np.concatenate([before, np.ones(count * TILE_ROWS - len(before))]).reshape(count, TILE_ROWS)
    approach(laid, np.array(chosen), len(chosen), nearest, costs, first, count if last is None else last)
    return nearest[:, :-1].transpose(1, 0, 2).reshape(len(chosen), -1)[:, : len(before)], costs[:, :-1]


@pytest.mark.parametrize(("dtype", "doubt", "accuracy"), [(np.float32, 1e-5, 1e-4), (np.float64, 0.0, 1e-13)])
@pytest.mark.parametrize("n_columns", [1, 4, 7])
def test_squares_and_costs(n_columns, dtype, doubt, accuracy):
    generator = np.random.default_rng(n_columns)
    rows, weights = generator.normal(size=(600, n_columns)), generator.uniform(size=600)
    laid = laid_out(rows, weights, dtype, np.full(n_columns, 0.125), doubt)
    before = generator.uniform(0.0, 1.0, size=600)
    found, costs = swept(laid, [3, 555], before)
    expected = np.minimum(((rows - rows[[3, 555], None]) ** 2).sum(-1) * 0.25**2, before)
    np.testing.assert_allclose(found, expected, rtol=accuracy)
    np.testing.assert_allclose(costs.sum(axis=0), expected @ weights, rtol=accuracy)


def test_copies_are_at_zero_and_nothing_else_is():
    """Also where float32 sees no difference between the rows, or none that its range has room for."""
    generator = np.random.default_rng(0)
    rows = np.repeat(generator.normal(size=(300, 6)), 2, axis=0)
    rows[100:102], rows[200] = rows[0] * (1 + 1e-12), rows[0] + [0, 0, 1e-14, 0, 0, 0]
    rows[300:302] = [[1e-25] * 6, [2e-25] * 6]
    laid = laid_out(rows, np.ones(600), np.float32, np.zeros(6), 1e-5)
    found, _ = swept(laid, [0, 300], np.full(600, 7.0))
    assert np.flatnonzero(found[0] == 0).tolist() == [0, 1]
    assert np.flatnonzero(found[1] == 0).tolist() == [300]
    np.testing.assert_allclose(found, ((rows - rows[[0, 300], None]) ** 2).sum(-1) * 0.25**2, rtol=1e-4, atol=0)


def test_tiles_one_by_one_give_the_bits_of_all_at_once():
    generator = np.random.default_rng(1)
    laid = laid_out(generator.normal(size=(900, 5)), np.ones(900), np.float32, np.zeros(5), 1e-5)
    whole, costs = swept(laid, [5, 6, 700], np.full(900, np.inf))
    for tile in range(4):
        part, cost = swept(laid, [5, 6, 700], np.full(900, np.inf), tile, tile + 1)
        np.testing.assert_array_equal(
            part[:, tile * TILE_ROWS : (tile + 1) * TILE_ROWS], whole[:, tile * TILE_ROWS :][:, :TILE_ROWS]
        )
        np.testing.assert_array_equal(cost[tile], costs[tile])
