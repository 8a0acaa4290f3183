"""Shrunk covariances against scikit-learn's, with weights, far from zero and where a class has next to no rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf as reference
from sklearn.covariance import shrunk_covariance
from sklearn.preprocessing import StandardScaler

from unveil.engines import Threads
from unveil.projections.discriminant.scatter import ClassScatter, gather
from unveil.projections.discriminant.shrinkage import Empirical, by_ledoit_wolf, shrunk
from unveil.sources import ArraySource, with_weights
from unveil.sources.files.labelled import Labelled

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(0)
CODES = RANDOM.integers(0, 3, 90).astype(np.uint8)
ROWS = RANDOM.normal(size=(90, 6)) * [1, 10, 0.1, 1, 1, 5] + 2 * RANDOM.normal(size=(3, 6))[CODES]


def parts(rows: Floats, codes: Any, weights: Floats | None = None) -> tuple[Labelled, ClassScatter]:
    source = Labelled(with_weights(ArraySource(rows), weights), codes)
    return source, gather(Threads(1), source, codes, 3, apart=True)


def oracle(rows: Floats) -> Floats:
    scaler = StandardScaler().fit(rows)
    return np.asarray(reference(scaler.transform(rows))[0] * np.outer(scaler.scale_, scaler.scale_))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_ledoit_wolf_is_scikit_learns_class_by_class(offset: float) -> None:
    source, scatter = parts(ROWS + offset, CODES)
    found = by_ledoit_wolf(Threads(1), source, scatter)
    for k in range(3):
        np.testing.assert_allclose(found.within(scatter, np.eye(3)[k]), oracle(ROWS[k == CODES]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.total(scatter), oracle(ROWS), rtol=1e-9, atol=1e-9)


def test_ledoit_wolf_counts_weights() -> None:
    times = np.random.default_rng(1).integers(0, 3, 90)
    source, scatter = parts(ROWS, CODES, times.astype(float))
    found = by_ledoit_wolf(Threads(1), source, scatter)
    rows, codes = np.repeat(ROWS, times, axis=0), np.repeat(CODES, times)
    for k in range(3):
        np.testing.assert_allclose(found.within(scatter, np.eye(3)[k]), oracle(rows[codes == k]), rtol=1e-9, atol=1e-10)


def test_ledoit_wolf_of_a_single_row_and_of_a_single_column() -> None:
    codes = np.zeros(90, np.uint8)
    codes[7], codes[8:40] = 1, 2
    source, scatter = parts(ROWS, codes)
    assert not by_ledoit_wolf(Threads(1), source, scatter).within(scatter, np.eye(3)[1]).any()
    source, scatter = parts(ROWS[:, :1], CODES)
    found = by_ledoit_wolf(Threads(1), source, scatter).within(scatter, np.eye(3)[0])
    np.testing.assert_allclose(found, [[ROWS[CODES == 0, 0].var()]])


def test_a_fixed_amount_is_scikit_learns() -> None:
    _, scatter = parts(ROWS, CODES)
    for amount in (0.0, 0.3, 1.0):
        classes = [shrunk_covariance(np.cov(ROWS[k == CODES].T, bias=True), amount) for k in range(3)]
        priors = np.array([0.2, 0.3, 0.5])
        wanted = sum(prior * covariance for prior, covariance in zip(priors, classes, strict=True))
        np.testing.assert_allclose(Empirical(amount).within(scatter, priors), wanted, atol=1e-12)
        np.testing.assert_allclose(
            Empirical(amount).total(scatter), shrunk_covariance(np.cov(ROWS.T, bias=True), amount), atol=1e-12
        )


def test_amount_one_is_a_sphere() -> None:
    covariance = np.array([[2.0, 0.5], [0.5, 4.0]])
    np.testing.assert_allclose(shrunk(covariance, 1.0), 3 * np.eye(2))
