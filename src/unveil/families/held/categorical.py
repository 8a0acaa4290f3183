"""Held and tied probabilities of levels: the others share what is left, see `simplex`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unveil.core.arrays import Floats, Labels, Mask
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.held.entries import Entries, renumbered, spread_out
from unveil.families.held.family import HoldingRule
from unveil.families.held.simplex import bound_rows, free_directions, likeliest
from unveil.families.independent import PROBABILITY_FLOOR


@dataclass(frozen=True)
class LevelRule(HoldingRule):
    """Entries of the probabilities (k, sum of levels); ties may be between components or levels, within a column."""

    entries: Entries

    def check(self, family: Categorical, n_components: int, n_columns: int) -> None:
        """A mask for each level of each column."""
        self.entries.check((n_components, sum(family.levels)))

    def maximise(self, family: Categorical, moments: Floats, params: CategoricalParams) -> CategoricalParams:
        """Column by column; what no row tells of stays."""
        groups = self._groups(family, len(moments))
        counts = np.where(moments[:, :1] > 0, moments[:, 1:] + family.pseudo_counts, 0.0)
        values, floored = params.probabilities.copy(), np.zeros(len(moments), dtype=np.bool_)
        for place in family.places():
            own = groups[:, place], counts[:, place], values[:, place]
            values[:, place], low = likeliest(*own, PROBABILITY_FLOOR, "probabilities")
            floored |= low
        return CategoricalParams(values, int(np.count_nonzero(floored)))

    def settled(self, family: Categorical, params: CategoricalParams, start: CategoricalParams) -> CategoricalParams:
        """Held entries from `start`; then the free ones, as they are, make the counts of an M step."""
        given = np.where(self._groups(family, len(params.probabilities)) < 0, start.probabilities, params.probabilities)
        moments = np.concatenate([np.ones((len(given), 1)), params.probabilities], axis=1)
        found = self.maximise(replace(family, prior=None), moments, replace(params, probabilities=given))
        return replace(found, floored=params.floored)

    def n_parameters(self, family: Categorical, n_components: int, n_columns: int) -> int:
        """Values, less what the sums of probabilities say."""
        groups = self._groups(family, n_components)
        return sum(free_directions(renumbered(groups[:, place])) for place in family.places())

    def directions(self, family: Categorical, params: CategoricalParams, chart: Any) -> csr_array:
        """Logarithms move together: right where all of a column is held or free, and tied to columns alike.

        A level that is held at 0 has no part in its column.
        """
        groups = self._groups(family, len(params.probabilities))
        for place in family.places():
            linear(groups[:, place], "probabilities", (groups < 0)[:, place] & (params.probabilities[:, place] == 0))
        return spread_out(groups)

    def chosen(self, components: NDArray[np.intp]) -> LevelRule:
        """Of some components."""
        return LevelRule(self.entries.chosen(components))

    def _groups(self, family: Categorical, n_components: int) -> Labels:
        return self.entries.groups((n_components, sum(family.levels)), family.owners(len(family.levels)))


def linear(groups: Labels, name: str, absent: Mask | bool = False) -> None:
    """Raise a TypeError where softmax does not keep what is held and tied in rows of probabilities."""
    partly = np.any((groups < 0) & ~np.asarray(absent), axis=1) & np.any(groups >= 0, axis=1)
    if partly.any() or any(np.any(bound.times != bound.times[0]) for bound in bound_rows(groups)):
        raise TypeError(
            f"{name} of which only some of a row are held, or tied to rows unlike them, have no unconstrained "
            "coordinates, which gradient schedules need: hold or tie whole rows"
        )
