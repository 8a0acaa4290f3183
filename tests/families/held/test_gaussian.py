"""Held and tied means, covariances, scales and degrees of freedom: M steps against general optimisers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests import laws
from tests.families.held.examples import (
    FEW,
    FOUR,
    GAUSSIAN_MASKS,
    MEANS,
    ORIGINS,
    ROWS,
    SHARES,
    TIES,
    WISHART,
    D,
    Floats,
    K,
    height,
    moments_of,
    normal,
    obeyed,
    optimum,
    student_params,
    tied_start,
)
from tests.oracles.covariances import MODELS, packed, structure_of
from unveil.families import hold
from unveil.families.covariance.structure import Full, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.student import Student, StudentParams

ORACLES = [*((masks, None) for masks in GAUSSIAN_MASKS if masks != "ties"), ("ties", WISHART), ("all", WISHART)]


def explicit(
    structure: Any, entries: Any, params: GaussianParams, fixed: bool
) -> tuple[Callable[[Floats], Any], Floats]:
    """Parameters from plain free numbers: values of the means, and logarithms and triangles of covariances."""
    groups = entries.groups((K, D))
    values = int(groups.max()) + 1
    dense = structure.dense(params.covariances, K, D)
    rows, columns = np.tril_indices(D, -1)
    shared = isinstance(structure, Tied)
    count = 1 if shared else K
    widths = {"Full": D + len(rows), "Tied": D + len(rows), "Diagonal": D, "Spherical": 1}[type(structure).__name__]

    def made(vector: Floats) -> GaussianParams:
        means = np.where(groups >= 0, vector[:values][groups], params.means)
        if fixed:
            return GaussianParams(means, params.covariances, params.origins)
        free = vector[values:].reshape(count, widths)
        factors = np.zeros((count, D, D))
        np.einsum("kii->ki", factors)[...] = np.exp(free[:, :D]) if widths > 1 else np.exp(free)
        factors[:, rows, columns] = free[:, D:] if widths > D else 0.0
        matrices = factors @ np.swapaxes(factors, 1, 2)
        return GaussianParams(means, packed(structure, matrices), params.origins)

    start = np.zeros(values)
    np.add.at(start, groups[groups >= 0], params.means[groups >= 0])
    start /= np.bincount(groups[groups >= 0], minlength=values)
    sizes = np.log(np.einsum("kii->ki", dense)[:count]) / 2
    rest = np.zeros((count, widths))
    rest[:, : min(D, widths)] = sizes[:, : min(D, widths)]
    return made, start if fixed else np.concatenate([start, rest.ravel()])


@pytest.mark.parametrize("structure", FOUR)
@pytest.mark.parametrize(("masks", "prior"), ORACLES, ids=[f"{m}-{'wishart' if p else 'flat'}" for m, p in ORACLES])
def test_a_gaussian_m_step_is_the_constrained_optimum(structure: str, masks: str, prior: Any) -> None:
    model = {"full": "VVV", "tied": "EEE", "diagonal": "VVI", "spherical": "VII"}[structure]
    family = hold(Gaussian(FOUR[structure], 0.0, prior), **GAUSSIAN_MASKS[masks])
    params = tied_start(family, normal(model))
    moments = moments_of(family, params, ROWS)
    found = family.maximise(moments, params)
    fixed = bool(np.all(GAUSSIAN_MASKS[masks].get("covariances", False)))
    made, start = explicit(FOUR[structure], family.rule.entries, params, fixed)
    best = optimum(lambda v: height(family, moments, made(v)), start)
    assert height(family, moments, found) >= best - 1e-6 * abs(best)
    obeyed(family, found, params)
    again = family.maximise(moments, found)
    laws.alike(again, found, rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [None, WISHART], ids=["flat", "wishart"])
def test_an_m_step_never_lowers_the_height_and_ends_flat(model: str, prior: Any) -> None:
    masks = GAUSSIAN_MASKS["both"]
    family = hold(Gaussian(structure_of(model), 0.0, prior), **masks)
    params = tied_start(family, normal(model))
    moments = moments_of(family, params, ROWS)
    found = family.maximise(moments, params)
    assert height(family, moments, found) > height(family, moments, params)
    if prior is None:  # structures that share something take each component's prior as pooled rows
        chart = family.coordinates(found)
        gradient = chart.gradient(moments, chart.origin) / np.sqrt(chart.information(moments[:, 0]))
        assert np.max(np.abs(gradient)) < 1e-3


def test_some_covariances_stay_and_the_others_move() -> None:
    family = hold(Gaussian(Full(), 0.0), means=FEW, covariances=np.array([True, False, False]))
    params = normal("VVV")
    moments = moments_of(family, params, ROWS)
    found = family.maximise(moments, params)
    np.testing.assert_array_equal(found.covariances[0], params.covariances[0])
    for k in range(1, K):
        away = ROWS - found.means[k]
        want = (SHARES[k] * away.T) @ away / SHARES[k].sum()
        np.testing.assert_allclose(found.covariances[k], want, rtol=1e-10)
    precision = np.linalg.inv(params.covariances[0])  # regression of the free entries on the held one
    mean = SHARES[0] @ ROWS / SHARES[0].sum()
    shift = -np.linalg.solve(precision[1:, 1:], precision[1:, 0] * (MEANS[0, 0] - mean[0]))
    np.testing.assert_allclose(found.means[0, 1:], mean[1:] + shift, rtol=1e-10)


def test_a_held_entry_of_a_full_covariance_is_regressed_on() -> None:
    """Closed form: with its covariance free, the other entries move by the slope of the rows' own scatter."""
    family = hold(Gaussian(Full(), 0.0), means=np.array([[True, False, False]]))
    far = GaussianParams(np.array([[40.0, 0.0, 0.0]]), np.eye(D)[None], np.zeros((1, D)))
    moments = moments_of(family, far, ROWS, np.ones((1, len(ROWS))))
    found = family.maximise(moments, far).means[0]
    scatter, mean = np.cov(ROWS.T, bias=True), ROWS.mean(axis=0)
    np.testing.assert_allclose(found[1:], mean[1:] + scatter[1:, 0] / scatter[0, 0] * (40.0 - mean[0]), rtol=1e-9)


