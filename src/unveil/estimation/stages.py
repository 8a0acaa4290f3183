"""An estimator as it stood on its way: the attributes that its snapshots would have shown.

Snapshots (`unveil.snapshots`) hold parameters in the frame of a fit. The estimator itself knows how parameters are
shown, so a stage of its climb is a copy of it that is told others, in the order that its components came out in. It
predicts as the estimator would have then.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from unveil.core.loop import unwatched
from unveil.core.snapshots import MOST_SNAPSHOTS, Snapshot, snapshots
from unveil.estimation.kept import RECORDS

OF_THE_END = (*RECORDS, "labels_", "inertia_", "occupancy_", "clusters_")  # what is known of the fit as a whole
SEEDS = 4  # of each kind of start, at most, for one that leads to the same end
TELLING = 8  # passes that tell a story
SAME_HEIGHT = 1e-4  # of the free energy by which ends may differ: less than anybody could see

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
    """A fit with snapshots that begins at random and ends as high as `estimator` did; None where no start leads there.

    The start that a fit looks for is often so good that a few passes lead to the end, which shows little of how EM
    finds its way. Several are tried, until one takes some passes, so `X` should be no more than some thousands of rows.
    `given` are further arguments of `fit`.
    """
    found: Any = None
    model: Any = estimator
    height = model.history_.heights[-1] if model.history_ else -np.inf
    for twin in _begun_at_random(model):
        with unwatched(), snapshots(most), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a start that leads nowhere is dropped, not complained of
            twin.fit(X, **given)
        as_high = abs(twin.history_.heights[-1] - height) <= SAME_HEIGHT * abs(height)
        if as_high and (found is None or twin.n_iter_ > found.n_iter_):
            found = twin
        if found is not None and found.n_iter_ >= TELLING:
            break
    return found  # type: ignore[no-any-return]


def _begun_at_random(model: Any) -> Iterator[Any]:
    """Copies that start from random rows, or from random responsibilities, each with another seed."""
    ways: tuple[dict[str, str], ...] = ({"init": "random"},)
    if "init_params" in model.get_params(deep=False):
        ways = ({"init_params": "random_from_data"}, {"init_params": "random"})
    for seed in range(SEEDS):
        for way in ways:
            yield clone(model).set_params(**way, n_init=1, random_state=seed)
