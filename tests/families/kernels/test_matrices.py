"""Small covariance matrices in one call, against the general way."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.families.covariance.structure import Full
from unveil.families.covariance.symmetric import invert_positive, pack_precisions
from unveil.families.gaussian import FLOOR_SHARES, Gaussian, GaussianParams
from unveil.families.held.covariances import PooledFull
from unveil.families.kernels.matrices import FEW_COLUMNS, matrices_of, naturals_of


def components(seed: int, k: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances, of columns in units far apart."""
    random = np.random.default_rng(seed)
    units = 10.0 ** random.integers(-3, 4, size=d)
    factors = random.normal(size=(k, d, 2 * d)) * units[:, None]
    return random.normal(size=(k, d)) * units, factors @ np.swapaxes(factors, 1, 2)


def moments_of(means: np.ndarray, covariances: np.ndarray, origins: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums of (1, x, products) about the origins."""
    away, (rows, columns) = means - origins, np.triu_indices(means.shape[1])
    second = covariances + away[:, :, None] * away[:, None, :]
    return counts[:, None] * np.concatenate([np.ones((len(means), 1)), away, second[:, rows, columns]], axis=1)


@pytest.mark.parametrize(("k", "d"), [(1, 1), (3, 2), (5, 8), (2, FEW_COLUMNS)])
def test_natural_parameters(k: int, d: int) -> None:
    means, covariances = components(0, k, d)
    found = naturals_of(means, covariances)
    want = pack_precisions(*invert_positive(covariances), means)
    assert found is not None
    np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-9 * np.abs(want).max())
    np.testing.assert_array_equal(Full().natural(means, covariances), found)


def test_tables_may_be_parts_of_others() -> None:
    """Columns of a wider table of moments, as families of several kinds of columns have them."""
    means, covariances = components(3, 3, 4)
    moments = moments_of(means, covariances, np.zeros((3, 4)), np.array([20.0, 30.0, 40.0]))
    wide = np.concatenate([moments, moments], axis=1)[:, : moments.shape[1]]
    for one, other in zip(
        matrices_of(wide, np.zeros((3, 8))[:, ::2], 1e-6, FLOOR_SHARES) or (),
        matrices_of(moments, np.zeros((3, 4)), 1e-6, FLOOR_SHARES) or (),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    found = naturals_of(np.repeat(means, 2, axis=1)[:, ::2], np.swapaxes(covariances, 1, 2))
    np.testing.assert_array_equal(found, naturals_of(means, covariances))


def test_what_is_not_positive_is_left_to_the_general_way() -> None:
    means, covariances = components(0, 2, 3)
    covariances[1, 0, 0] *= -1.0
    assert naturals_of(means, covariances) is None
    with pytest.raises(np.linalg.LinAlgError):
        Full().natural(means, covariances)
    assert naturals_of(*components(0, 2, FEW_COLUMNS + 1)) is None


@pytest.mark.parametrize(("k", "d"), [(1, 1), (3, 2), (5, 8), (2, FEW_COLUMNS)])
@pytest.mark.parametrize("framed", [False, True])
def test_the_m_step(k: int, d: int, framed: bool) -> None:
    means, covariances = components(1, k, d)
    origins = 0.9 * means if framed else np.zeros((k, d))
    moments = moments_of(means, covariances, origins, np.linspace(20.0, 90.0, k))
    family = Gaussian()
    found = matrices_of(moments, origins, family.reg_covar, FLOOR_SHARES)
    want = family._estimate(moments, origins, None)
    assert found is not None
    np.testing.assert_allclose(found[0], want.means, rtol=1e-13)
    units = np.sqrt(np.einsum("kii->ki", want.covariances))
    away = (found[1] - want.covariances) / (units[:, :, None] * units[:, None, :])
    assert np.abs(away).max() < 1e-12
    taken = family.maximise(moments, GaussianParams(means, covariances, origins))
    np.testing.assert_array_equal(taken.covariances, found[1])
    np.testing.assert_array_equal(found[1], np.swapaxes(found[1], 1, 2))


def test_a_floor_is_left_to_the_general_way() -> None:
    means, covariances = components(2, 3, 2)
    covariances[1] = np.outer([1.0, 2.0], [1.0, 2.0]) * covariances[1, 0, 0]
    moments = moments_of(means, covariances, means, np.full(3, 50.0))
    family = Gaussian(reg_covar=0.0)
    assert matrices_of(moments, means, 0.0, FLOOR_SHARES) is None
    assert family.maximise(moments, GaussianParams(means, covariances, means)).floored == 1
    many = components(0, 2, FEW_COLUMNS + 1)
    assert matrices_of(moments_of(*many, many[0], np.ones(2)), many[0], 0.0, FLOOR_SHARES) is None


def test_covariances_that_groups_share_are_not_those_of_components() -> None:
    means, covariances = components(3, 3, 2)
    moments = moments_of(means, covariances, means, np.full(3, 50.0))
    pooled = Gaussian(PooledFull(np.array([0, 0, 1]))).maximise(moments, GaussianParams(means, covariances, means))
    np.testing.assert_array_equal(pooled.covariances[0], pooled.covariances[1])
    np.testing.assert_allclose(pooled.covariances[0], covariances[:2].mean(axis=0) + 1e-6 * np.eye(2), rtol=1e-9)
