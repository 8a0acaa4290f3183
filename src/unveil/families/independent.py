"""Families whose columns are independent given the component.

    log p(x | component) = sum_j [ constant_j + eta_j . T_j(x_j) ]

A missing cell then simply drops out of the sum, and in the M step it counts with the expectation of its statistics
under the component: moments = R @ T' over what is there + (weight of what is not) * E[T].
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.families.base import ExponentialFamily, Family, Tile
from unveil.families.columns.missing_cells import MissingCells

PROBABILITY_FLOOR = 1e-12  # how near an estimate comes to 0 or 1: small against any share of rows that one could have


class Terms(NamedTuple):
    """The log-density of each column as a linear function of its statistics."""

    constants: Floats  # (components, columns)
    slopes: Floats  # (components, statistics - 1)


class Ratios(NamedTuple):
    """Parameters (k, d) as `above` / `below`, a prior's pseudo-rows included, and the limits that they keep."""

    above: Floats
    below: Floats
    lowest: Floats | float
    highest: Floats | float


class IndependentPlan(NamedTuple):
    """What a pass needs of the parameters."""

    natural: Floats
    params: Any
    terms: Terms
    expected: Floats  # (components, statistics - 1): E[T] under each component


class Independent(ExponentialFamily):
    """Independent columns. A family of one's own gives `terms`, `expected` and `owners` besides T and the M step."""

    takes_missing = separable = True

    @abstractmethod
    def terms(self, params: Any) -> Terms:
        """Constants and slopes of the columns."""

    def expected(self, params: Any) -> Floats:
        """E[T], without the leading 1, under each component: the means, where T(x) = (1, x)."""
        return self.means(params)

    def variances(self, params: Any) -> Floats:
        """Of each column under each component, (components, columns)."""
        raise TypeError(f"{type(self).__name__} has no covariances")

    @abstractmethod
    def restricted(self, params: Any, columns: NDArray[np.intp]) -> tuple[Family, Any]:
        """The family of some of the columns, and its parameters."""

    def ratios(self, moments: Floats) -> Ratios:
        """What the parameters are made of, where each is one sum over another."""
        raise TypeError(f"{type(self).__name__} has no parameters that are ratios of sums")

    def owners(self, n_columns: int) -> NDArray[np.intp]:
        """The column that each statistic belongs to, without the leading 1; by default they go round by column."""
        each = (self.n_statistics(n_columns) - 1) // n_columns
        return np.tile(np.arange(n_columns), each)

    def natural(self, params: Any) -> Floats:
        """The constants added up in front of the slopes."""
        constants, slopes = self.terms(params)
        return np.concatenate([constants.sum(axis=1, keepdims=True), slopes], axis=1)

    def plan(self, params: Any) -> IndependentPlan:
        """Natural parameters, by column too."""
        return IndependentPlan(self.natural(params), params, self.terms(params), self.expected(params))

    def score(self, plan: IndependentPlan, tile: Tile) -> None:
        """logits = eta @ T, over the columns that are there."""
        if tile.observed is None:
            super().score(plan, tile)
        else:
            kept = np.isin(self.owners(len(tile.x)), tile.observed)
            table = self._table(replace(tile, x=np.where(np.isnan(tile.x), self.neutral, tile.x)))
            np.matmul(plan.terms.slopes[:, kept], table[1:][kept], out=tile.logits)
            tile.logits += plan.terms.constants[:, tile.observed].sum(axis=1, keepdims=True)
        self.settle(tile.logits)

    def settle(self, logits: Floats) -> None:
        """Put right in sums of slopes and constants what products of numbers cannot say."""

    def gather(self, plan: IndependentPlan, tile: Tile) -> Floats:
        """moments = R @ T', what is missing by its expectation."""
        moments = super().gather(plan, tile)
        if tile.observed is not None:
            missing = np.flatnonzero(~np.isin(self.owners(len(tile.x)), tile.observed))
            moments[:, 1 + missing] = moments[:, :1] * plan.expected[:, missing]
        return moments

    def missing_cells(self, plan: IndependentPlan, x: Floats, n_components: int) -> Masked:
        """By masks."""
        return Masked(self, plan, x)

    def complete(self, plan: IndependentPlan, tile: Tile) -> Floats:
        """Missing cells by the means of the components, in proportion to q."""
        assert tile.observed is not None
        rows = tile.x.copy()
        missing = np.setdiff1d(np.arange(len(rows)), tile.observed)
        rows[missing] = self.means(plan.params)[:, missing].T @ tile.logits
        return rows

    def covariances(self, params: Any) -> Floats:
        """Variances along a diagonal."""
        variances = self.variances(params)
        found, places = np.zeros((*variances.shape, variances.shape[1])), np.arange(variances.shape[1])
        found[:, places, places] = variances
        return found

    def marginal(self, params: Any, columns: NDArray[np.intp]) -> tuple[Family, Any]:
        """What is left of the columns."""
        return self.restricted(params, columns)

    def conditional(self, params: Any, columns: NDArray[np.intp], values: Floats) -> tuple[Family, Any]:
        """Given the component, the other columns do not care."""
        rest = np.setdiff1d(np.arange(self.means(params).shape[1]), columns)
        return self.restricted(params, rest)


class TableFamily(Independent):
    """Independent columns whose parameters are one table, and how many of its rows were floored.

    Of T(x) = (1, x) and tables (k, d), unless a family says otherwise.
    """

    table: ClassVar[str]  # what the parameters call it
    prior: Any  # of its table; None where there is none

    def n_statistics(self, n_columns: int) -> int:
        """1 + d."""
        return 1 + n_columns

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """One each."""
        return n_components * n_columns

    def of_table(self, table: Floats) -> Any:
        """Parameters of a table."""
        raise TypeError(f"{type(self).__name__} has no passes over small tables")

    def maximise(self, moments: Floats, params: Any) -> Any:
        """Those that moments say; a component without weight keeps what it had."""
        alive = moments[:, :1] > 0
        if not alive.any():
            return params
        fresh = self.first(moments)
        kept = np.where(alive, getattr(fresh, self.table), getattr(params, self.table))
        return replace(fresh, **{self.table: kept})

    def taken(self, params: Any, components: NDArray[np.intp]) -> Any:
        """Some components."""
        return replace(params, **{self.table: getattr(params, self.table)[components]})

    def restricted(self, params: Any, columns: NDArray[np.intp]) -> tuple[Family, Any]:
        """Some columns."""
        return self, replace(params, **{self.table: getattr(params, self.table)[:, columns]})


class Masked(MissingCells):
    """Independent columns, whatever is missing of them."""

    def __init__(self, family: Independent, plan: IndependentPlan, x: Floats) -> None:
        n_columns, n_rows = x.shape
        self.family, self.plan, self.owners = family, plan, family.owners(n_columns)
        there = ~np.isnan(x)
        self.there = there.astype(np.float64)
        self.table = np.empty((family.n_statistics(n_columns), n_rows))
        family.statistics(np.where(there, x, family.neutral), self.table)
        self.table[1:] *= self.there[self.owners]

    def score(self, logits: Floats) -> None:
        """Slopes and constants of what is there."""
        own = self.plan.terms.slopes @ self.table[1:]
        own += self.plan.terms.constants @ self.there
        self.family.settle(own)
        logits += own

    def gather(self, shares: Floats) -> Floats:
        """What is there, and the weight of what is not times its expectation."""
        moments: Floats = shares @ self.table.T
        moments[:, 1:] += (shares @ (1.0 - self.there).T)[:, self.owners] * self.plan.expected
        return moments
