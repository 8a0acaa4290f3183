"""The energy distance between two tables: a look at all columns together.

    E = 2 E|X - Y| - E|X - X'| - E|Y - Y'|

is 0 where both are of one distribution, and positive otherwise (Szekely and Rizzo, Energy statistics: a class of
statistics based on distances, 2013). Set against E|Y - Y'| and times the number of columns it is near the divergence in
nats of a row, exactly so for small shifts of a Gaussian.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from unveil.core.arrays import Floats

ENERGY_ROWS = 384  # of each table: all pairs are looked at
FEWEST = 30  # complete rows


def energy_distance(seen: Floats, weights: Floats, model: Floats) -> float:
    """Between weighted rows and rows of the model, in units of the model's own distances."""
    spread = model.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    x, y, shares = seen / unit, model / unit, weights / weights.sum()
    between = float((shares @ cdist(x, y)).mean())
    within = float(shares @ cdist(x, x) @ shares) / max(1.0 - float(np.sum(shares**2)), 1e-300)
    own = float(cdist(y, y).sum()) / (len(y) * (len(y) - 1.0))
    return (2.0 * between - within - own) / max(own, 1e-300)
