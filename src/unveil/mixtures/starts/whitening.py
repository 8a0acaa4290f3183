"""Units in which all directions of the data have the same spread."""

from __future__ import annotations

import numpy as np

from unveil.core.arrays import Floats


def whitening(points: Floats, weights: Floats | None) -> Floats:
    """A matrix after which the points have unit spread in every direction that has any."""
    shares = np.ones(len(points)) if weights is None else weights
    middle = shares @ points / shares.sum()
    centred = (points - middle) * np.sqrt(shares / shares.sum())[:, None]
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    used = singular > 1e-10 * max(float(singular.max(initial=0.0)), 1e-300)
    return np.ascontiguousarray((directions[used] / singular[used, None]).T) if used.any() else np.eye(points.shape[1])
