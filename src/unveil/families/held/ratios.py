"""Held and tied rates and probabilities, where each entry is one sum over another.

A rate of Poisson counts is counts over weight, one of waiting times weight over times, a probability of yes is yes over
weight, the prior's pseudo-rows included. Tied entries have the sums of their group: pooled counts over pooled weight.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unveil.core.arrays import Floats
from unveil.families.held.entries import Entries, pooled, spread_out
from unveil.families.held.family import HoldingRule
from unveil.families.independent import Independent


@dataclass(frozen=True)
class RatioRule(HoldingRule):
    """Entries of a table of rates or probabilities."""

    name: str  # of the parameters
    held: Any = None
    tied: Any = None
    entries: Entries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", Entries(self.name, self.held, self.tied))

    def check(self, family: Independent, n_components: int, n_columns: int) -> None:
        """A mask for each entry."""
        self.entries.check((n_components, n_columns))

    def maximise(self, family: Independent, moments: Floats, params: Any) -> Any:
        """Pooled ratios; a group without weight keeps what it had, as does what is held."""
        before = getattr(params, self.name)
        groups, found = self.entries.groups(before.shape), family.ratios(moments)
        weight = pooled(groups, np.broadcast_to(moments[:, :1], before.shape))
        moves = (groups >= 0) & (weight > 0)
        below = pooled(groups, found.below)
        with np.errstate(divide="ignore", invalid="ignore"):
            fresh = pooled(groups, found.above) / below
        kept = np.where(moves, np.clip(fresh, found.lowest, found.highest), before)
        floored = np.any(moves & (kept != fresh), axis=1)
        return replace(params, **{self.name: kept, "floored": int(np.count_nonzero(floored))})

    def settled(self, family: Independent, params: Any, start: Any) -> Any:
        """Held entries from `start`, tied ones at their mean."""
        return replace(params, **{self.name: self.entries.settled(*(getattr(p, self.name) for p in (params, start)))})

    def n_parameters(self, family: Independent, n_components: int, n_columns: int) -> int:
        """Groups."""
        return int(self.entries.groups((n_components, n_columns)).max(initial=-1)) + 1

    def directions(self, family: Independent, params: Any, chart: Any) -> csr_array:
        """Logarithms of a group move together."""
        return spread_out(self.entries.groups(getattr(params, self.name).shape))

    def chosen(self, components: NDArray[np.intp]) -> RatioRule:
        """Of some components."""
        entries = self.entries.chosen(components)
        return RatioRule(self.name, entries.held, entries.tied)
