"""The compiled E step through the estimator: the same bits for any number of threads, the same fit as without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil import GaussianMixture
from unveil.engines import Threads
from unveil.mixtures.model import model as mixture

RANDOM = np.random.default_rng(0)
ROWS = 6.0 * RANDOM.normal(size=(3, 3))[RANDOM.integers(3, size=60_000)] + RANDOM.normal(size=(60_000, 3))


def fitted(workers: int, structure: str, weights: Any) -> GaussianMixture:
    model = GaussianMixture(3, covariance_type=structure, random_state=0, engine=Threads(workers))
    return model.fit(ROWS, sample_weight=weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("structure", ["full", "tied", "diag", "spherical"])
def test_threads_change_no_bit_and_compiling_no_answer(structure: str, weighted: bool, monkeypatch: Any) -> None:
    weights = np.random.default_rng(1).integers(0, 3, len(ROWS)).astype(float) if weighted else None
    plain = fitted(2, structure, weights)
    monkeypatch.setattr(mixture, "WORTH_COMPILING", 0)
    one, two, five = (fitted(workers, structure, weights) for workers in (1, 2, 5))
    for name in ("weights_", "means_", "covariances_"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes() == getattr(five, name).tobytes()
        np.testing.assert_allclose(getattr(one, name), getattr(plain, name), rtol=1e-7, atol=1e-9)
    assert one.lower_bound_ == pytest.approx(plain.lower_bound_, rel=1e-12)
