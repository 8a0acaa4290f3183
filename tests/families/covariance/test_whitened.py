"""Wide rows by whitening matrices, against the natural form and sums in the open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from unveil.families.base import Tile
from unveil.families.covariance.structure import Full, Structure, Tied
from unveil.families.covariance.whitened import WIDE, sums_of_products
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.student import Student, StudentParams

K, N = 3, 40


def wide(structure: Structure, seed: int = 0) -> tuple[Gaussian, GaussianParams, Tile]:
    random = np.random.default_rng(seed)
    roots = random.normal(size=(K, WIDE, WIDE))
    matrices = roots @ np.swapaxes(roots, 1, 2) / WIDE + np.eye(WIDE)
    covariances = matrices[0] if isinstance(structure, Tied) else matrices
    params = GaussianParams(random.normal(size=(K, WIDE)), covariances, np.zeros((K, WIDE)))
    return Gaussian(structure), params, Tile(random.normal(size=(WIDE, N)), np.empty((K, N)))


@pytest.mark.parametrize("structure", [Full(), Tied()])
def test_scores_are_scipys_log_density(structure: Structure) -> None:
    family, params, tile = wide(structure)
    plan = family.plan(params)
    assert plan.whitened is not None
    assert family.fused(plan) is None
    family.score(plan, tile)
    for k, matrix in enumerate(family.covariances(params)):
        want = multivariate_normal(params.means[k], matrix).logpdf(tile.x.T)
        np.testing.assert_allclose(tile.logits[k], want, rtol=1e-11)
    np.testing.assert_allclose(family.natural(params) @ _statistics(tile.x), tile.logits, rtol=1e-9)


@pytest.mark.parametrize("structure", [Full(), Tied()])
def test_sums_are_those_of_the_statistics_about_every_origin(structure: Structure) -> None:
    family, params, tile = wide(structure)
    random = np.random.default_rng(1)
    origins = np.concatenate([np.zeros((1, WIDE)), random.normal(size=(K - 1, WIDE))])
    tile.logits[...] = random.random((K, N)) * (random.random((K, N)) > 0.3)  # some rows have no share
    found = family.gather(family.plan(replace(params, origins=origins)), tile)
    want = [_statistics(tile.x - origin[:, None]) @ line for origin, line in zip(origins, tile.logits, strict=True)]
    np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(family.gather_first(tile), tile.logits @ _statistics(tile.x).T, rtol=1e-11, atol=1e-11)


def test_frames_stay_within_a_deviation_of_their_mean() -> None:
    family, params, _ = wide(Full())
    near = replace(params, means=0.5 * np.sqrt(np.einsum("kii->ki", params.covariances)))
    np.testing.assert_array_equal(family.recentre(near).origins, 0.0)
    far = replace(near, means=near.means * np.array([[1.0], [3.0], [1.0]]))
    np.testing.assert_array_equal(family.recentre(far).origins, far.means * np.array([[0.0], [1.0], [0.0]]))


def test_students_go_the_same_way() -> None:
    gaussian, params, tile = wide(Full())
    family = Student(dof=5.0)
    student = StudentParams(params.means, params.covariances, np.full(K, 5.0), params.origins)
    family.score(family.plan(student), tile)
    away = tile.x[None] - params.means[:, :, None]
    squares = np.einsum("kir,kij,kjr->kr", away, np.linalg.inv(params.covariances), away)
    differences = -0.5 * (5.0 + WIDE) * np.log1p(squares / 5.0)
    np.testing.assert_allclose(np.diff(tile.logits, axis=1), np.diff(differences, axis=1), rtol=1e-8, atol=1e-8)
    assert family.tile_rows(WIDE, K) == gaussian.tile_rows(WIDE, K)


def _statistics(x: np.ndarray) -> np.ndarray:
    rows, columns = np.triu_indices(len(x))
    return np.concatenate([np.ones((1, x.shape[1])), x, x[rows] * x[columns]])


def test_components_without_rows_have_sums_of_zero(capfd: pytest.CaptureFixture[str]) -> None:
    shares = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0]])
    moments = sums_of_products(np.arange(6.0).reshape(2, 3), shares, np.zeros((2, 2)))
    assert moments[0].tolist() == [0.0] * 6
    np.testing.assert_allclose(moments[1], [1.5, 0.5, 5.0, 0.5, 2.0, 17.0], rtol=1e-14)
    assert capfd.readouterr() == ("", "")  # BLAS complains on its own
