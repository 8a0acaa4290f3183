"""From a cell to the arrays that everybody is given: a function of the cell alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.ordinary.grid import Cell
from benchmarks.ordinary.kinds import Floats, Kind, Labels, Voices, chained, counts, drawn, symbols
from benchmarks.tasks.base import Arrays

Emitted = Callable[[np.random.Generator, Kind, Labels, int, int], Any]


def numbers(cell: Cell) -> Arrays:
    """Rows in groups, or steps of chains in states."""
    return _grouped(cell, _clouds)


def symbol_chains(cell: Cell) -> Arrays:
    """Steps that are one of several symbols."""
    return _grouped(cell, symbols)


def count_chains(cell: Cell) -> Arrays:
    """Steps that are counts."""
    return _grouped(cell, counts)


def mixed_voices(cell: Cell) -> Arrays:
    """As many sources as columns, and how they are mixed."""
    assert isinstance(cell.kind, Voices)
    random, (n, d, _) = np.random.default_rng(cell.seed), cell.shape
    mixing = random.standard_normal((d, d))
    return {"rows": cell.kind.drawn(random, n, d) @ mixing.T, "mixing": mixing, **_sizes(cell)}


def _grouped(cell: Cell, emit: Emitted) -> Arrays:
    assert isinstance(cell.kind, Kind)
    random, (n, d, k), kind = np.random.default_rng(cell.seed), cell.shape, cell.kind
    labels = chained(random, kind, n, k, cell.sequences) if cell.sequences else drawn(random, kind, n, k)
    return {"rows": emit(random, kind, labels, d, k), "labels": labels, **_sizes(cell)}


def _clouds(random: np.random.Generator, kind: Kind, labels: Labels, d: int, k: int) -> Floats:
    return kind.emit(random, labels, d, k, kind.spread)


def _sizes(cell: Cell) -> dict[str, Any]:
    """Groups, dimensions of a plane, the seed, and the lengths of the sequences of a chain."""
    n, d, k = cell.shape
    found = {"k": np.array(k), "plane": np.array(max(d // 2, 1)), "seed": np.array(cell.seed)}
    return found | ({"lengths": np.full(cell.sequences, n // cell.sequences)} if cell.sequences else {})
