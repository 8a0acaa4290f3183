"""Passes over rows, without an engine where there is nothing for it to hand out.

A table of one partition in memory is one block. The engine would add up nothing and hand over nothing, but look after
threads, clocks and memos all the same, which for a small table takes longer than the work: so this thread takes the
block as it is. How many partitions there are follows from the shape, and a sum of one is what it is a sum of, so that
every route has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.partition import count_of
from unveil.core.protocols import Block, Engine, Source, Step
from unveil.core.statistics import Statistics
from unveil.engines.threads import Threads

Fill = Callable[[Block, NDArray[Any]], None]  # writes what there is to say of a block into room for its rows


def lone_block(engine: Engine, source: Source) -> Block | None:
    """The rows of a table that is one block in memory, which needs no engine; None where there are more."""
    if type(engine) is not Threads or not getattr(source, "random_access", False):
        return None  # an engine that somebody made has its reasons
    return next(iter(source.read())) if count_of(source) == 1 else None


def reduced(engine: Engine, step: Step, source: Source) -> Statistics:
    """Statistics of all blocks, by one pass that remembers nothing."""
    lone = lone_block(engine, source)
    return engine.map_reduce(step, source, None)[0] if lone is None else step(lone, None)[0]


def mapped(engine: Engine, function: Callable[[Block], Any], source: Source) -> list[Any]:
    """A function of each block, in order."""
    lone = lone_block(engine, source)
    return list(engine.map(function, source)) if lone is None else [function(lone)]


def filled(engine: Engine, fill: Fill, source: Source, width: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """An array of all rows, (n_rows, *width), written block by block: nothing of its size is held besides it."""
    out = np.empty((source.n_rows, *width), dtype)
    lone = lone_block(engine, source)
    if lone is not None:
        fill(lone, out)
    elif isinstance(engine, Threads):  # which write to one memory
        for _ in engine.map(partial(_into, fill, out), source):
            pass
    else:
        first = 0
        for part in engine.map(partial(_made, fill, width, out.dtype), source):
            out[first : first + len(part)] = part
            first += len(part)
    return out


def put(function: Callable[[Block], NDArray[Any]], block: Block, out: NDArray[Any]) -> None:
    """A function of a block as something that fills room for it."""
    out[:] = function(block)


def _into(fill: Fill, out: NDArray[Any], block: Block) -> None:
    fill(block, out[block.start : block.start + len(block.rows)])


def _made(fill: Fill, width: tuple[int, ...], dtype: Any, block: Block) -> NDArray[Any]:
    out = np.empty((len(block.rows), *width), dtype)
    fill(block, out)
    return out
