"""Standard errors by bootstrap: the rows are drawn anew, the mixture is fitted from where it stands, and components
are matched by the rows they own, so that a mean is compared with the mean of the same group."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from unveil.certificate import FitWarning
from unveil.core.arrays import Floats
from unveil.core.drive import answer_to, drive, together
from unveil.core.protocols import Ask, Asking, Block, Memo
from unveil.core.result import Status
from unveil.core.statistics import Statistics
from unveil.estimation.base import engine_for
from unveil.estimation.looks import along, looking_once
from unveil.estimation.scaffold import adopt, fitting
from unveil.mixtures.fitted import POSTERIOR, Answered, FittedMixture
from unveil.mixtures.matching import assigned
from unveil.numerics.blas import single_threaded_blas

DRAWN_CELLS = 1 << 25  # weights of rows of draws that are fitted side by side: 256 megabytes
SHOWN = ("weights_", "means_", "covariances_", "probabilities_", "rates_", "scales_", "degrees_of_freedom_")


@dataclass(frozen=True)
class Bootstrap:
    """Fitted attributes of every draw, stacked along the first axis; a list where there is an array per column."""

    draws: dict[str, Any]

    def standard_errors(self) -> dict[str, Any]:
        """Standard deviation of every attribute over the draws."""
        return {name: each(_deviation, values) for name, values in self.draws.items()}


def bootstrap(estimator: Any, X: Any, sample_weight: Any, n_bootstrap: int, random_state: Any) -> Bootstrap:
    """Fit `estimator` to `n_bootstrap` draws of the rows of `X`.

    A draw is how often each row counts: weights. Fits to several of them are driven side by side, so that rows in a
    file are read once an iteration for all of these.
    """
    if not isinstance(n_bootstrap, Integral) or n_bootstrap < 2:
        raise ValueError(f"n_bootstrap must be an integer of at least 2, got {n_bootstrap!r}")
    random = check_random_state(random_state)
    names = shown(estimator)
    found: dict[str, list[Any]] = {name: [] for name in names}
    with single_threaded_blas(), looking_once(X):
        n_rows = estimator._rows(X).n_rows
        at_once = max(DRAWN_CELLS // n_rows, 1)
        for first in range(0, n_bootstrap, at_once):
            draws = [_drawn(n_rows, sample_weight, random) for _ in range(min(at_once, n_bootstrap - first))]
            for again in drive(together(_refitting(estimator, X, drawn) for drawn in draws)):
                for name in names:
                    found[name].append(getattr(again, name))
    return Bootstrap({name: _stacked(values) for name, values in found.items()})


def shown(estimator: Any) -> list[str]:
    """Fitted attributes that hold a row for each component, or are shared by all."""
    return [name for name in SHOWN if isinstance(getattr(estimator, name, None), np.ndarray | list)]


def each(function: Callable[[Floats], Floats], values: Any) -> Any:
    """A function of an array, or of each array of a list."""
    return [function(one) for one in values] if isinstance(values, list) else function(values)


def _stacked(values: list[Any]) -> Any:
    """Draws of an array, or of a list of arrays, as arrays with an axis more."""
    if isinstance(values[0], list):
        return [np.stack(column) for column in zip(*values, strict=True)]
    return np.stack(values)


def _deviation(values: Floats) -> Floats:
    return np.asarray(np.std(values, axis=0, ddof=1))


def _drawn(n_rows: int, sample_weight: Any, random: np.random.RandomState) -> Floats:
    """How often each row was drawn; rows count as often as their weights say, so those add up to the draws."""
    if sample_weight is None:
        return random.multinomial(n_rows, np.full(n_rows, 1.0 / n_rows)).astype(np.float64)
    weights = np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), (n_rows,))
    size = int(np.round(weights.sum()))
    if size < 2:
        raise ValueError(f"sample_weight must add up to 2 rows or more to draw from, got {weights.sum():g}")
    return random.multinomial(size, weights / weights.sum()).astype(np.float64)


def _refitting(estimator: Any, X: Any, weights: Floats) -> Asking[Any]:
    """The mixture fitted anew to weighted rows, from where it stands, its components in the order of `estimator`."""
    again = copy.copy(estimator).set_params(warm_start=True, verbose=0)
    if again.random_state is None:  # one seed, so that all look at the same sample of the rows
        again.set_params(random_state=getattr(estimator, "random_seed_", 0))
    source = again._opened(X, weights)
    ended = yield from along(fitting(again, source), source)
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, FitWarning):  # said of the fit itself, not of each draw
            warnings.simplefilter("ignore", kind)
        adopt(again, *ended)
    if again.history_.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # some draws are no bootstrap
    step = SharedRows(estimator._mixture(), again._mixture())
    found = yield from along(answer_to(Ask(engine_for(again.engine, source), source, step)), source)
    _reorder(again, assigned(found["shared"]))
    return again


@dataclass(frozen=True)
class SharedRows:
    """How much of the rows of a block each component of one mixture shares with each of another, as engines take it."""

    one: FittedMixture
    other: FittedMixture

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """(components, components), rows counted by their weights."""
        one, other = (Answered(fitted, POSTERIOR)(block) for fitted in (self.one, self.other))
        weighted = other if block.weights is None else other * block.weights[:, None]
        return Statistics(shared=one.T @ weighted), None


def _reorder(estimator: Any, order: NDArray[np.intp]) -> None:
    """Show the components in another order."""
    model, params = estimator._from_attributes()
    components = model.family.taken(params.components, order)
    estimator._show(replace(params, weights=params.weights[order], components=components), model.shift)
