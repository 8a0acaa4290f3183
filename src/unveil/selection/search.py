"""Fit every combination of a grid and keep the best by a criterion.

Combinations are candidates that are driven side by side (`unveil.core.drive`): those that look at the same rows of a
large table share their passes, so that a file is read once an iteration for all of them.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.core.checkpoint import ended_early
from unveil.core.drive import drive, together
from unveil.core.protocols import Asking
from unveil.estimation.degenerate import degeneracy, steps_of
from unveil.estimation.looks import looking_once
from unveil.estimation.task import named_task
from unveil.judgement.criteria.criteria import Fitted
from unveil.judgement.criteria.fits import asks
from unveil.judgement.criteria.held_out import is_chain, sequences_of
from unveil.numerics.blas import single_threaded_blas
from unveil.selection.equals import identity, tell_equals
from unveil.selection.judged import judged
from unveil.selection.outcome import Selection
from unveil.selection.strategies import Strategy, strategy_for
from unveil.sources.sequences import Sequences

logger = logging.getLogger("unveil")

Callback = Callable[[dict[str, Any]], None]


def select(
    estimator: Any,
    X: Any,
    grid: Mapping[str, Iterable[Any]],
    *,
    criterion: str = "auto",
    sample_weight: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    callbacks: Iterable[Callback] = (),
) -> Selection:
    """Fit a clone of `estimator` for every combination in `grid` and choose by `criterion`.

    Every combination starts from the same seed: the estimator's ``random_state``, or 0 where it has none, so the
    same call gives the same answer. A combination that cannot be fitted is recorded with its reason. One whose fit is
    degenerate (a component without spread or on too few rows, whose likelihood means nothing) loses to any that is not.
    Combinations that are one model, as a "full" and a "tied" covariance of one component are, are compared once.
    Ctrl-C ends the comparison with what is there.

    Mixtures of a table of more than a few thousand rows, and chains of sequences in a file, are fitted side by side: a
    pass over the rows, which may be a file or on a cluster, is one for all of them.

    The winner is examined (`unveil.examine`): the selection has its ``verdicts()``, and for mixtures ``n_clusters``,
    how many groups its components form, beside ``n_components``, how many describe the density.

    A number of clusters (``n_clusters`` in `grid`) is chosen by several criteria together. Each fit also starts from
    the clusters of the one before; its ``init`` then holds where it started. Criteria that compare rows with
    rows, or need many fits, look at a fixed sample of 4,096 rows, and of 2,048 for those, where there are more.

    Parameters
    ----------
    estimator : estimator
        Its parameters hold wherever `grid` says nothing.
    X : array, frame or scan
        What ``estimator.fit`` takes.
    grid : dict of str to iterable
        Values to try for each parameter.
    criterion : str, default="auto"
        What decides. Mixtures: "bic", "aic", "icl", "log_likelihood" or "held_out", the likelihood of rows that a fit
        has not seen (five folds); "auto" is BIC. Chains and grammars: the same without "icl"; sequences are held out
        whole, or their later parts where there are fewer than five. Numbers of clusters: "votes",
        "inertia", "elbow", "penalised_aic", "penalised_bic", "bic", "silhouette", "gap" or "stability", as far as the
        estimator has what they take; "auto" is the votes of all. Other parameters of clusterings: "inertia", "bic" or
        "silhouette"; "auto" is the inertia.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    lengths : array-like of int, optional
        Rows of each sequence, for hidden Markov models of a table that holds several.
    callbacks : iterable of callable
        Each is shown every row of the table as soon as it is there, which need not be in order; the elbow and the votes
        come last.

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
    >>> selection = unveil.select(unveil.KMeans(random_state=0), X, {"n_clusters": range(1, 5)})
    >>> selection.criterion, selection.best_params_
    ('votes', {'n_clusters': 2})
    """
    values = _checked_grid(estimator, grid)
    given = {"grid": values, "criterion": criterion, "X": X, "sample_weight": sample_weight, "lengths": lengths}
    with named_task("select", estimator, **given):
        X = X if lengths is None else _sequences(estimator, X, lengths)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        found = compare(estimator, X, values, criterion, weights, callbacks)
        return replace(found, judged=judged(found.best_estimator_, X, weights, found.grid))


def compare(
    estimator: Any,
    X: Any,
    grid: Mapping[str, Iterable[Any]],
    criterion: str,
    weights: Floats | None,
    callbacks: Iterable[Callback] = (),
) -> Selection:
    """The comparison alone: nobody has examined the winner."""
    values = _checked_grid(estimator, grid)
    strategy = strategy_for(estimator, X, weights, values, criterion)
    combinations = [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]
    done: dict[int, dict[str, Any]] = {}
    known: dict[int, Hashable | None] = {}
    try:
        _run(strategy, combinations, done, known, callbacks)
    except KeyboardInterrupt:
        if all(row["error"] is not None for row in done.values()):
            raise
        ended_early()
        logger.warning("select: interrupted after %d of %d combinations", len(done), len(combinations))
    table = [done[place] for place in sorted(done)]
    if all(row["error"] is not None for row in table):
        raise ValueError(f"no combination of grid could be fitted; the first failed with: {table[0]['error']}")
    best_index, best, choice = strategy.best(table)
    tell_equals(table, [known.get(place) for place in sorted(done)], best_index, values)
    undone = len(combinations) - len(table)
    return Selection(table, best, values, strategy.rule, best_index, choice, undone)


def _sequences(estimator: Any, X: Any, lengths: ArrayLike) -> Any:
    """`X` as sequences: a list of them, or where they are in a file as those are read."""
    if not is_chain(estimator):
        raise ValueError(f"lengths are of hidden Markov models, got {type(estimator).__name__}")
    return Sequences(X, lengths) if callable(getattr(X, "read", None)) else sequences_of(X, lengths)


def _run(
    strategy: Strategy,
    combinations: list[dict[str, Any]],
    done: dict[int, dict[str, Any]],
    known: dict[int, Hashable | None],
    callbacks: Iterable[Callback],
) -> None:
    """Fit all combinations; `done` holds what is there, should it be interrupted, and `known` which are one model."""
    callbacks, steps = tuple(callbacks), steps_of(strategy.study.X)

    def candidate(place: int) -> Asking[None]:
        model, row = yield from _trial(strategy, combinations[place])
        row["degenerate"] = None if model is None else degeneracy(model, steps)
        done[place] = row
        if model is not None:
            known[place] = identity(model, combinations[place])
            strategy.keep(model, row, place)
        for callback in callbacks:
            callback(row)

    hold = single_threaded_blas() if asks(strategy.estimator) else nullcontext()
    with hold, looking_once(strategy.study.X):
        drive(together(map(candidate, strategy.order(combinations))))


def _checked_grid(estimator: Any, grid: Mapping[str, Iterable[Any]]) -> dict[str, tuple[Any, ...]]:
    """The grid with its values as tuples; errors name what is wrong."""
    known = estimator.get_params()
    values: dict[str, tuple[Any, ...]] = {}
    for name, tried in grid.items():
        if name not in known:
            raise ValueError(f"grid: {type(estimator).__name__} has no parameter {name!r}; it has {', '.join(known)}")
        if isinstance(tried, str) or not isinstance(tried, Iterable):
            raise ValueError(f"grid[{name!r}] must be a list of values to try; got {tried!r}")
        values[name] = tuple(value.item() if isinstance(value, np.generic) else value for value in tried)
        if not values[name]:
            raise ValueError(f"grid[{name!r}] must hold at least one value to try; got none")
    return values


def _trial(strategy: Strategy, params: dict[str, Any]) -> Asking[tuple[Any, dict[str, Any]]]:
    """One combination: the fitted model (None if it failed) and its row of the table."""
    row: dict[str, Any] = params | dict.fromkeys(name for measure in strategy.measures for name in measure.columns)
    row |= {"converged": None, "seconds": None, "degenerate": None, "error": None, "same_as": None}
    began = perf_counter()
    try:
        model, known = yield from strategy.fitting(params)
        seen = Fitted(model, strategy.study.X, strategy.study.sample_weight, strategy.study, known)
        scores = {name: value for measure in strategy.measures for name, value in measure.values(seen).items()}
        if not all(np.isfinite(value).all() for value in scores.values() if value is not None):
            raise ArithmeticError(f"the fit is not finite: {scores}")
    except (ValueError, ArithmeticError) as error:  # what estimators raise for data or parameters that do not suit
        logger.info("select: %s could not be fitted: %s", params, error)
        return None, row | {"error": " ".join(str(error).split())}
    converged = getattr(model, "converged_", None)  # where the model says
    row |= scores | {"converged": None if converged is None else bool(converged)}
    return model, row | {"seconds": perf_counter() - began}
