"""Distances of all pairs beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from unveil.clusters.medoids import pairwise


@pytest.mark.parametrize(("name", "peer"), [("euclidean", "euclidean"), ("manhattan", "cityblock")])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 13, 3), (20, 5, 40)])
def test_distances_are_scipys(name: str, peer: str, shape: tuple[int, int, int]) -> None:
    m, k, d = shape
    random = np.random.default_rng(0)
    rows, others, out = random.normal(size=(m, d)), random.normal(size=(k, d)), np.empty((m, k))
    getattr(pairwise, name)(rows, np.ascontiguousarray(others.T), out)
    np.testing.assert_allclose(out, cdist(rows, others, peer), rtol=1e-13)


def test_the_expanded_square_is_mended_where_it_cancels() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(9, 80)) + 1e4
    others = np.vstack([rows[:4] + 1e-6 * random.normal(size=(4, 80)), -rows])
    out, squares = np.empty((9, 13)), [np.einsum("ij,ij->i", x, x) for x in (rows, others)]
    pairwise.expanded(rows, others, *squares, rows @ others.T, out)
    np.testing.assert_allclose(out, cdist(rows, others), rtol=1e-11)
