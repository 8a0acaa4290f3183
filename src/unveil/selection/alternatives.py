"""Other mixtures that might describe the rows better: tails, skewness and shape before more components.

A Gaussian mixture takes several components for one group that is skewed or has heavy tails, and too few for groups of
many columns, where a covariance of its own costs each more than it gains. So its BIC is compared with that of
Student's t, of Gaussians for the log of the skewed columns (whose density takes the factor 1 / x along), and of the
other covariance structures. Cells may be missing, and columns of other kinds stand beside the numbers: those are as
they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import skew
from sklearn.base import clone

from unveil.core.arrays import Floats, Indices
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
    rows: Any  # as it takes them
    logged: tuple[int, ...] = ()  # columns that it takes the log of

    def to_dict(self) -> dict[str, Any]:
        """What it is, without the model."""
        return {"model": self.words, "n_components": self.n_components, "gain": self.gain}


class Attempt(NamedTuple):
    """A mixture that is to be fitted, with each of some numbers of components."""

    words: str
    estimator: Any
    sizes: tuple[int, ...]
    rows: Any
    price: float = 0.0  # twice the log of what a transform stretches the rows by
    logged: tuple[int, ...] = ()


def tried(
    best: Any, rows: Floats, weights: Floats | None, grid: Mapping[str, tuple[Any, ...]] | None
) -> list[Alternative]:
    """Alternatives to the winner, the best first, each with its best number of components; without a grid only logs."""
    numbers = _numbers(best)
    if not len(numbers):
        return []
    attempts = list(_logs(best, rows, numbers, weights))
    if grid is not None:
        attempts = [*_heavier(best, rows), *attempts, *_shapes(best, rows, numbers, grid)]
    if not attempts:
        return []
    own = _own(best, _shown(best, rows), weights)
    results = (_best(attempt, weights, own) for attempt in attempts)
    return sorted((one for one in results if one is not None), key=lambda one: -one.gain)


def _own(best: Any, shown: Any, weights: Floats | None) -> float:
    """The winner's BIC on these rows. They may be a sample of those that it was fitted to, and the others are fitted to
    them alone, so it is fitted to them as well."""
    as_it_is = _bic(nameless(best), shown, weights)
    try:
        again = quietly(best._alike().set_params(n_init=1, random_state=0).fit, shown, sample_weight=weights)
    except (ValueError, ArithmeticError):
        return as_it_is
    return as_it_is if degeneracy(again) is not None else min(as_it_is, _bic(again, shown, weights))


def _numbers(best: Any) -> Indices:
    """The columns that have a centre and a covariance in each component."""
    fitted = best._mixture()
    groups = fitted.model.family.within.ellipses(fitted.params.components)
    return np.concatenate([np.empty(0, np.intp), *(group.columns for group in groups)]).astype(np.intp)


def _shown(best: Any, rows: Floats) -> Any:
    """Coded rows as the estimator takes them."""
    return best._emission().rows.shown(best, rows)


def _plain(best: Any) -> Any:
    return best._alike().set_params(n_init=1, random_state=0)


def _sizes(best: Any) -> tuple[int, ...]:
    """As many components or fewer."""
    return tuple(range(1, int(best.n_components) + 1))


def _heavier(best: Any, rows: Floats) -> Iterator[Attempt]:
    """Tails."""
    heavier = best._mixture().model.family.heavier
    if heavier and not np.isnan(rows).any():
        student = public("unveil", heavier)(covariance_type=best.covariance_type, tol=STUDENT_TOL, random_state=0)
        yield Attempt(heavier, student, _sizes(best), _shown(best, rows))


def _logs(best: Any, rows: Floats, numbers: Indices, weights: Floats | None) -> Iterator[Attempt]:
    """Skewness."""
    columns = _skewed(rows, numbers)
    if len(columns):
        logs = rows.copy()
        logs[:, columns] = np.log(rows[:, columns])
        words = f"the log of {_named(best, columns)}"
        each = np.nansum(logs[:, columns], axis=1)  # what is missing has no density to stretch
        price = 2.0 * float(each.sum() if weights is None else weights @ each)
        yield Attempt(words, _plain(best), _sizes(best), _shown(best, logs), price, tuple(columns.tolist()))


def _shapes(best: Any, rows: Floats, numbers: Indices, grid: Mapping[str, tuple[Any, ...]]) -> Iterator[Attempt]:
    """Other shapes, where none were compared."""
    if len(numbers) > 1 and len(grid.get("covariance_type", ())) < 2:
        shown = _shown(best, rows)
        sizes = tuple(int(size) for size in grid.get("n_components", (best.n_components,)))
        for structure in STRUCTURES:
            if structure != best.covariance_type:
                another = clone(_plain(best)).set_params(covariance_type=structure)
                yield Attempt(f"covariance_type={structure!r}", another, sizes, shown)


def _skewed(rows: Floats, numbers: Indices) -> Indices:
    """Columns of numbers that are positive and skewed; none of which nothing is there."""
    seen = rows[:, numbers]
    there = ~np.isnan(seen)
    positive = np.all((seen > 0) | ~there, axis=0) & (there.sum(axis=0) > 2)
    far = np.array([skew(column[own]) > SKEWED for column, own in zip(seen.T, there.T, strict=True)], dtype=np.bool_)
    return numbers[positive & far]


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
