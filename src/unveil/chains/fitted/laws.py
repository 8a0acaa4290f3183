"""Covariances of the components of a family, and the distributions of their columns one by one: what intervals need.

In the frame, as everything about families. A family that is not listed has no such figures, and the error says so.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import ndtr, pdtr, stdtr

from unveil.core.arrays import Floats
from unveil.families.base import Family
from unveil.families.bernoulli import Bernoulli
from unveil.families.categorical import Categorical
from unveil.families.compound import Compound
from unveil.families.exponential import Exponential
from unveil.families.gaussian import Gaussian
from unveil.families.held.family import Held
from unveil.families.poisson import Poisson
from unveil.families.product import Product
from unveil.families.student import Student

# -- covariances -------------------------------------------------------------------------------------------------------


@singledispatch
def covariances(family: Family, params: Any) -> Floats:
    """Covariance of a row of each component, (components, columns, columns)."""
    raise TypeError(f"{type(family).__name__} has no covariances")


@covariances.register
def _(family: Gaussian, params: Any) -> Floats:
    return family.structure.dense(params.covariances, *params.means.shape)


@covariances.register
def _(family: Student, params: Any) -> Floats:
    scales = family.structure.dense(params.scales, *params.means.shape)
    stretch = np.full(len(params.dofs), np.inf)  # tails too heavy for a variance
    light = params.dofs > 2
    stretch[light] = params.dofs[light] / (params.dofs[light] - 2.0)
    with np.errstate(invalid="ignore"):
        return scales * stretch[:, None, None]


@covariances.register
def _(family: Poisson, params: Any) -> Floats:
    return _diagonals(params.rates)


@covariances.register
def _(family: Exponential, params: Any) -> Floats:
    return _diagonals(family.means(params) ** 2)


@covariances.register
def _(family: Bernoulli, params: Any) -> Floats:
    return _diagonals(params.probabilities * (1.0 - params.probabilities))


@covariances.register
def _(family: Categorical, params: Any) -> Floats:
    return _diagonals(np.full((len(params.probabilities), len(family.levels)), np.nan))


@covariances.register
def _(family: Product, params: Any) -> Floats:
    found = [(np.array(columns), covariances(part, own)) for (part, columns), own in _parts(family, params)]
    out = np.zeros((len(found[0][1]), family.n_columns, family.n_columns))
    for columns, block in found:
        out[:, columns[:, None], columns] = block
    return out


@covariances.register
def _(family: Compound, params: Any) -> Floats:
    k, m = params.weights.shape
    within, means = covariances(family.family, params.parts), family.family.means(params.parts)
    means = means.reshape(k, m, -1)
    away = means - np.einsum("km,kmi->ki", params.weights, means)[:, None]
    between = np.einsum("km,kmi,kmj->kij", params.weights, away, away)
    mixed: Floats = np.einsum("km,kmij->kij", params.weights, within.reshape(k, m, *within.shape[1:])) + between
    return mixed


@covariances.register
def _(family: Held, params: Any) -> Floats:
    return covariances(family.family, params)


# -- distributions -----------------------------------------------------------------------------------------------------


@singledispatch
def distribution(family: Family, params: Any, column: int, x: Floats) -> Floats:
    """P(X <= x) of one column under each component, (components, len(x))."""
    raise TypeError(f"{type(family).__name__} has no quantiles")


@distribution.register
def _(family: Gaussian, params: Any, column: int, x: Floats) -> Floats:
    deviations = np.sqrt(covariances(family, params)[:, column, column])
    found: Floats = ndtr((x - params.means[:, column, None]) / deviations[:, None])
    return found


@distribution.register
def _(family: Student, params: Any, column: int, x: Floats) -> Floats:
    scales = family.structure.dense(params.scales, *params.means.shape)[:, column, column]
    found: Floats = stdtr(params.dofs[:, None], (x - params.means[:, column, None]) / np.sqrt(scales)[:, None])
    return found


@distribution.register
def _(family: Poisson, params: Any, column: int, x: Floats) -> Floats:
    return np.where(x < 0, 0.0, pdtr(np.maximum(np.floor(x), 0.0), params.rates[:, column, None]))


@distribution.register
def _(family: Exponential, params: Any, column: int, x: Floats) -> Floats:
    return -np.expm1(-np.maximum(x, 0.0) * params.rates[:, column, None])


@distribution.register
def _(family: Bernoulli, params: Any, column: int, x: Floats) -> Floats:
    no = 1.0 - params.probabilities[:, column, None]
    return np.where(x < 0, 0.0, np.where(x < 1, no, 1.0))


@distribution.register
def _(family: Categorical, params: Any, column: int, x: Floats) -> Floats:
    raise TypeError("categories have no order, so they have no quantiles: see probabilities_ of mixture(step)")


@distribution.register
def _(family: Product, params: Any, column: int, x: Floats) -> Floats:
    (part, columns), own = next(pair for pair in _parts(family, params) if column in pair[0][1])
    return distribution(part, own, columns.index(column), x)


@distribution.register
def _(family: Compound, params: Any, column: int, x: Floats) -> Floats:
    k, m = params.weights.shape
    parts = distribution(family.family, params.parts, column, x).reshape(k, m, -1)
    mixed: Floats = np.einsum("km,kmx->kx", params.weights, parts)
    return mixed


@distribution.register
def _(family: Held, params: Any, column: int, x: Floats) -> Floats:
    return distribution(family.family, params, column, x)


def is_lattice(family: Family, column: int) -> bool:
    """Whether a column holds whole numbers only."""
    if isinstance(family, Product):
        part, columns = next(pair for pair in family.parts if column in pair[1])
        return is_lattice(part, columns.index(column))
    if isinstance(family, Compound | Held):
        return is_lattice(family.family, column)
    return isinstance(family, Poisson | Bernoulli)


def is_whole(family: Family, column: int, categories: Any) -> bool:
    """Whether a column holds whole numbers only: counts, or categories that are such."""
    if is_lattice(family, column):
        return True
    if isinstance(family, Product):
        part, columns = next(pair for pair in family.parts if column in pair[1])
        return is_whole(part, columns.index(column), categories)
    if isinstance(family, Compound | Held):
        return is_whole(family.family, column, categories)
    if not isinstance(family, Categorical):
        return False
    return categories is None or (categories.dtype.kind in "iuf" and bool(np.all(categories == np.floor(categories))))


def _parts(family: Product, params: Any) -> Any:
    return zip(family.parts, params.parts, strict=True)


def _diagonals(variances: Floats) -> Floats:
    """Diagonal matrices, (components, columns, columns)."""
    found = np.zeros((*variances.shape, variances.shape[1]))
    places = np.arange(variances.shape[1])
    found[:, places, places] = variances
    return found
