"""Held and tied rates and probabilities, where each entry is one sum over another.

A rate of Poisson counts is counts over weight, one of waiting times weight over times, a probability of yes is yes over
weight, the prior's pseudo-rows included. Tied entries have the sums of their group: pooled counts over pooled weight.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unveil.core.arrays import Floats
from unveil.families import bernoulli, exponential, poisson
from unveil.families.base import Family
from unveil.families.bernoulli import Bernoulli
from unveil.families.exponential import Exponential
from unveil.families.held.entries import Entries, pooled, spread_out
from unveil.families.held.family import Rule
from unveil.families.poisson import Poisson


class Ratios(NamedTuple):
    """Entries (k, d) as `above` / `below`, and the limits between which they stay."""

    above: Floats
    below: Floats
    lowest: Floats | float
    highest: Floats | float


@singledispatch
def ratios(family: Family, moments: Floats) -> Ratios:
    """What the entries of a family's parameters are made of."""
    raise TypeError(f"{type(family).__name__} has no parameters that are ratios of sums")


@ratios.register
def _(family: Poisson, moments: Floats) -> Ratios:
    shape, rate = (1.0, 0.0) if family.prior is None else (family.prior.shape, family.prior.rate)
    lowest = poisson.FLOOR * _overall(moments)
    return Ratios(moments[:, 1:] + (shape - 1.0), _each(moments[:, :1] + rate, moments), lowest, np.inf)


@ratios.register
def _(family: Exponential, moments: Floats) -> Ratios:
    shape, rate = (1.0, 0.0) if family.prior is None else (family.prior.shape, family.prior.rate)
    highest = 1.0 / (exponential.FLOOR * _overall(moments))
    return Ratios(_each(moments[:, :1] + (shape - 1.0), moments), moments[:, 1:] + rate, 0.0, highest)


@ratios.register
def _(family: Bernoulli, moments: Floats) -> Ratios:
    a, b = (1.0, 1.0) if family.prior is None else (family.prior.a, family.prior.b)
    below = _each(moments[:, :1] + (a + b - 2.0), moments)
    return Ratios(moments[:, 1:] + (a - 1.0), below, bernoulli.FLOOR, 1.0 - bernoulli.FLOOR)


@dataclass(frozen=True)
class RatioRule(Rule):
    """Entries of a table of rates or probabilities."""

    name: str  # of the parameters
    held: Any = None
    tied: Any = None
    entries: Entries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", Entries(self.name, self.held, self.tied))

    def check(self, family: Family, n_components: int, n_columns: int) -> None:
        """A mask for each entry."""
        self.entries.check((n_components, n_columns))

    def maximise(self, family: Family, moments: Floats, params: Any) -> Any:
        """Pooled ratios; a group without weight keeps what it had, as does what is held."""
        before = getattr(params, self.name)
        groups, found = self.entries.groups(before.shape), ratios(family, moments)
        weight = pooled(groups, _each(moments[:, :1], moments))
        moves = (groups >= 0) & (weight > 0)
        below = pooled(groups, found.below)
        with np.errstate(divide="ignore", invalid="ignore"):
            fresh = pooled(groups, found.above) / below
        kept = np.where(moves, np.clip(fresh, found.lowest, found.highest), before)
        floored = np.any(moves & (kept != fresh), axis=1)
        return replace(params, **{self.name: kept, "floored": int(np.count_nonzero(floored))})

    def settled(self, family: Family, params: Any, start: Any) -> Any:
        """Held entries from `start`, tied ones at their mean."""
        return replace(params, **{self.name: self.entries.settled(*(getattr(p, self.name) for p in (params, start)))})

    def n_parameters(self, family: Family, n_components: int, n_columns: int) -> int:
        """Groups."""
        return int(self.entries.groups((n_components, n_columns)).max(initial=-1)) + 1

    def directions(self, family: Family, params: Any, chart: Any) -> csr_array:
        """Logarithms of a group move together."""
        return spread_out(self.entries.groups(getattr(params, self.name).shape))

    def chosen(self, components: NDArray[np.intp]) -> RatioRule:
        """Of some components."""
        entries = self.entries.chosen(components)
        return RatioRule(self.name, entries.held, entries.tied)


def _each(column: Floats, moments: Floats) -> Floats:
    """A column once for each of the columns of the data."""
    return np.broadcast_to(column, (len(moments), moments.shape[1] - 1))


def _overall(moments: Floats) -> Floats:
    """Mean of each column over all rows; 1 where that is nothing."""
    total = moments.sum(axis=0)
    overall = total[1:] / total[0] if total[0] > 0 else total[1:]
    return np.where(overall > 0, overall, 1.0)
