"""Components that have a centre and a matrix each: what a family shows of its shape to those who look for groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats


class Ellipses(NamedTuple):
    """Centres and covariances, or scale matrices, of all components over some columns, in the frame."""

    columns: NDArray[np.intp]
    means: Floats  # (k, columns)
    matrices: Floats  # (k, columns, columns)
