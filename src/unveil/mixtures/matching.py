"""Which component of one mixture is which of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from unveil.core.arrays import Floats
from unveil.core.protocols import Block

DRAWS = 2000  # rows that stand for a mixture where there are no others to compare on


def matched(one: Floats, other: Floats, weights: Floats | None = None) -> NDArray[np.intp]:
    """For each component of `one`, the component of `other` that owns the same rows; responsibilities (rows, k)."""
    return assigned(one.T @ (other if weights is None else other * weights[:, None]))


def assigned(shared: Floats) -> NDArray[np.intp]:
    """For each component of one mixture that of another, by the rows that they share, (components, components)."""
    _, columns = linear_sum_assignment(-shared)
    return np.asarray(columns, dtype=np.intp)


def matched_by_draws(one: Any, other: Any) -> NDArray[np.intp]:
    """The same by rows drawn from both mixtures."""
    rows = np.concatenate([_drawn(one), _drawn(other)])
    return matched(_shares(one, rows), _shares(other, rows))


def _drawn(estimator: Any) -> Floats:
    """Rows of every component, whatever its weight, as the family has them."""
    model, params = estimator._from_attributes()
    random = np.random.RandomState(0)
    each = max(DRAWS // len(params.weights), 10)
    drawn = [model.family.draw(params.components, c, each, random) for c in range(len(params.weights))]
    rows: Floats = np.concatenate(drawn) + model.shift
    return rows


def _shares(estimator: Any, rows: Floats) -> Floats:
    """Responsibilities for rows that came from no user."""
    model, params = estimator._from_attributes()
    joint = model.log_joint(model.prepare(model.recentre(params)), Block(0, 0, rows))
    return np.asarray(softmax(joint, axis=1))
