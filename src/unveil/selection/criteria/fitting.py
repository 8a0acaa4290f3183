"""One fit of a comparison: a clone with its parameters, seeded, quiet."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fitted(estimator: Any, params: dict[str, Any], X: Any, weights: NDArray[np.float64] | None) -> Any:
    """A clone with `params`, fitted. One that was interrupted is no result: the comparison ends there."""
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    from unveil.certificate import FitWarning
    from unveil.core.result import Status

    model = clone(estimator).set_params(**params)
    if "random_state" in (settings := model.get_params()) and settings["random_state"] is None:
        model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table says it,
        warnings.simplefilter("ignore", FitWarning)  # and the winner's certificate this
        model = model.fit(X) if weights is None else model.fit(X, sample_weight=weights)
    if getattr(getattr(model, "history_", None), "status", None) is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return model
