"""Fits whose likelihood is an artefact: a component without spread, or on too few rows to have one.

A Gaussian that sits on rows with equal values (rounded measurements, say) has a variance of nothing but the
regulariser, and a likelihood that is as large as the regulariser is small: it wins every comparison and means nothing
(Day, Estimating the components of a mixture of normal distributions, 1969). One that sits on as few rows as it takes to
span it is hardly better: a few rows that happen to lie close together, or in a plane (McLachlan and Peel, Finite
mixture models, 2000, section 3.10). Nor is one on rows of a single value of a rounded column, to which a shared shape
leaves some spread: rounding to steps of h alone makes a variance of h²/12 (Sheppard, 1898), and what is narrower is an
artefact of the rounding. Such fits are kept in the table, marked, and passed over as long as there is
another.

Only what a component has for itself can degenerate: where all share one covariance, a component may stand on one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.registry import STRUCTURES, lookup

REGULARISED = 2.0  # times the regulariser: half or more of such a variance is not the data's
LOST = 2e-13  # of the variance of its column: what is left of a matrix of no full rank after rounding and its floor
NARROW = 0.01  # of the variance of its column: a component within one step of a column that has many
PART = 0.5  # of a row: counts are sums of responsibilities, a little above or below whole rows


class Spread(NamedTuple):
    """Centres and covariances, or scale matrices, of all components over some columns."""

    means: Floats  # (k, d)
    matrices: Floats  # (k, d, d)


def steps_of(X: Any) -> Floats | None:
    """The smallest difference between two values of each column; None where `X` is no array or frame of numbers.

    >>> steps_of([[1.0, 0.5], [3.0, 0.5], [2.0, 0.75]]).tolist()
    [1.0, 0.25]
    """
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if rows.ndim != 2:
        return None
    gaps = (np.diff(np.unique(column[np.isfinite(column)])) for column in rows.T)
    return np.array([gap.min(initial=np.inf) if len(gap) else 0.0 for gap in gaps])


def degeneracy(model: Any, steps: Floats | None = None) -> str | None:
    """Why a fitted model is degenerate; None where it is not, or where nothing in it can be.

    `steps` are those of the columns that the model was fitted to, where they are known.
    """
    if not hasattr(model, "covariance_type"):
        return None
    structure = lookup(STRUCTURES[model.covariance_type])()
    reasons = (
        reason
        for spread in _spreads(model, structure)
        for reason in (
            _flat(model, spread),
            _within_a_step(model, spread, steps),
            _unsupported(model, structure, spread.means.shape[1]),
        )
    )
    return next((reason for reason in reasons if reason is not None), None)


def _spreads(model: Any, structure: Any) -> Iterator[Spread]:
    """Of a Gaussian, of a Student, or of the numbers among columns of several kinds."""
    found = [(model.means_, getattr(model, name)) for name in ("covariances_", "scales_") if hasattr(model, name)]
    mixed = (params for _, _, params in getattr(model, "components_", ()))
    found += [(params.means, params.covariances) for params in mixed if hasattr(params, "covariances")]
    for centres, kept in found:
        means, covariances = (np.asarray(array, dtype=np.float64) for array in (centres, kept))
        if means.ndim == 3:  # states that are mixtures themselves: each Gaussian of each
            means = means.reshape(-1, means.shape[-1])
            covariances = covariances.reshape(structure.shape(*means.shape))
        if covariances.shape == structure.shape(*means.shape):  # a family of the user's own may keep others
            yield Spread(means, structure.dense(covariances, *means.shape))


def _shares(model: Any) -> Floats:
    """Share of the rows of each component; of the steps of each state, where rows are steps."""
    if not hasattr(model, "occupancy_"):
        return np.asarray(model.weights_, dtype=np.float64)
    states, within = model.occupancy_, getattr(model, "weights_", None)
    return np.asarray(states if within is None else (states[:, None] * within).ravel(), dtype=np.float64)


def _variances(model: Any, spread: Spread) -> Floats:
    """Variance of each column over all components."""
    shares = _shares(model)
    within = np.einsum("k,kii->i", shares, spread.matrices)
    return np.asarray(within + shares @ (spread.means - shares @ spread.means) ** 2)


def _flat(model: Any, spread: Spread) -> str | None:
    """A component with nothing of its own in some direction: the regulariser, or what rounding left."""
    unit = np.sqrt(_variances(model, spread))
    smallest = np.linalg.eigvalsh(spread.matrices)[:, 0]
    relative = np.linalg.eigvalsh(spread.matrices / (unit[:, None] * unit))[:, 0]
    flat = (smallest <= REGULARISED * model.reg_covar) | (relative <= LOST)
    if not flat.any():
        return None
    worst = int(np.argmin(np.where(flat, smallest, np.inf)))
    return f"component {worst} has no spread in some direction (variance {max(smallest[worst], 0.0):.3g})"


def _within_a_step(model: Any, spread: Spread, steps: Floats | None) -> str | None:
    """A component with less variance in a column than rounding makes by itself, where all rows have far more."""
    if steps is None or len(steps) != spread.means.shape[1]:
        return None
    limit = np.minimum(steps**2 / 12.0, NARROW * _variances(model, spread))
    narrow = np.einsum("kii->ki", spread.matrices) < limit
    if not narrow.any():
        return None
    component, column = (int(place) for place in np.argwhere(narrow)[0])
    return f"component {component} is narrower than the steps of {steps[column]:.3g} in which a column is rounded"


def _unsupported(model: Any, structure: Any, n_columns: int) -> str | None:
    """A component on no more rows than it takes to span what it has for itself; a prior stands in for rows."""
    history = getattr(model, "history_", None)
    if not history or getattr(model, "prior_", None) is not None:
        return None
    counts, span = _shares(model) * history[-1].weight, _span(structure, n_columns)
    smallest = int(np.argmin(counts))
    if counts[smallest] >= span + PART:
        return None
    rows = f"{counts[smallest]:.3g} row{'' if 0.995 <= counts[smallest] < 1.005 else 's'}"
    return f"component {smallest} stands for only {rows}, too few to tell its spread"


def _span(structure: Any, n_columns: int) -> int:
    """Rows that may lie as close together, or as much in a plane, as chance will have it."""
    own = structure.n_parameters(2, n_columns) - structure.n_parameters(1, n_columns)
    if own == 0:
        return 0
    turns = own > 1 and structure.n_second(n_columns) > n_columns  # a shape or axes of its own, not along the columns
    return n_columns if turns else min(n_columns, 2)
