"""The compiled E step against the tile loop in Python, which is its oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unveil.core.protocols import Block
from unveil.expectations import Exact
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.kernels.em import PANEL, SQUARES, WIDE_ROWS, expect_block
from unveil.mixtures.model.model import Mixture, MixtureParams


def rows_and_model(kind: Any, spread: float) -> tuple[Any, Mixture, MixtureParams]:
    random = np.random.default_rng(7)
    centres = random.normal(size=(9, 3)) * spread
    rows = centres[random.integers(9, size=3001)] + random.normal(size=(3001, 3))
    weights = random.dirichlet(np.ones(9))
    if kind is Bernoulli:
        params = BernoulliParams(random.uniform(0.05, 0.95, (9, 3)))
        return (rows > 0).astype(float), Mixture(Bernoulli(), 9, np.zeros(3)), MixtureParams(weights, params)
    structure = kind()
    shape = structure.shape(9, 3)
    covariances = (
        np.broadcast_to(np.eye(3), shape).copy() if len(shape) > 1 and shape[-1] == shape[-2] else np.ones(shape)
    )
    model = Mixture(Gaussian(structure), 9, rows.mean(axis=0))
    return rows, model, MixtureParams(weights, GaussianParams(centres - model.shift, covariances, np.zeros((9, 3))))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spread", [0.5, 30.0])  # most pairs count; hardly any do
@pytest.mark.parametrize("kind", [Full, Tied, Diagonal, Spherical, Bernoulli])
def test_equals_the_tile_loop(kind: Any, spread: float, dtype: Any, weighted: bool) -> None:
    rows, model, params = rows_and_model(kind, spread)
    weights = np.random.default_rng(1).integers(0, 3, len(rows)).astype(float) if weighted else None
    block, plan = Block(0, 0, rows.astype(dtype), weights), model.prepare(params)
    fused, _ = model.expect(plan, block, Exact(), None, lambda: None)  # type: ignore[arg-type,return-value]
    open_ = replace(model, compiled=False)
    slow, _ = open_.expect(plan, block, Exact(), None, lambda: None)  # type: ignore[arg-type,return-value]
    np.testing.assert_allclose(fused["log_likelihood"], slow["log_likelihood"], rtol=1e-13)
    np.testing.assert_allclose(fused["moments"], slow["moments"], rtol=1e-10, atol=1e-10)
    assert fused["weight"] == slow["weight"]
    assert fused["free_energy"] == fused["log_likelihood"]


def test_a_model_with_its_own_frames_goes_by_tiles() -> None:
    rows, model, params = rows_and_model(Full, 30.0)
    moved = replace(params, components=replace(params.components, origins=params.components.means))
    block = Block(0, 0, rows)
    far, _ = model.expect(model.prepare(moved), block, Exact(), None, lambda: None)  # type: ignore[arg-type,return-value]
    near, _ = model.expect(model.prepare(params), block, Exact(), None, lambda: None)  # type: ignore[arg-type,return-value]
    np.testing.assert_allclose(far["log_likelihood"], near["log_likelihood"], rtol=1e-12)
    np.testing.assert_allclose(far["moments"][:, 0], near["moments"][:, 0], rtol=1e-9)


def test_only_long_passes_are_compiled() -> None:
    _, model, _ = rows_and_model(Full, 1.0)
    assert not model.suited_to(1000).compiled
    assert model.suited_to(1_000_000).compiled


def test_more_components_than_rows_in_a_tile() -> None:
    random = np.random.default_rng(4)
    rows = (random.random((300, 3)) < 0.5).astype(float)
    params = MixtureParams(np.full(200, 1 / 200), BernoulliParams(random.uniform(0.05, 0.95, (200, 3))))
    model = Mixture(Bernoulli(), 200, np.zeros(3))
    block, plan = Block(0, 0, rows[:70]), model.prepare(params)
    fused, _ = model.expect(plan, block, Exact(), None, lambda: None)  # type: ignore[arg-type,return-value]
    slow, _ = replace(model, compiled=False).expect(plan, block, Exact(), None, lambda: None)  # type: ignore[arg-type,return-value]
    np.testing.assert_allclose(fused["moments"], slow["moments"], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_wide_rows_go_by_panels_of_columns(weighted: bool) -> None:
    random = np.random.default_rng(3)
    rows, weights = random.normal(size=(500, PANEL + 30)), random.random(500) if weighted else np.empty(0)
    variances, means = random.uniform(1.0, 2.0, (4, PANEL + 30)), random.normal(size=(4, PANEL + 30))
    natural = Diagonal().natural(means, variances)
    want, bound = expect_block(rows, weights, np.zeros(PANEL + 30), natural, SQUARES)
    moments = np.zeros(natural.shape)
    found = SQUARES.expect_wide(rows, weights, natural, WIDE_ROWS, moments)
    assert found == pytest.approx(bound, rel=1e-13)
    np.testing.assert_allclose(moments, want, rtol=1e-11, atol=1e-11)
