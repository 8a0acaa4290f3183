"""The rows of a table as a fitted model sees them: words as codes, missing cells as NaN; of a large one a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.sources.rows import sample_rows


def looked_at(model: Any, X: Any, sample_weight: Any, most: int, seed: int) -> tuple[Floats, Floats | None]:
    """At most so many rows, drawn by the seed and the number of rows alone, in their order; and their weights."""
    source = model._rows(X, sample_weight)
    chosen = sample_rows(source.n_rows, min(source.n_rows, most), seed)
    rows: list[Floats] = []
    weights: list[Floats] = []
    for block in source.read():
        first, last = np.searchsorted(chosen, (block.start, block.start + len(block.rows)))
        here = chosen[first:last] - block.start
        rows.append(np.asarray(block.rows[here], dtype=np.float64))
        if block.weights is not None:
            weights.append(np.asarray(block.weights[here], dtype=np.float64))
    return np.concatenate(rows), np.concatenate(weights) if weights else None
