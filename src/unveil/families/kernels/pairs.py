"""Scores of chosen pairs of row and component: what sparse EM computes in place of the whole product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unveil.numerics.jit import kernel


def score_pairs(
    natural: NDArray[np.float64], statistics: NDArray[np.float64], listed: NDArray[np.intp]
) -> NDArray[np.float64]:
    """natural[c] . statistics[r] for each c in listed[:, r]; statistics are (rows, statistics)."""
    out = np.empty(listed.shape)
    _score(np.ascontiguousarray(natural), statistics, np.ascontiguousarray(listed), out)
    return out


@kernel
def _score(
    natural: NDArray[np.float64], statistics: NDArray[np.float64], listed: NDArray[np.intp], out: NDArray[np.float64]
) -> None:
    for r in range(statistics.shape[0]):
        line = statistics[r]
        for a in range(listed.shape[0]):
            slopes = natural[listed[a, r]]
            total = 0.0
            for p in range(len(line)):
                total += slopes[p] * line[p]
            out[a, r] = total
