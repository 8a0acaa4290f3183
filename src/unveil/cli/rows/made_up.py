"""Tables for fits whose answers nobody reads: groups of numbers, counts, signs, words or sentences.

One shape for each way that a fit may take: a small table, one block of rows, more than one (`core/partition.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from unveil.cli.models import Kind
from unveil.core.arrays import Array


class TableShape(NamedTuple):
    """Rows, columns, and groups in them."""

    rows: int
    columns: int
    groups: int


TINY, ONE_BLOCK, MANY_BLOCKS = TableShape(150, 4, 3), TableShape(8_000, 8, 3), TableShape(40_000, 8, 3)
PAIRED = (TINY, TableShape(2_000, 8, 3))  # for what looks at all pairs of rows
# K-means has ways of its own to many clusters, in few columns and in more (`clusters/assignment/choice.py`)
CLUSTERED = tuple(TableShape(40_000, *size) for size in ((2, 40), (16, 40), (64, 40), (64, 8)))
SHAPES: Mapping[str, tuple[TableShape, ...]] = {
    "KMeans": (TINY, ONE_BLOCK, MANY_BLOCKS, *CLUSTERED),
    "KernelKMeans": PAIRED,
    "KMedoids": PAIRED,
    "PCFG": (TINY, TableShape(400, 8, 3)),
}
SEQUENCE = 50  # rows of each of several sequences
MOST_COUNTED = 8  # different counts, and letters


def shapes_for(estimator: str) -> tuple[TableShape, ...]:
    """Shapes that show an estimator's ways."""
    return SHAPES.get(estimator, (TINY, ONE_BLOCK, MANY_BLOCKS))


def tables_for(kind: Kind, shape: TableShape) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Tables that a model takes, each with what `fit` takes besides."""
    labels = np.arange(shape.rows) % shape.groups
    for rows in CELLS.get(kind.estimator, _numbers)(_clouds(shape, labels)):
        yield rows, {"y": labels} if kind.labelled else {}
    if kind.chained:
        lengths = np.full(shape.rows // SEQUENCE, SEQUENCE)
        yield rows[: lengths.sum()], {"lengths": lengths}


def _clouds(shape: TableShape, labels: Array) -> Array:
    """Rows around as many points as there are groups."""
    random = np.random.default_rng(0)
    points = 4.0 * random.standard_normal((shape.groups, shape.columns))
    return random.standard_normal((shape.rows, shape.columns)) + points[labels]


def _numbers(rows: Array) -> list[Any]:
    return [rows, rows.astype(np.float32)]


def _signs(rows: Array) -> list[Any]:
    return [(rows > 0.0).astype(np.float64), rows > 0.0]


def _counts(rows: Array) -> list[Any]:
    counts = np.minimum(np.abs(rows).round(), MOST_COUNTED - 1)
    return [counts, counts.astype(np.int64)]


def _symbols(rows: Array) -> list[Any]:
    """One column of them, as a chain of symbols has."""
    return [counts[:, :1] for counts in _counts(rows)]


def _mixed(rows: Array) -> list[Any]:
    """Numbers, but for the last column, which has words."""
    table = rows.astype(object)
    table[:, -1] = np.where(rows[:, -1] > 0.0, "high", "low")
    return [table]


def _sentences(rows: Array) -> list[Any]:
    return [[[f"word{code:.0f}" for code in row] for row in _counts(rows)[0]]]


CELLS: Mapping[str, Callable[[Array], list[Any]]] = {
    "BernoulliMixture": _signs,
    "PoissonMixture": _counts,
    "PoissonHMM": _counts,
    "CategoricalMixture": _counts,
    "CategoricalHMM": _symbols,
    "MixedMixture": _mixed,
    "MixedHMM": _mixed,
    "PCFG": _sentences,
}
"""Tables of another kind than numbers, by estimator."""
