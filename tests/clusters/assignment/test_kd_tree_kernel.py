"""The K-D tree: cells cover their rows, lists leave out no nearest centre, rows are laid out once each."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.kd_tree_kernel import LANES, assign_cells, grow, make_lists, sort_rows


def _tables(m, d):
    random = np.random.default_rng(m + d)
    return {
        "random": random.normal(size=(m, d)),
        "grid": random.integers(0, 3, size=(m, d)) * 0.1,
        "constant": np.full((m, d), 3.7),
        "two far apart": random.normal(size=(m, d)) + 1e8 * random.integers(0, 2, size=(m, 1)),
        "uneven": random.normal(size=(m, d)) * np.logspace(0, 12, d),
        "sorted": np.sort(random.normal(size=(m, d)), axis=0),
    }


def _homes(held):
    """Cell of each row, and how often it is laid out."""
    cells = np.repeat(np.arange(len(held.starts) - 1), np.diff(held.starts) * LANES)
    return dict(zip(held.order.tolist(), cells.tolist(), strict=True))


@pytest.mark.parametrize(("m", "d"), [(1, 1), (15, 2), (16, 2), (17, 3), (33, 1), (700, 4)])
def test_every_row_lies_in_the_box_of_its_cell(m, d):
    for rows in _tables(m, d).values():
        cells, shift = grow(rows - rows[0]), rows[0]
        held = sort_rows(cells, rows, shift)
        homes, inner = _homes(held), len(cells.cuts)
        assert sorted(homes) == list(range(m))
        for i, home in homes.items():
            assert home < cells.n_cells  # the tree was grown from these rows, so none is outside
            value = rows[i] - shift
            assert (cells.lows[inner + home] <= value).all()
            assert (value <= cells.highs[inner + home]).all()
        vectors = held.rows.reshape(-1, d, LANES).transpose(0, 2, 1).reshape(-1, d)
        np.testing.assert_array_equal(vectors, (rows - shift)[held.order])


def test_cells_are_about_equally_full():
    rows = np.random.default_rng(0).normal(size=(4096, 2))
    homes = np.bincount(list(_homes(sort_rows(grow(rows), rows, np.zeros(2))).values()), minlength=257)
    assert homes[:256].tolist() == [16] * 256
    assert homes[256] == 0


def _labels(cells, rows, shift, centres):
    labels, where = np.full(len(rows), -7, np.int32), np.empty(LANES, np.int32)
    held, lists = sort_rows(cells, rows, shift), make_lists(cells, centres)
    assign_cells(held, lists, centres.reshape(-1), len(shift), where, labels)
    return labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "d", "k"), [(1, 1, 1), (9, 2, 2), (300, 1, 9), (300, 2, 40), (257, 3, 17), (130, 9, 8)])
def test_labels_follow_the_exact_rule(m, d, k, dtype):
    for name, rows in _tables(m, d).items():
        rows, random = rows.astype(dtype), np.random.default_rng(k)
        shift = rows.mean(axis=0, dtype=np.float64)
        cells = grow(rows[: m // 2 + 1] - shift)  # so that some rows lie outside
        centres = rows[random.integers(m, size=k)] - shift
        centres[random.integers(k)] += 1e3
        expected = distances(rows, shift, centres).argmin(axis=1)
        np.testing.assert_array_equal(_labels(cells, rows, shift, centres), expected, err_msg=name)


@pytest.mark.parametrize("d", [2, 3, 4, 6])
def test_of_centres_equally_far_the_first_wins(d):
    """Fused operations would tell (a, b) from (b, a)."""
    random, rows = np.random.default_rng(d), np.zeros((40, d))
    for _ in range(60):
        centres = random.permuted(np.tile(random.random(d), (6, 1)), axis=1)
        expected = distances(rows[:1], np.zeros(d), centres).argmin()
        assert (_labels(grow(rows - 1.0), rows, np.zeros(d), centres) == expected).all()


def test_lists_are_short_where_centres_are_many():
    rows = np.random.default_rng(0).normal(size=(4096, 2))
    centres = rows[:300].copy()
    lists = make_lists(grow(rows), centres)
    sizes = np.diff(lists.offsets)
    assert sizes[-1] == 300  # outside, all of them
    assert sizes[:-1].min() >= 1
    assert sizes[:-1].mean() < 10


def test_lists_of_centres_that_nothing_tells_apart_are_full():
    """They take more room than was set aside at first."""
    rows = np.random.default_rng(0).normal(size=(64, 2))
    lists = make_lists(grow(rows), np.zeros((1000, 2)))
    np.testing.assert_array_equal(np.diff(lists.offsets), 1000)
    np.testing.assert_array_equal(lists.centres[: lists.offsets[-1]].reshape(-1, 1000), [np.arange(1000)] * 5)


def test_rows_that_are_no_numbers_are_outside():
    rows = np.random.default_rng(0).normal(size=(100, 2))
    cells = grow(rows)
    rows[3], rows[7, 1], rows[9] = np.nan, -np.inf, 1e300
    homes = _homes(sort_rows(cells, rows, np.zeros(2)))
    assert {i for i, home in homes.items() if home == cells.n_cells} == {3, 7, 9}
    expected = distances(rows, np.zeros(2), rows[10:30]).argmin(axis=1)
    np.testing.assert_array_equal(_labels(cells, rows, np.zeros(2), rows[10:30].copy()), expected)
