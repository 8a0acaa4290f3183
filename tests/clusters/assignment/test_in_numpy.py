"""K-means in NumPy against the kernels: the same sums to the last bit, so that ties break the same way."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.assignment import cluster_sums as gather
from unveil.clusters.assignment import in_numpy as direct

NONE = np.empty(0)


def _tables():
    random = np.random.default_rng(0)
    yield "random", random.normal(size=(400, 3))
    yield "grid", np.outer(random.integers(-40, 40, size=374), [2.0, 1.0, 3.0])
    yield "far", random.normal(size=(300, 2)) + 1e8
    yield "uneven", random.normal(size=(300, 2)) * np.exp(8 * random.normal(size=(300, 1)))
    yield "tiny", random.normal(size=(50, 2)) * 1e-160
    yield "zeros", np.zeros((20, 2))
    yield "huge", random.normal(size=(50, 2)) * 1e200


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "rows"), [*_tables()])
def test_counts_and_sums_have_the_bits_of_the_kernels(name, rows, weighted):
    random = np.random.default_rng(1)
    k, shift = 5, rows.mean(axis=0)
    labels = random.integers(k - 1, size=len(rows)).astype(np.int32)  # the last cluster is empty
    weights = random.random(len(rows)) * 3 if weighted else NONE
    centres, before = rows[:k] - shift, np.empty(0, np.int32)
    brief, changed, cost = direct.account(rows, shift, weights, before, labels, None, centres)
    tally, _, exact = gather.account(rows, shift, weights, before, labels, None, centres)
    assert changed == len(rows)
    assert brief.counts.tobytes() == tally.counts.tobytes()
    assert brief.sums.tobytes() == tally.sums.tobytes()
    if name not in ("tiny", "huge"):  # squares of these are lost
        assert cost == pytest.approx(exact, rel=1e-9, abs=1e-9 * float(np.sum((rows - shift) ** 2)))


def test_a_cell_that_is_no_number_gives_a_cost_that_is_none():
    rows = np.array([[0.0], [np.inf], [1.0]])
    labels = np.zeros(3, np.int32)
    _, _, cost = direct.account(rows, np.zeros(1), NONE, labels[:0], labels, None, np.zeros((1, 1)))
    assert not np.isfinite(cost)
