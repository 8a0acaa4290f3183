"""Spherical K-means: rows and centres are directions, and a row is scored by the cosine of the angle between them.

    cost = Σ w (1 - cos(x, c(x))) = ½ Σ w ‖x - c(x)‖²        for rows and centres of length one

so the nearest centre is the nearest by distance, and every way to find it serves as it is. Only the M step differs:
of all centres of length one, the one in the direction of the weighted sum of the rows is best (Dhillon and Modha,
"Concept decompositions for large sparse text data using clustering", 2001; Hornik et al., "Spherical k-means
clustering", 2012). Where the sum is zero every direction costs the same, and the centre keeps its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats

NO_DIRECTION = 1e-12  # a mean of directions that is shorter than this is rounding


def directions(centres: ArrayLike) -> Floats:
    """Centres scaled to length one, or a ValueError that names one without a direction."""
    given = np.asarray(centres, dtype=np.float64)
    largest = np.abs(given).max(axis=1, initial=0.0)
    if not np.all(largest > 0):
        raise ValueError(f"init has no direction in row {int(np.argmin(largest))}, and metric='cosine' needs one")
    part = given / largest[:, None]
    return np.asarray(part / np.linalg.norm(part, axis=1)[:, None])


def directions_of_means(means: Floats, counts: Floats, shift: Floats, before: Floats) -> Floats:
    """The best centres of length one; `means` and the centres `before` are less the `shift`.

    A mean without rows is left as it is: that is for the policy of empty clusters to say.
    """
    sums = means + shift
    lengths = np.linalg.norm(sums, axis=1)[:, None]
    unit = sums / np.where(lengths > 0, lengths, 1.0) - shift
    kept = np.where(lengths > NO_DIRECTION, unit, before)
    return np.where(counts[:, None] > 0, kept, means)
