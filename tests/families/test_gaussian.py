"""The Gaussian family: densities, the M step, floors, and frames of a component's own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure, Tied
from unveil.families.gaussian import OWN_FRAME_ABOVE, Gaussian, GaussianParams

Floats = NDArray[np.float64]
STRUCTURES: list[Structure] = [Full(), Tied(), Diagonal(), Spherical()]
by_structure = pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: type(one).__name__)


def random_covariances(structure: Structure, k: int, d: int) -> Floats:
    random = np.random.default_rng(3)
    shape = structure.shape(k, d)
    if isinstance(structure, Diagonal | Spherical):
        return random.uniform(0.5, 2.0, shape)
    root = random.normal(size=shape)
    return root @ np.swapaxes(root, -1, -2) + np.eye(d)


def sufficient(family: Gaussian, x: Floats) -> Floats:
    out = np.empty((family.n_statistics(x.shape[1]), len(x)))
    family.statistics(np.ascontiguousarray(x.T), out)
    return out


@by_structure
@pytest.mark.parametrize("n_columns", [1, 3, 4])
def test_natural_parameters_times_statistics_is_scipys_log_density(structure: Structure, n_columns: int) -> None:
    random, k = np.random.default_rng(0), 4  # k = d in one case: shapes must not be told apart by luck
    family = Gaussian(structure, 0.0)
    means, covariances = random.normal(size=(k, n_columns)), random_covariances(structure, k, n_columns)
    x = random.normal(size=(20, n_columns))
    params = GaussianParams(means, covariances, np.zeros_like(means))
    found = family.natural(params) @ sufficient(family, x)
    dense = structure.dense(covariances, k, n_columns)
    want = [multivariate_normal(means[i], dense[i]).logpdf(x) for i in range(k)]
    np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-11)


@by_structure
def test_an_m_step_of_one_component_is_mean_and_covariance(structure: Structure) -> None:
    family = Gaussian(structure, 0.25)
    x = np.random.default_rng(1).normal(2.0, 1.5, (200, 3))
    found = family.first(sufficient(family, x).sum(axis=1)[None])
    np.testing.assert_allclose(found.means[0], x.mean(axis=0))
    full = np.cov(x.T, bias=True)
    reduced = {Diagonal: np.diag(np.diag(full)), Spherical: np.eye(3) * np.trace(full) / 3}.get(type(structure), full)
    np.testing.assert_allclose(structure.dense(found.covariances, 1, 3)[0], reduced + 0.25 * np.eye(3), rtol=1e-11)
    assert found.floored == 0


@by_structure
def test_moments_about_another_origin_give_the_same_parameters(structure: Structure) -> None:
    family = Gaussian(structure, 0.0)
    x = np.random.default_rng(1).normal(2.0, 1.5, (200, 3))
    origin = np.array([[2.1, 1.9, 2.0]])
    before = family.first(sufficient(family, x).sum(axis=1)[None])
    moved = GaussianParams(before.means, before.covariances, origin)
    after = family.maximise(sufficient(family, x - origin).sum(axis=1)[None], moved)
    np.testing.assert_allclose(after.means, before.means, rtol=1e-12)
    np.testing.assert_allclose(after.covariances, before.covariances, rtol=1e-11)
    np.testing.assert_array_equal(after.origins, origin)


@by_structure
def test_components_without_weight_keep_what_they_had(structure: Structure) -> None:
    family = Gaussian(structure, 0.0)
    x = np.random.default_rng(1).normal(size=(50, 2))
    moments = np.stack([sufficient(family, x).sum(axis=1), np.zeros(family.n_statistics(2))])
    old = GaussianParams(np.full((2, 2), 9.0), random_covariances(structure, 2, 2), np.zeros((2, 2)))
    new = family.maximise(moments, old)
    np.testing.assert_array_equal(new.means[1], old.means[1])
    if not isinstance(structure, Tied):
        np.testing.assert_array_equal(new.covariances[1], old.covariances[1])
    np.testing.assert_array_equal(family.maximise(np.zeros_like(moments), old).means, old.means)
    first = family.first(moments)
    np.testing.assert_allclose(first.means[1], x.mean(axis=0))


@by_structure
def test_a_point_is_floored_and_counted(structure: Structure) -> None:
    family = Gaussian(structure, 0.0)
    spread, point = np.random.default_rng(1).normal(size=(50, 2)), np.full((50, 2), 4.0)
    params = family.first(np.stack([sufficient(family, rows).sum(axis=1) for rows in (spread, point)]))
    dense = structure.dense(params.covariances, 2, 2)
    assert np.all(np.linalg.eigvalsh(dense) > 0)
    assert params.floored == (0 if isinstance(structure, Tied) else 1)
    assert family.floored(params) == params.floored
    assert np.all(np.isfinite(family.natural(params)))


@by_structure
def test_rows_without_any_spread_still_give_a_density(structure: Structure) -> None:
    """All rows equal, and nothing added to the variances: there is no scale to take a floor from but their size."""
    family = Gaussian(structure, 0.0)
    params = family.first(sufficient(family, np.ones((20, 2))).sum(axis=1)[None])
    assert np.all(np.linalg.eigvalsh(structure.dense(params.covariances, 1, 2)) > 0)
    assert params.floored == 1
    assert np.all(np.isfinite(family.natural(params)))


@pytest.mark.parametrize("structure", STRUCTURES[:3], ids=lambda one: type(one).__name__)
def test_the_floor_of_a_column_follows_the_scale_of_that_column(structure: Structure) -> None:
    """Not so for spherical covariances: one variance for all columns means that they share a scale."""
    family, units = Gaussian(structure, 0.0), np.array([1e9, 1e-3])
    x = np.random.default_rng(1).normal(size=(200, 2))
    plain = family.first(sufficient(family, x).sum(axis=1)[None])
    scaled = family.first(sufficient(family, x * units).sum(axis=1)[None])
    want = structure.dense(plain.covariances, 1, 2)[0] * np.outer(units, units)
    np.testing.assert_allclose(structure.dense(scaled.covariances, 1, 2)[0], want, rtol=1e-9)
    assert scaled.floored == 0


@by_structure
def test_only_components_that_are_narrow_against_their_distance_get_a_frame(structure: Structure) -> None:
    family = Gaussian(structure)
    shape = structure.shape(2, 2)
    round_ = isinstance(structure, Diagonal | Spherical)
    covariances = np.ones(shape) if round_ else np.broadcast_to(np.eye(2), shape).copy()
    means = np.array([[0.5, 0.0], [0.0, 2.0 * np.sqrt(OWN_FRAME_ABOVE)]])
    framed = family.recentre(GaussianParams(means, covariances, np.zeros((2, 2))))
    np.testing.assert_array_equal(framed.origins, [[0.0, 0.0], means[1]])
    ((component, origin),) = family.plan(framed).own_frames
    assert component == 1
    np.testing.assert_array_equal(origin, means[1])
    again = family.recentre(GaussianParams(means / 4, covariances, framed.origins))
    assert family.plan(again).own_frames == ()
