"""An estimator as it stood on its way: the attributes that its snapshots would have shown.

Snapshots (`unveil.snapshots`) hold parameters in the frame of a fit. The estimator itself knows how parameters are shown,
so a stage of its climb is a copy of it that is told others, in the order that its components came out in. It predicts
as the estimator would have then.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from unveil.core.snapshots import MOST_SNAPSHOTS, Snapshot, snapshots
from unveil.estimation.kept import RECORDS

OF_THE_END = (*RECORDS, "labels_", "inertia_", "occupancy_", "clusters_")  # what is known of the fit as a whole
WAYS = 8  # starts that are tried, at most, for one that leads to the same end
SAME_HEIGHT = 1e-4  # nats per row by which ends may differ: well below what anybody could see

Fitted = TypeVar("Fitted")


class Stage(NamedTuple):
    """Where a fit stood after so many passes; `height` is its free energy then, over all rows."""

    passes: int
    height: float
    model: Any


def stages(estimator: Any) -> list[Stage]:
    """The stages of a fit, from the start to the end; none where it was not asked to keep snapshots.

    No pass was made from the end, so its height is that of the last pass, which it is not below.

    Examples
    --------
    >>> import unveil
    >>> from unveil.estimation.stages import stages
    >>> with unveil.snapshots():
    ...     model = unveil.KMeans(2, init=[[0.0], [1.0]], n_init=1).fit([[0.0], [1.0], [5.0], [6.0]])
    >>> [(stage.passes, stage.height, stage.model.cluster_centers_.ravel().tolist()) for stage in stages(model)][:2]
    [(0, -41.0, [0.0, 1.0]), (1, -6.0, [0.0, 4.0])]
    """
    history = estimator.history_
    heights = history.free_energy
    kept = list(history.snapshots) if len(heights) else []
    return [Stage(one.passes, float(heights[min(one.passes, len(heights) - 1)]), at(estimator, one)) for one in kept]


def at(estimator: Fitted, snapshot: Snapshot) -> Fitted:
    """The estimator as it stood at a snapshot of its fit."""
    twin: Any = copy(estimator)
    if not twin._shows_streams:
        wanted = "a mixture, a hidden Markov model or K-means, whose attributes are its parameters"
        raise TypeError(f"estimator must be {wanted}; got {type(twin).__name__}")
    twin._set_attributes(replace(twin._stream, params=snapshot.params))
    for name in OF_THE_END:
        twin.__dict__.pop(name, None)
    return twin  # type: ignore[no-any-return]


def from_afar(estimator: Fitted, X: Any, most: int = MOST_SNAPSHOTS, **given: Any) -> Fitted | None:
    """A fit with snapshots that begins at random and ends where `estimator` did; None where no such start was found.

    The start that a fit looks for is often so good that a few passes lead to the end, which shows little of how EM
    finds its way. `given` are further arguments of `fit`.
    """
    model: Any = estimator
    height = model.history_.heights[-1] if model.history_ else -np.inf
    for twin in _begun_at_random(model):
        with snapshots(most):
            twin.fit(X, **given)
        record = twin.history_[-1]
        if abs(record.objective - height) <= SAME_HEIGHT * record.weight:
            return twin  # type: ignore[no-any-return]
    return None


def _begun_at_random(model: Any) -> Iterator[Any]:
    """Copies that start from random responsibilities, or random rows, each with another seed."""
    way = {"init_params": "random"} if "init_params" in model.get_params(deep=False) else {"init": "random"}
    for seed in range(WAYS):
        yield clone(model).set_params(**way, n_init=1, random_state=seed)
