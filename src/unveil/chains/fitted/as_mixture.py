"""The states of a hidden Markov model as the components of one of unveil's mixtures, weighted anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.declared import LARGEST_COUNT
from unveil.core.lazy import found as public
from unveil.families.base import OWN, Family
from unveil.mixtures.model.model import MixtureParams


@dataclass(frozen=True, eq=False)
class StateEmissions:
    """Emissions of all states, in a frame, and what an estimator knows of the columns."""

    family: Family
    params: Any
    shift: Floats
    known: dict[str, Any]  # fitted attributes that a mixture of the same columns has too
    rows_out: Callable[[Floats], Any]  # numbers into rows as the user knows them

    def draw(self, states: NDArray[np.int64], random: np.random.RandomState) -> Any:
        """A row for each of the states, as the user knows rows."""
        rows = np.empty((len(states), len(self.shift)))
        for state in np.unique(states):
            here = np.flatnonzero(states == state)
            rows[here] = self.family.draw(self.params, int(state), len(here), random)
        found = self.rows_out(rows + self.shift)
        return found.astype(np.int64) if self._counts() and np.asarray(found).dtype.kind == "f" else found

    def _counts(self) -> bool:
        """Whether all columns hold whole numbers: counts, or categories that are such."""
        categories = self.known.get("categories_")
        return all(
            _is_whole(self.family, column, None if categories is None else categories[column])
            for column in range(len(self.shift))
        )

    def mixture(self, weights: Floats) -> Any:
        """A fitted mixture of the components, with these weights of the states."""
        family, params, shares = self.family.told_apart(self.params, weights)
        if not family.mixture:
            name = type(family).__name__
            raise TypeError(f"there is no mixture of {name} among unveil's; log_density and sample work all the same")
        made = public("unveil", family.mixture)(len(shares))
        shown = _prepared(made, family, params, len(self.shift))
        for attribute, value in ({"n_features_in_": len(self.shift)} | self.known).items():
            setattr(made, attribute, value)
        made._show(MixtureParams(shares, shown), self.shift)
        return made


def _prepared(made: Any, family: Family, params: Any, n_columns: int) -> Any:
    """The parameters that a mixture shows, covariances in full, once it was told all that it has a word for."""
    settings = made.get_params(deep=False)
    if "covariance_type" in settings:
        made.covariance_type = "full"
    if "handle_unknown" in settings:  # columns of words: codes, unless they are known to hold something else
        levels = [family.n_levels(column) for column in range(n_columns)]
        made.categories_ = [None if count is None else np.arange(float(count)) for count in levels]
        of_column = {column: part.kind for part, columns in family.groups(n_columns) for column in columns}
        made.kinds_ = [of_column[column] for column in range(n_columns)]
    if "families" not in settings:
        return family.marginal(params, np.arange(n_columns))[1]
    made.families = [(part if part.kind == OWN else part.kind, own) for part, own in family.groups(n_columns)]
    return family.in_full(params)[1]


def _is_whole(family: Family, column: int, categories: Any) -> bool:
    """Whether a column holds whole numbers only: counts, or categories that are such."""
    if family.n_levels(column) is None or categories is None:
        return family.is_lattice(column) or family.n_levels(column) is not None
    if categories.dtype.kind not in "iuf":
        return False
    return bool(np.all((categories == np.floor(categories)) & (np.abs(categories) < LARGEST_COUNT)))
