"""Is a fit at a stationary point? The gradient of the log-likelihood, for certificates.

By Fisher's identity it is that of E_q[log p(x, s)] where q is the posterior at the same parameters, so statistics are
all it takes: no further pass over the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.protocols import Model
from unveil.core.statistics import Statistics


def stationarity(model: Model, params: Any, statistics: Statistics) -> float:
    """Norm of the gradient of the mean log-likelihood (plus prior) at `params`; nan where there are no coordinates.

    `statistics` must come from an E step at these very `params`. Those from which an M step has just made `params`
    say nothing: their gradient vanishes there by construction, however far away the optimum is.
    """
    try:
        chart = model.coordinates(params)
    except (TypeError, np.linalg.LinAlgError):  # the family has none, or not here: at the edge of what is possible
        return float("nan")
    with np.errstate(all="ignore"):  # there the gradient may not be a number either
        gradient = chart.gradient(statistics, chart.origin)
    return float(np.linalg.norm(gradient)) / float(statistics["weight"])
