"""The inner loop of k-means++: distances to a few candidates at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.kernels._jit import kernel

NEAR = 1e-5  # below this share of the norms, a float32 product has lost too many digits
TILE = 512


def approach(rows: Any, norms: Any, closest: Any, chosen: Any, products: Any, distances: Any) -> None:
    """Turn x·c of each candidate c into min(closest, ‖x - c‖²).

    Where the difference of norms and product cancels, the distance is measured by differences; so it is zero for
    copies of the candidate, and they are never drawn again.
    """
    for t, candidate in enumerate(chosen):
        near = np.empty(-(-len(norms) // TILE), np.bool_)
        _expand(norms, closest, norms[candidate], products[t], distances[t], near)
        for tile in np.flatnonzero(near):
            here = slice(tile * TILE, (tile + 1) * TILE)
            gaps = rows[here] - rows[candidate]
            measured = np.minimum(np.einsum("ij,ij->i", gaps, gaps), closest[here])
            doubtful = ~(distances[t, here] > NEAR * (norms[here] + norms[candidate]))
            distances[t, here] = np.where(doubtful, measured, distances[t, here])


@kernel
def _expand(norms: Any, closest: Any, norm: float, products: Any, out: Any, near: Any) -> None:
    """min(closest, ‖x‖² + ‖c‖² - 2 x·c), and the tiles in which some difference cancels."""
    for tile in range(len(near)):
        doubt = False
        for i in range(tile * TILE, min((tile + 1) * TILE, len(norms))):
            both = norms[i] + norm
            distance = both - 2.0 * np.float64(products[i])
            doubt |= not distance > NEAR * both
            out[i] = distance if distance < closest[i] else closest[i]
        near[tile] = doubt
