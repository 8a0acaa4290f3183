"""Variances by one pass: NumPy's, whatever the offset and however the rows are cut."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.kmeans.geometry import Dense
from unveil.clusters.kmeans.variance import mean_variance, variance_of
from unveil.core.statistics import Statistics
from unveil.engines import Threads
from unveil.sources import ArraySource


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_mean_variance_of_the_columns(offset: float) -> None:
    rows = np.random.default_rng(0).normal(size=(40_000, 3)) * [1.0, 20.0, 0.1] + offset
    source, shift = ArraySource(rows), Dense().shift(ArraySource(rows))
    one, two = (variance_of(Dense().spread, source, Threads(count), shift) for count in (1, 2))
    assert one == two == pytest.approx(rows.var(axis=0).mean(), rel=1e-9)


def test_rows_that_are_all_alike_have_none_and_columns_may_have_counts_of_their_own() -> None:
    assert mean_variance(Statistics(counts=3, sums=[0.3, 0.6], squares=0.15 * (1 - 1e-16))) == 0.0
    assert mean_variance(Statistics(counts=[2.0, 1.0], sums=[2.0, 5.0], squares=[4.0, 25.0])) == 0.5
