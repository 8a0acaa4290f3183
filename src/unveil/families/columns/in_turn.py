"""The columns of a row in turn: what each is, given those before it.

Under a component, F_j = P(X_j <= x_j | x_1, ..., x_(j-1)) are independent and uniform (Rosenblatt, Remarks on a
multivariate transformation, 1952). With C = L L' and z = L^-1 (x - mean), a Gaussian has

    F_j = Phi(z_j),      log p(x_j | before) = log phi(z_j) - log L_jj,      sum_j z_j^2 ~ chi2(d),

and for Student's t with dof degrees of freedom, Q_j = z_1^2 + ... + z_(j-1)^2, the column is t with dof + j - 1 degrees
of freedom and a scale that what came before has stretched: t_j = z_j sqrt((dof + j - 1) / (dof + Q_j)), while
sum_j z_j^2 / d ~ F(d, dof). A missing cell is passed over: its row is one of fewer columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, fdtr, gammaln, ndtr, stdtr

from unveil.core.arrays import Floats
from unveil.families.base import Family, Tile
from unveil.numerics.constants import LOG_TWO_PI


class InTurn(NamedTuple):
    """Of every component, column and row, (k, d, n); NaN where the cell is missing, but a log-density of 0."""

    below: Floats  # P(X_j < x_j | before); as `upto` where the column is continuous
    upto: Floats  # P(X_j <= x_j | before)
    log_density: Floats  # of x_j given those before it
    radius: Floats | None = None  # (k, n): P(a row of the component is as near to its centre), where it has one


class Law(NamedTuple):
    """What a standardised column and a squared distance are distributed by, given what came before."""

    column: Callable[[Floats, Floats, int], tuple[Floats, Floats]]  # z_j, Q_j, place -> F and log-density
    radius: Callable[[Floats, int], Floats]  # sum of z^2, number of columns -> P


def independent_in_turn(family: Family, params: Any, x: Floats) -> InTurn:
    """Columns `x` (d, n) that are independent given the component: none cares for those before it."""
    if not family.separable:
        raise TypeError(f"{type(family).__name__} does not say what a column is given others")
    parts = [_alone(family, params, column, cells) for column, cells in enumerate(x)]
    below, upto, densities = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    return InTurn(below, upto, densities)


def _alone(family: Family, params: Any, column: int, cells: Floats) -> tuple[Floats, Floats, Floats]:
    """One column: P(X < x), P(X <= x) and the log-density, (k, n)."""
    there = ~np.isnan(cells)
    seen = np.where(there, cells, family.neutral)
    upto = family.cumulative(params, column, seen)
    coded = family.is_lattice(column) or family.n_levels(column) is not None
    below = family.cumulative(params, column, seen - 1.0) if coded else upto
    alone, own = family.marginal(params, np.array([column]))
    tile = Tile(np.ascontiguousarray(seen[None]), np.empty((len(upto), len(cells))))
    alone.score(alone.plan(own), tile)
    base = alone.log_base(tile.x)
    density = tile.logits if base is None else tile.logits + base
    return np.where(there, below, np.nan), np.where(there, upto, np.nan), np.where(there, density, 0.0)


def normal_law() -> Law:
    """Of Gaussians."""
    return Law(lambda z, before, place: (ndtr(z), -0.5 * (z**2 + LOG_TWO_PI)), lambda total, d: chdtr(d, total))


def student_law(dofs: Floats) -> Law:
    """Of Student's t, by the degrees of freedom (k,)."""

    def column(z: Floats, before: Floats, place: int) -> tuple[Floats, Floats]:
        more = dofs[:, None] + place
        stretch = (dofs[:, None] + before) / more
        t = z / np.sqrt(stretch)
        constant = gammaln((more + 1) / 2) - gammaln(more / 2) - 0.5 * np.log(more * np.pi)
        return stdtr(more, t), constant - 0.5 * (more + 1) * np.log1p(t**2 / more) - 0.5 * np.log(stretch)

    return Law(column, lambda total, d: fdtr(d, dofs[:, None], total / d))


def elliptical_in_turn(means: Floats, covariances: Floats, x: Floats, law: Law) -> InTurn:
    """Columns `x` (d, n) of elliptical components with centres (k, d) and matrices (k, d, d)."""
    k, (d, n) = len(means), x.shape
    upto, densities, radius = np.full((k, d, n), np.nan), np.zeros((k, d, n)), np.full((k, n), np.nan)
    for columns, rows in _patterns(x):
        factors = np.linalg.cholesky(covariances[:, columns[:, None], columns])
        away = x[columns[:, None], rows] - means[:, columns, None]
        z = np.linalg.solve(factors, away)
        before = np.zeros((k, len(rows)))
        for place, column in enumerate(columns):
            found, density = law.column(z[:, place], before, place)
            upto[:, column, rows] = found
            densities[:, column, rows] = density - np.log(factors[:, place, place])[:, None]
            before = before + z[:, place] ** 2
        radius[:, rows] = law.radius(before, len(columns))
    return InTurn(upto, upto, densities, radius)


def _patterns(x: Floats) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Columns that are there, and the rows of which that is true; rows of which nothing is there are left out."""
    there = ~np.isnan(x)
    if there.all():
        yield np.arange(len(x)), np.arange(x.shape[1])
        return
    masks, places = np.unique(there, axis=1, return_inverse=True)
    for number, mask in enumerate(masks.T):
        if mask.any():
            yield np.flatnonzero(mask), np.flatnonzero(places.ravel() == number)
