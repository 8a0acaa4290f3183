"""Other mixtures that might describe the rows better: tails, skewness and shape before more components.

A Gaussian mixture takes several components for one group that is skewed or has heavy tails, and too few for groups of
many columns, where a covariance of its own costs each more than it gains. So its BIC is compared with that of
Student's t, of Gaussians for the log of the skewed columns (whose density takes the factor 1 / x along), and of the
other covariance structures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import skew
from sklearn.base import clone

from unveil.core.arrays import Floats
from unveil.core.lazy import found as public
from unveil.estimation.degenerate import degeneracy
from unveil.judgement.case import nameless, quietly

STUDENT_TOL = 1e-4  # nats a row: degrees of freedom that drift to infinity would take a thousand passes
WORSE = 2  # numbers of components in a row that were worse than the best: more are not tried
STRUCTURES = ("full", "tied", "diag", "spherical")  # those that differ most
SKEWED = 1.0  # skewness of a column, from which on its log is tried; that of an exponential one is 2
MOST_ROWS = 2048  # that alternatives are compared on: some dozens of fits


class Alternative(NamedTuple):
    """Another mixture, fitted to the rows or to a transform of them."""

    words: str  # what it is
    n_components: int
    gain: float  # fall of the BIC against the winner, on the rows that both were compared on
    model: Any
    rows: Floats  # as it sees them
    logged: tuple[int, ...] = ()  # columns that it takes the log of

    def to_dict(self) -> dict[str, Any]:
        """What it is, without the model."""
        return {"model": self.words, "n_components": self.n_components, "gain": self.gain}


class Attempt(NamedTuple):
    """A mixture that is to be fitted, with each of some numbers of components."""

    words: str
    estimator: Any
    sizes: tuple[int, ...]
    rows: Floats
    price: float = 0.0  # twice the log of what a transform stretches the rows by
    logged: tuple[int, ...] = ()


def tried(best: Any, rows: Floats, weights: Floats | None, grid: Mapping[str, tuple[Any, ...]]) -> list[Alternative]:
    """Alternatives to the winner, each with its best number of components, the best first."""
    if not _is_of_numbers(best) or np.isnan(rows).any():
        return []
    own = _bic(nameless(best), rows, weights)
    results = (_best(attempt, weights, own) for attempt in _attempts(best, rows, grid))
    return sorted((one for one in results if one is not None), key=lambda one: -one.gain)


def _is_of_numbers(best: Any) -> bool:
    """Whether all columns have a centre and a covariance in each component."""
    fitted = best._mixture()
    groups = fitted.model.family.within.ellipses(fitted.params.components)
    return any(len(group.columns) == len(fitted.model.shift) for group in groups)


def _attempts(best: Any, rows: Floats, grid: Mapping[str, tuple[Any, ...]]) -> Iterator[Attempt]:
    """Tails and skewness with as many components or fewer, then other shapes."""
    k = int(best.n_components)
    plain = clone(best).set_params(n_init=1, random_state=0)
    heavier = best._mixture().model.family.heavier
    if heavier:
        student = public("unveil", heavier)(covariance_type=best.covariance_type, tol=STUDENT_TOL, random_state=0)
        yield Attempt(heavier, student, tuple(range(1, k + 1)), rows)
    columns = np.flatnonzero((rows.min(axis=0) > 0) & (skew(rows, axis=0) > SKEWED))
    if len(columns):
        logs = rows.copy()
        logs[:, columns] = np.log(rows[:, columns])
        words = f"the log of {_named(best, columns)}"
        price = 2.0 * float(logs[:, columns].sum())
        yield Attempt(words, plain, tuple(range(1, k + 1)), logs, price, tuple(columns.tolist()))
    if rows.shape[1] > 1 and len(grid.get("covariance_type", ())) < 2:
        sizes = tuple(int(size) for size in grid.get("n_components", (k,)))
        for structure in STRUCTURES:
            if structure != best.covariance_type:
                another = clone(plain).set_params(covariance_type=structure)
                yield Attempt(f"covariance_type={structure!r}", another, sizes, rows)


def _named(best: Any, columns: Any) -> str:
    names = getattr(best, "feature_names_in_", None)
    return ", ".join(f"column {column}" if names is None else str(names[column]) for column in columns)


def _best(attempt: Attempt, weights: Floats | None, own: float) -> Alternative | None:
    """The number of components with the lowest BIC, of fits that are not degenerate."""
    found: list[Alternative] = []
    for size in attempt.sizes:
        model = clone(attempt.estimator).set_params(n_components=size)
        try:
            quietly(model.fit, attempt.rows, sample_weight=weights)
        except (ValueError, ArithmeticError):
            continue
        if degeneracy(model) is None:
            gain = own - _bic(model, attempt.rows, weights) - attempt.price
            found.append(Alternative(attempt.words, size, float(gain), model, attempt.rows, attempt.logged))
        if len(found) > WORSE and max(found[-WORSE:], key=_gain).gain < max(found, key=_gain).gain:
            break
    return max(found, key=_gain, default=None)


def _gain(alternative: Alternative) -> float:
    return alternative.gain


def _bic(model: Any, rows: Floats, weights: Floats | None) -> float:
    return float(model.bic(rows) if weights is None else model.bic(rows, sample_weight=weights))
