"""Variances along axes: what is shared, and what becomes of axes and components without spread."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.families.covariance.spectra import (
    Equal,
    EqualShape,
    EqualVolume,
    FreeSpectrum,
    VarianceSpectrum,
    volumes_of,
)

COUNTS, FLOOR = np.array([10.0, 30.0]), np.full(2, 1e-12)
SPECTRA: list[VarianceSpectrum] = [FreeSpectrum(), Equal(), EqualVolume(), EqualShape()]
by_spectrum = pytest.mark.parametrize("spectrum", SPECTRA, ids=lambda one: type(one).__name__)


def test_volumes_of_many_small_variances_do_not_vanish() -> None:
    np.testing.assert_allclose(volumes_of(np.full((1, 64), 1e-30)), 1e-30)


def test_equal_variances_are_pooled_ones() -> None:
    found, raised = Equal().fit(COUNTS, np.array([[1.0, 4.0], [5.0, 8.0]]), FLOOR, None)
    np.testing.assert_allclose(found, [[4.0, 7.0], [4.0, 7.0]])
    assert not raised.any()


def test_equal_volume_keeps_shapes() -> None:
    found, _ = EqualVolume().fit(COUNTS, np.array([[1.0, 4.0], [9.0, 1.0]]), FLOOR, None)
    mean = (10 * 2 + 30 * 3) / 40
    np.testing.assert_allclose(found, [[mean / 2, mean * 2], [mean * 3, mean / 3]])


@pytest.mark.parametrize("volumes", [None, np.array([1e-3, 1e3])])
def test_equal_shape_finds_rows_that_have_one(volumes: np.ndarray | None) -> None:
    squares = np.array([[1.0, 4.0], [3.0, 12.0]])
    found, raised = EqualShape().fit(COUNTS, squares, FLOOR, volumes)
    np.testing.assert_allclose(found, squares)
    assert not raised.any()


def test_equal_shape_stands_where_each_is_best_given_the_other() -> None:
    random = np.random.default_rng(0)
    counts, squares = random.uniform(1, 9, 5), random.exponential(size=(5, 4))
    found, _ = EqualShape().fit(counts, squares, np.full(4, 1e-12), None)
    volumes = volumes_of(found)
    shape = found[0] / volumes[0]
    np.testing.assert_allclose(volumes, np.mean(squares / shape, axis=1))
    pooled = counts / volumes @ squares
    np.testing.assert_allclose(shape, pooled / volumes_of(pooled))


@by_spectrum
def test_a_point_among_others_is_raised_unless_all_is_pooled(spectrum: VarianceSpectrum) -> None:
    found, raised = spectrum.fit(COUNTS, np.array([[0.0, 0.0], [1.0, 4.0]]), FLOOR, None)
    assert np.all(found >= FLOOR)
    assert raised.tolist() == [not isinstance(spectrum, Equal), False]


@by_spectrum
def test_an_axis_without_spread_is_raised_in_all(spectrum: VarianceSpectrum) -> None:
    found, raised = spectrum.fit(COUNTS, np.array([[0.0, 2.0], [0.0, 4.0]]), FLOOR, None)
    assert np.all(found >= FLOOR)
    assert raised.all()


def test_an_axis_of_one_component_without_spread_is_no_trouble_to_a_common_shape() -> None:
    found, raised = EqualShape().fit(COUNTS, np.array([[0.0, 2.0], [1.0, 4.0]]), FLOOR, None)
    assert not raised.any()
    assert found[0, 0] > 0.1
