"""Rows about the points of their classes: what the scatter matrices of labelled rows are sums over.

One call a block, with no lock held; the matrix products that follow are BLAS's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unveil.numerics.jit import kernel


@kernel
def about_classes(
    rows: NDArray[np.floating],
    codes: NDArray[np.intp],
    weights: NDArray[np.float64],
    frames: NDArray[np.float64],
    out: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """out = sqrt(weight) (row - frame of its class), so that its products carry the weight; `sums` gains all of it.

    No `weights` means that every row counts once.
    """
    for r in range(rows.shape[0]):
        row, frame, line, into = rows[r], frames[codes[r]], out[r], sums[codes[r]]
        weight = weights[r] if len(weights) else 1.0
        root = np.sqrt(weight)
        for c in range(row.shape[0]):
            value = np.float64(row[c]) - frame[c]
            line[c] = root * value
            into[c] += weight * value


@kernel
def add_quartics(
    rows: NDArray[np.floating],
    codes: NDArray[np.intp],
    weights: NDArray[np.float64],
    frame: NDArray[np.float64],
    centres: NDArray[np.float64],
    scales: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add to out[k], over rows of class k: weight (sum over columns of ((x - frame - centre) / scale)^2)^2."""
    for r in range(rows.shape[0]):
        k = codes[r]
        row, centre, scale = rows[r], centres[k], scales[k]
        square = 0.0
        for c in range(row.shape[0]):
            value = ((np.float64(row[c]) - frame[c]) - centre[c]) / scale[c]
            square += value * value
        out[k] += weights[r] * square * square
