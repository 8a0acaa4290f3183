"""The fits of a comparison: clones of one estimator, driven side by side where they look at the same rows.

A fit that asks for its passes (`unveil.core.drive`) shares them with all others that are going on, so that a file is
read once an iteration for a whole comparison; what its criteria need is one more pass, which is shared as well. Fits to
a table of one partition, or to rows of which each has a copy of its own, are run one after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Asking
from unveil.core.result import Status
from unveil.estimation.looks import along

Weights = NDArray[np.float64] | None


def fitted(estimator: Any, params: dict[str, Any], X: Any, weights: Weights) -> Any:
    """A clone with `params`, fitted. One that was interrupted is no result: the comparison ends there."""
    model = fresh(estimator, params)
    with warnings.catch_warnings():
        _hush()
        model = model.fit(X) if weights is None else model.fit(X, sample_weight=weights)
    return unless_interrupted(model)


def fitting(
    estimator: Any, params: dict[str, Any], X: Any, weights: Weights
) -> Asking[tuple[Any, Mapping[str, float]]]:
    """The same, driven along with others where it asks for its passes; and what criteria are known of it already."""
    model = fresh(estimator, params)
    if not asks(model):
        return fitted(estimator, params, X, weights), {}
    from unveil.estimation.scaffold import adopt
    from unveil.estimation.scaffold import fitting as climbs

    source = model._opened(X, weights)
    ended = yield from along(climbs(model, source), source)
    with warnings.catch_warnings():
        _hush()
        adopt(model, *ended)
    unless_interrupted(model)
    totals = yield from along(model._summing(X, weights), source)
    return model, model._criteria(totals)


def fresh(estimator: Any, params: dict[str, Any]) -> Any:
    """A clone with `params`, and a seed."""
    from sklearn.base import clone

    model = clone(estimator).set_params(**params)
    if "random_state" in (settings := model.get_params()) and settings["random_state"] is None:
        model.set_params(random_state=0)
    return model


def asks(model: Any) -> bool:
    """Whether a fit asks for its passes: it is that of the class which says how, and nobody's own."""
    return hasattr(model, "_opened") and _home(model, "fit") is _home(model, "_opened")


def _home(model: Any, name: str) -> type:
    return next(each for each in type(model).__mro__ if name in vars(each))


def unless_interrupted(model: Any) -> Any:
    """A fitted model."""
    if getattr(getattr(model, "history_", None), "status", None) is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return model


def _hush() -> None:
    """No warnings of how a fit went."""
    from sklearn.exceptions import ConvergenceWarning

    from unveil.certificate import FitWarning

    warnings.simplefilter("ignore", ConvergenceWarning)  # the table says it,
    warnings.simplefilter("ignore", FitWarning)  # and the winner's certificate this
