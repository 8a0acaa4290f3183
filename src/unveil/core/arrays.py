"""Names for the arrays that all modules speak of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.intp]  # numbers of rows, columns or components
Labels = NDArray[np.intp]  # the cluster or component of each row
Mask = NDArray[np.bool_]
