"""A long chain in pieces: the bits of the whole, and little held."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from unveil.chains.kernels.long_chain import Cuts
from unveil.chains.model import checkpointed
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.chains.model.sizes import Sizes
from unveil.core.idle_threads import lending
from unveil.core.protocols import Block
from unveil.engines import Threads
from unveil.expectations import Exact
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.poisson import Poisson, PoissonParams

SMALL = Sizes(chunk_rows=512, cuts=Cuts(chunk=512, piece=128, split=1000))
STATES = np.repeat(np.random.default_rng(7).integers(3, size=330), 10)  # the last chunk is longer than the others
NOISE = np.random.default_rng(8)
START, TRANSITION = np.full(3, 1 / 3), 0.1 + 0.7 * np.eye(3)
CYCLE = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]])
CODES = ((STATES + NOISE.integers(2, size=len(STATES))) % 4)[:, None] * 1.0
COUNTS = NOISE.poisson(3.0 + 8.0 * STATES[:, None], size=(len(STATES), 6)) * 1.0
HOLES = np.where(NOISE.random(COUNTS.shape) < 0.1, np.nan, COUNTS)
CASES: dict[str, tuple[Any, Any, Any]] = {
    "codes": (Categorical((4,)), CategoricalParams(NOISE.dirichlet(np.ones(4), 3)), CODES),
    "counts": (Poisson(), PoissonParams(np.tile([[3.0], [11.0], [19.0]], 6)), COUNTS),
    "counts with holes": (Poisson(), PoissonParams(np.tile([[3.0], [11.0], [19.0]], 6)), HOLES),
}


def statistics(name: str, transition: Any, weights: Any = None, sizes: Sizes = SMALL) -> dict[str, bytes]:
    family, emissions, rows = CASES[name]
    model = HiddenMarkov(family, 3, np.zeros(rows.shape[1]), sizes=sizes)
    params = MarkovParams(START, transition, emissions)
    block = Block(0, 0, rows, weights, np.array([len(rows)]))
    found, _ = model.expect(model.prepare(params), block, Exact(), None, np.random.default_rng)
    return {each: np.asarray(value).tobytes() for each, value in found.items()}


@pytest.fixture(name="done")
def _done(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether chains were done in pieces, one after the other."""
    import unveil.chains.model.model as home

    done: list[bool] = []

    def told(*given: Any) -> Any:
        found = checkpointed.expect_in_pieces(*given)
        done.append(found is not None)
        return found

    monkeypatch.setattr(home, "expect_in_pieces", told)
    return done


@pytest.mark.parametrize("transition", [TRANSITION, CYCLE], ids=["all steps", "some steps"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_pieces_have_the_bits_of_the_whole(
    name: str, weighted: bool, transition: Any, done: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = NOISE.random(len(STATES)) if weighted and name != "codes" else None
    want = statistics(name, transition, weights)
    assert done == []
    monkeypatch.setattr(checkpointed, "TABLES", 1)
    assert statistics(name, transition, weights) == want
    with lending(Threads(3).share):
        assert statistics(name, transition, weights) == want
    assert done == [True, True]


def test_what_may_be_lost_needs_the_whole(done: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = np.array([[1.0 - 2e-95, 1e-95, 1e-95], [0.1, 0.9, 0.0], [0.0, 0.1, 0.9]])
    want = statistics("counts", tiny)
    monkeypatch.setattr(checkpointed, "TABLES", 1)
    assert statistics("counts", tiny) == want
    assert done == [False]


def test_twice_the_steps_take_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HiddenMarkov(Poisson(), 16, np.zeros(6), sizes=SMALL)
    params = MarkovParams(np.full(16, 1 / 16), np.full((16, 16), 1 / 16), PoissonParams(1.0 + NOISE.random((16, 6))))
    held: dict[int, list[int]] = {1: [], 1 << 40: []}
    for tables, times in ((1, 20), (1, 40), (1 << 40, 20), (1 << 40, 40)):
        monkeypatch.setattr(checkpointed, "TABLES", tables)
        rows = np.tile(COUNTS, (times, 1))
        block = Block(0, 0, rows, None, np.array([len(rows)]))
        _, memo = model.expect(model.prepare(params), block, Exact(), None, np.random.default_rng)
        tracemalloc.start()
        model.expect(model.prepare(params), block, Exact(), memo, np.random.default_rng)
        held[tables].append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert held[1][1] < 1.1 * held[1][0]
    assert held[1 << 40][1] > 1.8 * held[1 << 40][0]
