"""Standard errors by bootstrap: the rows are drawn anew, the mixture is fitted from where it stands, and components
are matched by the rows they own, so that a mean is compared with the mean of the same group."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from unveil.certificate import FitWarning
from unveil.estimators.matching import matched

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bootstrap:
    """Fitted attributes of every draw, stacked along the first axis."""

    draws: dict[str, Floats]

    def standard_errors(self) -> dict[str, Floats]:
        """Standard deviation of every attribute over the draws."""
        return {name: np.std(values, axis=0, ddof=1) for name, values in self.draws.items()}


def bootstrap(estimator: Any, X: Any, sample_weight: Any, n_bootstrap: int, random_state: Any) -> Bootstrap:
    """Fit `estimator` to `n_bootstrap` draws of the rows of `X`."""
    if n_bootstrap < 2:
        raise ValueError(f"n_bootstrap must be at least 2, got {n_bootstrap!r}")
    random = check_random_state(random_state)
    reference = estimator.predict_proba(X)
    names = shown(estimator)
    found: dict[str, list[Any]] = {name: [] for name in names}
    for _ in range(n_bootstrap):
        again = _refitted(estimator, X, _drawn(len(reference), sample_weight, random))
        order = matched(reference, again.predict_proba(X))
        params = again._fitted()
        _reorder(again, params, order)
        for name in names:
            found[name].append(np.copy(getattr(again, name)))
    return Bootstrap({name: np.stack(values) for name, values in found.items()})


def shown(estimator: Any) -> list[str]:
    """Fitted attributes that are arrays with a row for each component, or shared by all."""
    candidates = ("weights_", "means_", "covariances_", "probabilities_", "rates_", "scales_", "degrees_of_freedom_")
    return [name for name in candidates if isinstance(getattr(estimator, name, None), np.ndarray)]


def _drawn(n_rows: int, sample_weight: Any, random: np.random.RandomState) -> Floats:
    """How often each row was drawn."""
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    size = int(np.round(weights.sum()))
    return random.multinomial(size, weights / weights.sum()).astype(np.float64)


def _refitted(estimator: Any, X: Any, weights: Floats) -> Any:
    again = copy.copy(estimator).set_params(warm_start=True, verbose=0)
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, FitWarning):  # said of the fit itself, not of each draw
            warnings.simplefilter("ignore", kind)
        again.fit(X, sample_weight=weights)
    return again


def _reorder(estimator: Any, fitted: tuple[Any, Any], order: NDArray[np.intp]) -> None:
    """Show the components in another order."""
    model, params = fitted
    components = model.family.taken(params.components, order)
    estimator._show(type(params)(params.weights[order], components), model.shift)
