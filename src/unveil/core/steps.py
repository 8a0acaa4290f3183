"""What is done to a block in a pass: E steps and other functions, as engines take them, and random streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unveil.core.protocols import Block, Expectation, Memo, Model, Piece, Request
from unveil.core.statistics import Statistics


def stream(seed: int, number: int, partition: int) -> np.random.Generator:
    """The random stream of one partition in one pass: the same whichever thread or machine draws from it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, partition)))


class LazyStream:
    """The random stream of one partition in one pass, made when somebody asks for it: one for all tiles."""

    __slots__ = ("_made", "_place")

    def __init__(self, seed: int, number: int, partition: int) -> None:
        self._place = seed, number, partition
        self._made: np.random.Generator | None = None

    def __call__(self) -> np.random.Generator:
        """The stream, as far as it was drawn from."""
        if self._made is None:
            self._made = stream(*self._place)
        return self._made


@dataclass(frozen=True)
class ExpectationStep:
    """The E step of one block, as engines take it: picklable, and free of state."""

    model: Model
    plan: Any
    expectation: Expectation
    seed: int
    number: int
    piece: Piece | None = None  # of the block: all of it by default

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """Statistics of `block`, and what it wants to remember."""
        if self.piece is None:
            return self.model.expect(self.plan, block, self.expectation, memo, self._random(block))
        piece = self.piece.cut(block)
        statistics, _ = self.model.expect(self.plan, piece, self.expectation, None, self._random(block))
        return statistics, memo  # what is remembered is of whole blocks

    def request(self, block: Block, memo: Memo) -> Request:
        """The same, as a model is asked that answers several at once."""
        return Request(self.model, self.plan, block, self.expectation, memo, self._random(block))

    def _random(self, block: Block) -> Any:
        return LazyStream(self.seed, self.number, block.index)


@dataclass(frozen=True)
class OfEachBlock:
    """A function of a block as a step of a pass: what was found of each block, in order, adds up to a tuple."""

    function: Callable[[Block], Any]

    def __call__(self, block: Block, memo: Memo) -> tuple[Any, Memo]:
        """What was found of one."""
        return (self.function(block),), None
