"""`merge`: two fits of the same kind of mixture, on different rows, made one from their statistics.

Statistics add. Those of the second fit are moved to the frame of the first, its components are matched to the first's,
and an M step of the sum gives parameters that all rows of both had a say in, without looking at any of them again.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unveil.core.result import History, Status
from unveil.core.statistics import Statistics
from unveil.estimators.matching import matched_by_draws
from unveil.schedules.stepwise import Running, Stepwise


def merge(one: Any, other: Any) -> Any:
    """One mixture from two that were fitted to different rows.

    Parameters
    ----------
    one, other : fitted mixtures
        Of the same class, with the same parameters and columns.

    Returns
    -------
    estimator
        Like `one`, with the statistics of both; `partial_fit` goes on from there.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import GaussianMixture, merge
    >>> X = np.random.default_rng(0).normal(size=(200, 1)) + np.repeat([[0.0], [9.0]], 100, axis=0)
    >>> halves = [GaussianMixture(2, random_state=0).fit(X[start::2]) for start in (0, 1)]
    >>> np.sort(merge(*halves).means_.ravel()).round().tolist()
    [0.0, 9.0]
    """
    _check(one, other)
    model = one._model(one._stream.shift)
    first, second = one._stream, other._stream
    order = matched_by_draws(one, other)
    rank = second.order[order][np.argsort(first.order)]  # components of the second as the first has them inside
    moments = _moved(model, first, second, rank)
    total = first.latest + Statistics(**{**second.latest, "moments": moments})
    params = model.maximise(total, first.params)
    weight = float(total["weight"])
    batches = 1 + int(weight) // Stepwise().batch_rows
    history = History(status=Status.STREAMING, monotone=False, records=one.history_.records)
    merged = copy.copy(one)
    stream = replace(first, params=params, running=Running(batches, total.scaled(1.0 / weight)), history=history)
    merged._adopt(replace(stream, seen=weight, latest=total))
    return merged


def _moved(model: Any, first: Any, second: Any, rank: np.ndarray) -> np.ndarray:
    """Moments of the second in the frame of the first, components in the first's order."""
    family = model.family
    moments = second.latest["moments"][rank]
    own = family.taken(second.params.components, rank)
    moved: np.ndarray = family.moved(moments, own, first.params.components, second.shift - first.shift)
    return moved


def _check(one: Any, other: Any) -> None:
    for estimator in (one, other):
        check_is_fitted(estimator)
        if not hasattr(estimator, "_stream") or "moments" not in estimator._stream.latest:
            raise ValueError(f"merge takes mixtures with the statistics of a fit, got {estimator!r}")
    if type(one) is not type(other):
        raise ValueError(f"merge takes two of a kind, got {type(one).__name__} and {type(other).__name__}")
    if one._stream.latest["moments"].shape != other._stream.latest["moments"].shape:
        shapes = one._stream.latest["moments"].shape, other._stream.latest["moments"].shape
        raise ValueError(f"merge takes mixtures of the same size and structure, got statistics of shapes {shapes}")
