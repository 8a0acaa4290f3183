"""Passes over rows with and without an engine: the same bits, and nothing that an engine of one's own would miss."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.core.protocols import Block, Memo
from unveil.core.statistics import Statistics
from unveil.engines import Threads
from unveil.projections.passes import filled, lone_block, mapped, put, reduced
from unveil.sources import ArraySource

RANDOM = np.random.default_rng(0)
SMALL, LARGE = RANDOM.normal(size=(500, 3)), RANDOM.normal(size=(50_000, 3))


class Handed:
    """An engine that counts what it is handed."""

    def __init__(self) -> None:
        self.passes = 0

    def map_reduce(self, *arguments: Any) -> Any:
        self.passes += 1
        return Threads(1).map_reduce(*arguments)

    def map(self, *arguments: Any) -> Any:
        self.passes += 1
        return Threads(1).map(*arguments)


class Busier(Threads):
    """Threads with a reason of their own."""


def squares(block: Block, memo: Memo = None) -> tuple[Statistics, Memo]:
    return Statistics(products=block.rows.T @ block.rows), None


def lengths(block: Block) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.sum(block.rows**2, axis=1)))


def test_one_block_in_memory_is_taken_as_it_is() -> None:
    block = lone_block(Threads(2), ArraySource(SMALL))
    assert block is not None
    assert np.shares_memory(block.rows, SMALL)
    assert lone_block(Threads(2), ArraySource(LARGE)) is None
    assert lone_block(Busier(2), ArraySource(SMALL)) is None
    assert lone_block(Handed(), ArraySource(SMALL)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [SMALL, LARGE])
def test_every_engine_gives_the_same_bits(rows: NDArray[np.float64]) -> None:
    source, engines = ArraySource(rows), [Threads(1), Threads(3), Busier(2), Handed()]
    sums = [reduced(engine, squares, source)["products"].tobytes() for engine in engines]  # type: ignore[arg-type]
    assert len(set(sums)) == 1
    fill = partial(put, lengths)
    answers = [filled(engine, fill, source, ()).tobytes() for engine in engines]  # type: ignore[arg-type]
    assert len(set(answers)) == 1
    np.testing.assert_allclose(np.frombuffer(answers[0]), np.linalg.norm(rows, axis=1))
    for engine in engines:
        parts = mapped(engine, lengths, source)  # type: ignore[arg-type]
        assert np.concatenate(parts).tobytes() == answers[0]
    assert engines[3].passes == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.intp])
def test_room_of_any_width_and_type_is_filled(dtype: Any) -> None:
    def write(block: Block, out: NDArray[Any]) -> None:
        out[:] = 10.0 * block.rows[:, :2]

    for engine in (Threads(2), Handed()):
        found = filled(engine, write, ArraySource(LARGE), (2,), dtype)  # type: ignore[arg-type]
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, (10.0 * LARGE[:, :2]).astype(dtype))


def test_an_error_in_a_block_reaches_the_caller() -> None:
    def fail(block: Block, out: NDArray[Any]) -> None:
        if block.start:
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        filled(Threads(2), fail, ArraySource(LARGE), ())