def test_with_nothing_held_the_m_step_is_the_familys_own() -> None:
    for masks in ({}, {"means": np.zeros((K, D), dtype=bool)}, {"tied_means": np.full((K, D), -1)}):
        family = hold(Gaussian(Full(), 1e-6), **masks)
        params = normal("VVV")
        moments = moments_of(family, params, ROWS)
        laws.alike(family.maximise(moments, params), family.family.maximise(moments, params), rtol=1e-13)
        assert family.n_parameters(K, D) == family.family.n_parameters(K, D)


def test_components_without_rows() -> None:
    family = hold(Gaussian(Full(), 0.0, WISHART), tied_means=TIES)
    params = tied_start(family, normal("VVV"))
    shares = SHARES.copy()
    shares[1] = 0.0
    moments = moments_of(family, params, ROWS, shares)
    found = family.maximise(moments, params)
    np.testing.assert_array_equal(found.covariances[1], params.covariances[1])
    assert found.means[1, 2] == params.means[1, 2]
    assert found.means[1, 1] == found.means[0, 1]
    assert height(family, moments, found) > height(family, moments, params)
    np.testing.assert_array_equal(family.maximise(np.zeros_like(moments), params).means, params.means)


def test_frames_make_no_difference() -> None:
    family = hold(Gaussian(Full(), 0.0), **GAUSSIAN_MASKS["both"])
    params = tied_start(family, normal("VVV"))
    other = replace(params, origins=params.means + 0.3)
    one = family.maximise(moments_of(family, params, ROWS), params)
    two = family.maximise(moments_of(family, other, ROWS), other)
    np.testing.assert_allclose(two.means, one.means, rtol=1e-8)
    np.testing.assert_allclose(two.covariances, one.covariances, rtol=1e-8)
    np.testing.assert_array_equal(two.origins, other.origins)


@pytest.mark.parametrize("structure", FOUR)
@pytest.mark.parametrize("masks", ["means", "ties"])
def test_a_student_m_step_is_the_constrained_optimum(structure: str, masks: str) -> None:
    model = {"full": "VVV", "tied": "EEE", "diagonal": "VVI", "spherical": "VII"}[structure]
    family = hold(Student(FOUR[structure], 0.0), dofs=np.array([True, False, True]), **GAUSSIAN_MASKS[masks])
    given = normal(model)
    start = StudentParams(given.means, given.covariances, np.array([3.0, 8.0, 20.0]), ORIGINS)
    params = tied_start(family, start)
    moments = moments_of(family, params, ROWS)
    found = family.maximise(moments, params)
    np.testing.assert_array_equal(found.dofs[[0, 2]], [3.0, 20.0])
    assert found.dofs[1] == family.family.maximise(moments, params).dofs[1]
    made, begin = explicit(FOUR[structure], family.rule.entries, given, False)
    with_dofs = lambda v: student_params(made(v), found.dofs)  # noqa: E731
    best = optimum(lambda v: height(family, moments, with_dofs(v)), begin)
    assert height(family, moments, found) >= best - 1e-6 * abs(best)
    obeyed(family, found, params)


def test_scales_and_dofs_stay() -> None:
    start = student_params(normal("VVV"), np.array([3.0, 8.0, 20.0]))
    family = hold(Student(Full(), 0.0), scales=np.array([False, True, False]), dofs=True)
    found = family.maximise(moments_of(family, start, ROWS), start)
    np.testing.assert_array_equal(found.scales[1], start.scales[1])
    np.testing.assert_array_equal(found.dofs, start.dofs)
    assert np.any(found.scales[0] != start.scales[0])
    assert family.n_parameters(K, D) == K * D + 2 * D * (D + 1) // 2
    assert hold(Student(Full(), shared_dof=True), dofs=True).n_parameters(K, D) == K * D + K * D * (D + 1) // 2
    with pytest.raises(ValueError, match="dofs must be all True or all False"):
        hold(Student(Full(), shared_dof=True), dofs=np.array([True, False, False])).n_parameters(K, D)
