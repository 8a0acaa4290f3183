"""Fit every combination of a grid, one after the other, and keep the best by a criterion."""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.selection.criteria import CRITERIA, Criterion, Fitted, pick_criterion
from unveil.selection.degenerate import degeneracy, steps_of
from unveil.selection.outcome import Selection, merit

logger = logging.getLogger("unveil")

Callback = Callable[[dict[str, Any]], None]


def select(
    estimator: Any,
    X: Any,
    grid: Mapping[str, Iterable[Any]],
    *,
    criterion: str = "auto",
    sample_weight: ArrayLike | None = None,
    callbacks: Iterable[Callback] = (),
) -> Selection:
    """Fit a clone of `estimator` for every combination in `grid` and choose by `criterion`.

    Every combination starts from the same seed: the estimator's ``random_state``, or 0 where it has none, so the
    same call gives the same answer. A combination that cannot be fitted is recorded with its reason. One whose fit is
    degenerate (a component without spread or on too few rows, whose likelihood means nothing) loses to any that is not.

    Parameters
    ----------
    estimator : estimator
        Its parameters hold wherever `grid` says nothing.
    X : array, frame or scan
        What ``estimator.fit`` takes.
    grid : dict of str to iterable
        Values to try for each parameter.
    criterion : {"auto", "bic", "aic", "icl", "log_likelihood", "inertia"}, default="auto"
        What decides; ``"auto"`` is BIC where the estimator has it, and inertia where not.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    callbacks : iterable of callable
        Each is shown every row of the table as soon as it is there.

    Returns
    -------
    Selection

    Raises
    ------
    ValueError
        If `grid` or `criterion` does not fit `estimator`, or if no combination could be fitted.

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.concatenate([np.linspace(0, 1, 50), np.linspace(9, 10, 50)])[:, None]
    >>> grid = {"n_components": range(1, 4), "covariance_type": ["full", "tied"]}
    >>> selection = unveil.select(unveil.GaussianMixture(random_state=0), X, grid)
    >>> selection.best_params_["n_components"], len(selection.table)
    (2, 6)
    """
    values = _checked_grid(estimator, grid)
    rule = pick_criterion(criterion, estimator)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    measures = [measure for measure in CRITERIA.values() if measure.defined_for(estimator)]
    steps = steps_of(X)
    table: list[dict[str, Any]] = []
    best, best_index = None, -1
    for combination in itertools.product(*values.values()):
        model, row = _trial(estimator, dict(zip(values, combination, strict=True)), measures, X, weights)
        row["degenerate"] = None if model is None else degeneracy(model, steps)
        if model is not None and (best is None or merit(rule, row) > merit(rule, table[best_index])):
            best, best_index = model, len(table)
        table.append(row)
        for callback in callbacks:
            callback(row)
    if best is None:
        raise ValueError(f"no combination of grid could be fitted; the first failed with: {table[0]['error']}")
    return Selection(table, best, values, rule, best_index)


def _checked_grid(estimator: Any, grid: Mapping[str, Iterable[Any]]) -> dict[str, tuple[Any, ...]]:
    """The grid with its values as tuples; errors name what is wrong."""
    known = estimator.get_params()
    values: dict[str, tuple[Any, ...]] = {}
    for name, tried in grid.items():
        if name not in known:
            raise ValueError(f"grid: {type(estimator).__name__} has no parameter {name!r}; it has {', '.join(known)}")
        if isinstance(tried, str) or not isinstance(tried, Iterable):
            raise ValueError(f"grid[{name!r}] must be a list of values to try; got {tried!r}")
        values[name] = tuple(tried)
        if not values[name]:
            raise ValueError(f"grid[{name!r}] must hold at least one value to try; got none")
    return values


def _trial(
    estimator: Any, params: dict[str, Any], measures: list[Criterion], X: Any, weights: NDArray[np.float64] | None
) -> tuple[Any, dict[str, Any]]:
    """One combination: the fitted model (None if it failed) and its row of the table."""
    row: dict[str, Any] = params | dict.fromkeys([measure.name for measure in measures])
    row |= {"converged": None, "seconds": None, "degenerate": None, "error": None}
    began = perf_counter()
    try:
        model = _fitted(estimator, params, X, weights)
        scores = {measure.name: measure.measure(Fitted(model, X, weights)) for measure in measures}
        if not np.isfinite(list(scores.values())).all():
            raise ArithmeticError(f"the fit is not finite: {scores}")
    except (ValueError, ArithmeticError) as error:  # what estimators raise for data or parameters that do not suit
        logger.info("select: %s could not be fitted: %s", params, error)
        return None, row | {"error": " ".join(str(error).split())}
    row |= scores | {"converged": _converged(model)}
    return model, row | {"seconds": perf_counter() - began}


def _fitted(estimator: Any, params: dict[str, Any], X: Any, weights: NDArray[np.float64] | None) -> Any:
    """A clone with `params`, seeded, fitted."""
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    from unveil.certificate import FitWarning

    model = clone(estimator).set_params(**params)
    if "random_state" in (settings := model.get_params()) and settings["random_state"] is None:
        model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table says it,
        warnings.simplefilter("ignore", FitWarning)  # and the winner's certificate this
        return model.fit(X) if weights is None else model.fit(X, sample_weight=weights)


def _converged(model: Any) -> bool | None:
    """Whether the fit converged, where the model says."""
    converged = getattr(model, "converged_", None)
    return None if converged is None else bool(converged)
