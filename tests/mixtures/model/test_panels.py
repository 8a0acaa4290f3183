"""Several mixtures over one block: each has the bits that it has alone, and statistics are made once for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Request
from unveil.core.statistics import Statistics
from unveil.expectations import Exact, Hard
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.kernels import em
from unveil.families.poisson import Poisson, PoissonParams
from unveil.mixtures.model import panels
from unveil.mixtures.model.model import Mixture, MixtureParams

ROWS = np.random.default_rng(0).normal(size=(3001, 4)) * 2.0 + 1.0
STRUCTURES = (Full, Tied, Diagonal, Spherical)
SIZES = (3, 2, 5, 3)


def gaussians(kind: Any, k: int, spread: float = 1.0) -> tuple[Mixture, MixtureParams]:
    """A mixture about places of its own."""
    structure, random = kind(), np.random.default_rng([k, int(10 * spread)])
    shape = structure.shape(k, 4)
    square = len(shape) > 1 and shape[-1] == shape[-2] and kind in (Full, Tied)
    covariances = np.broadcast_to(np.eye(4), shape).copy() if square else np.ones(shape)
    params = GaussianParams(random.normal(size=(k, 4)) * spread, covariances, np.zeros((k, 4)))
    return Mixture(Gaussian(structure), k, ROWS.mean(axis=0)), MixtureParams(random.dirichlet(np.ones(k)), params)


def request(model: Mixture, params: MixtureParams, block: Block, expectation: Any = None) -> Request:
    return Request(model, model.prepare(params), block, expectation or Exact(), None, np.random.default_rng)


def alone(one: Request) -> Statistics:
    return one.model.expect(one.plan, one.block, one.expectation, one.memo, one.random)[0]  # type: ignore[no-any-return]


def bits(statistics: Any) -> dict[str, bytes]:
    return {name: np.asarray(value).tobytes() for name, value in statistics.items()}


def check(requests: list[Request], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Compares with one after the other; how many were answered by each call."""
    wanted, calls = [bits(alone(one)) for one in requests], list[int]()

    def counting(x: Any, asked: Any, sums: Any) -> Any:
        calls.append(len(asked))
        return em.expect_panels(x, asked, sums)

    monkeypatch.setattr(panels, "expect_panels", counting)
    found = requests[0].model.expect_many(requests)
    assert [bits(statistics) for statistics, _ in found] == wanted
    return calls


def weights_of(seed: int) -> Floats:
    return np.random.default_rng(seed).integers(0, 3, len(ROWS)).astype(np.float64)


@pytest.mark.parametrize("spread", [0.5, 30.0])  # most pairs count; hardly any do
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", STRUCTURES)
def test_one_structure(kind: Any, weighted: bool, dtype: Any, spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(0, 0, ROWS.astype(dtype), weights_of(0) if weighted else None)
    assert check([request(*gaussians(kind, k, spread), block) for k in SIZES], monkeypatch) == [4]


def test_structures_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(0, 0, ROWS)
    given = [request(*gaussians(kind, k), block) for k in SIZES for kind in STRUCTURES]
    assert sorted(check(given, monkeypatch)) == [4, 4, 8]  # full and tied covariances have the same statistics


def test_tiles_of_another_size_are_another_call(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [request(*gaussians(Full, k), Block(0, 0, ROWS)) for k in (2, 90, 3)]
    assert sorted(check(given, monkeypatch)) == [1, 2]


def test_draws_of_a_bootstrap_are_other_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [Block(0, 0, ROWS, weights_of(seed)) for seed in range(3)] + [Block(0, 0, ROWS)]
    given = [request(*gaussians(Full, 3), block) for block in blocks]
    assert sorted(check(given, monkeypatch)) == [1, 3]


def test_who_asks_for_something_else_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    block, (model, params) = Block(0, 0, ROWS), gaussians(Full, 3)
    framed = replace(params, components=replace(params.components, origins=params.components.means))
    given = [
        request(model, params, block),
        request(model, params, block, Hard()),
        request(model, framed, block),
        request(replace(model, compiled=False), params, block),
        request(replace(model, shift=model.shift + 1.0), params, block),
        request(*gaussians(Full, 4), block),
    ]
    assert sorted(check(given, monkeypatch)) == [1, 2]


def test_what_rows_are_worth_by_themselves_goes_by_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(2).poisson(3.0, (500, 4)).astype(np.float64)
    model = Mixture(Poisson(), 2, np.zeros(4))
    params = MixtureParams(np.full(2, 0.5), PoissonParams(np.array([[1.0] * 4, [4.0] * 4])))
    blocks = [Block(0, 0, rows, weights_of(seed)[:500]) for seed in range(2)]
    check([request(model, params, block) for block in (*blocks, blocks[0])], monkeypatch)


@pytest.mark.parametrize("width", [5, em.WIDE_TABLE])
@pytest.mark.parametrize("kind", ["LINEAR", "SQUARES"])
def test_every_kind_of_statistics(kind: str, width: int) -> None:
    random, sums = np.random.default_rng(3), getattr(em, kind)
    x, height = random.normal(size=(300, width)), 1 + width * (1 if kind == "LINEAR" else 2)
    asked = [em.StatisticsPanel(random.normal(size=(k, height)) * 1e-3, random.random(300)) for k in (2, 4, 1)]
    for (moments, bound), panel in zip(em.expect_panels(x, asked, sums), asked, strict=True):
        wanted, alone = em.expect_block(x, panel.weights, np.zeros(width), panel.natural, sums)
        assert (moments.tobytes(), bound) == (wanted.tobytes(), alone)
