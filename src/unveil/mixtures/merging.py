"""`merge`: two fits of the same kind of mixture, on different rows, made one from their statistics.

Statistics add. Those of the second fit are moved to the frame of the first, its components are matched to the first's,
and an M step of the sum gives parameters that all rows of both had a say in, without looking at any of them again.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unveil.core.loop import record_of
from unveil.core.result import History, Status
from unveil.core.statistics import Statistics
from unveil.estimation.scaffold import Stream, adopt
from unveil.mixtures.matching import matched_by_draws
from unveil.mixtures.model.model import Mixture
from unveil.schedules.stepwise import Running, Stepwise

SHAPING = ("n_components", "covariance_type", "feature_names_in_", "kinds_", "categories_", "binarize")
"""What two fits must agree on, where they have it, for their statistics to mean the same."""


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
    rank = second.order[matched_by_draws(one, other)][np.argsort(first.order)]  # as the first has them inside
    total = _seen(first) + _moved(model, first, second, rank)
    params, weight = model.maximise(total, first.params), float(total["weight"])
    running = Running(1 + int(weight) // Stepwise().batch_rows, total.scaled(1.0 / weight))
    record = record_of(total, model.log_prior(first.params), 0.0)  # what each reached on the rows of its own
    history = History((record,), status=Status.STREAMING, monotone=False)
    merged = copy.copy(one)
    adopt(merged, replace(first, params=params, running=running, history=history, seen=weight, latest=total))
    return merged


def _seen(stream: Stream) -> Statistics:
    """Statistics that stand for all rows a fit has seen; of a stream, the running ones scaled up."""
    streamed = stream.history.status is Status.STREAMING and stream.running is not None
    return stream.running.statistics.scaled(stream.seen) if streamed else stream.latest  # type: ignore[union-attr]


def _moved(model: Mixture, first: Stream, second: Stream, rank: NDArray[np.intp]) -> Statistics:
    """Statistics of the second in the frame of the first, components in the first's order."""
    family, seen = model.family, _seen(second)
    own = family.taken(second.params.components, rank)
    shift = second.shift - first.shift
    moments = family.moved(seen["moments"][rank], own, first.params.components, shift)
    return Statistics(**{**seen, "moments": moments})


def _check(one: Any, other: Any) -> None:
    for estimator in (one, other):
        check_is_fitted(estimator)
        if not hasattr(estimator, "_stream") or "moments" not in estimator._stream.latest:
            raise ValueError(f"merge takes mixtures with the statistics of a fit, got {estimator!r}")
    if type(one) is not type(other):
        raise ValueError(f"merge takes two of a kind, got {type(one).__name__} and {type(other).__name__}")
    for name in SHAPING:
        ours, theirs = getattr(one, name, None), getattr(other, name, None)
        if not _equal(ours, theirs):
            raise ValueError(f"merge takes mixtures with the same {name}, got {ours!r} and {theirs!r}")
    shapes = [estimator._stream.latest["moments"].shape for estimator in (one, other)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"merge takes mixtures of the same size and structure, got statistics of shapes {shapes}")


def _equal(one: Any, other: Any) -> bool:
    """Whether two settings or lists of columns are the same, arrays cell by cell."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(np.all(one == other))
