"""Several chains over one block: each has the bits that it has alone, and what the rows look like is found once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.chains.model.emissions import Emissions
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.core.protocols import Block, Request
from unveil.expectations import Exact, Hard
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.poisson import Poisson, PoissonParams

CODES = np.random.default_rng(0).integers(5, size=(400, 1)).astype(np.float64)
LENGTHS = np.array([100, 250, 50])


def chain(kind: str, k: int, compiled: bool = True) -> tuple[HiddenMarkov, MarkovParams]:
    random = np.random.default_rng(k)
    family: Any = Categorical((5,)) if kind == "categorical" else Poisson()
    shares: Any = CategoricalParams(random.dirichlet(np.ones(5), k))
    emissions = shares if kind == "categorical" else PoissonParams(random.uniform(1.0, 4.0, (k, 1)))
    params = MarkovParams(random.dirichlet(np.ones(k)), random.dirichlet(np.ones(k), k), emissions)
    return HiddenMarkov(family, k, np.zeros(1), compiled=compiled), params


def request(model: HiddenMarkov, params: MarkovParams, block: Block, expectation: Any = None) -> Request:
    return Request(model, model.prepare(params), block, expectation or Exact(), None, np.random.default_rng)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["categorical", "poisson"])
def test_bits_of_each_alone(kind: str, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(1).integers(0, 3, len(CODES)).astype(np.float64) if weighted else None
    block = Block(0, 0, CODES, weights, LENGTHS)
    given = [request(*chain(kind, k), block) for k in (2, 3, 4)]
    given += [request(*chain(kind, 3), block, Hard()), request(*chain(kind, 2, compiled=False), block)]
    wanted = [one.model.expect(one.plan, block, one.expectation, None, one.random)[0] for one in given]
    looks: list[bool] = []
    original = Emissions.remember

    def counting(self: Emissions, seen: Block) -> Any:
        looks.append(self.compiled)
        return original(self, seen)

    monkeypatch.setattr(Emissions, "remember", counting)
    found = given[0].model.expect_many(given)
    assert looks == [True, False]
    for (statistics, _), alone in zip(found, wanted, strict=True):
        assert {name: value.tobytes() for name, value in statistics.items()} == {
            name: value.tobytes() for name, value in alone.items()
        }
