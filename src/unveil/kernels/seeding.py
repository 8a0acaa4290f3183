"""The inner loop of k-means++: distances to a few candidates at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.kernels._jit import kernel

NEAR = 1e-5  # below this share of the norms, a float32 product has lost too many digits
TILE = 512


@kernel
def approach(rows: Any, norms: Any, closest: Any, chosen: Any, products: Any, distances: Any) -> None:
    """Turn x·c of each candidate c into min(closest, ‖x - c‖²).

    Where the difference of norms and product cancels, the distance is measured by differences; so it is zero for
    copies of the candidate, and they are never drawn again.
    """
    for t in range(len(chosen)):
        norm, row, out = norms[chosen[t]], products[t], distances[t]
        for start in range(0, len(norms), TILE):
            stop, near = min(start + TILE, len(norms)), 0
            for i in range(start, stop):
                both = norms[i] + norm
                distance = both - 2.0 * np.float64(row[i])
                near |= not distance > NEAR * both
                out[i] = distance if distance < closest[i] else closest[i]
            if near:
                _measure(rows, norms, closest, chosen[t], out, start, stop)


@kernel
def _measure(rows: Any, norms: Any, closest: Any, centre: int, out: Any, start: int, stop: int) -> None:
    """Measure by differences what is close to the candidate."""
    for i in range(start, stop):
        if not out[i] > NEAR * (norms[i] + norms[centre]):
            distance = 0.0
            for j in range(rows.shape[1]):
                gap = rows[i, j] - rows[centre, j]
                distance += gap * gap
            out[i] = min(distance, closest[i])
