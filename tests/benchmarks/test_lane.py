"""A contender that cannot take part says why, and one that can does what it is told."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from benchmarks.lane import Lane, UnavailableError


def test_missing_library_is_reported(tmp_path: Path) -> None:
    with (
        closing(Lane("no_such_library", "pca", {}, tmp_path)) as lane,
        pytest.raises(UnavailableError, match="no_such"),
    ):
        lane.ready()


def test_a_fit_comes_back(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((500, 3))
    np.save(tmp_path / "rows.npy", rows)
    with closing(Lane("unveil", "pca", {}, tmp_path)) as lane:
        lane.ready()
        seconds, found = lane.run(1)
    assert seconds > 0
    np.testing.assert_allclose(found["variances"].sum(), np.var(rows, axis=0, ddof=1).sum(), rtol=1e-12)
