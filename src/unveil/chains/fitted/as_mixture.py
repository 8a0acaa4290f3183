"""The states of a hidden Markov model as the components of one of unveil's mixtures, weighted anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.estimation.registry import ESTIMATORS, FAMILIES, lookup
from unveil.families.base import Family
from unveil.families.categorical import Categorical
from unveil.families.product import Product, ProductParams
from unveil.mixtures.model.model import MixtureParams

OWN = "own"  # what a mixture takes the columns of a family of the user's own for


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
        name = type(family).__name__
        if name not in MAKERS:
            raise TypeError(f"there is no mixture of {name} among unveil's; log_density and sample work all the same")
        made, shown = MAKERS[name](family, params, len(shares))
        for attribute, value in ({"n_features_in_": len(self.shift)} | self.known).items():
            setattr(made, attribute, value)
        made._show(MixtureParams(shares, shown), self.shift)
        return made


def _is_whole(family: Family, column: int, categories: Any) -> bool:
    """Whether a column holds whole numbers only: counts, or categories that are such."""
    if family.n_levels(column) is None or categories is None:
        return family.is_lattice(column) or family.n_levels(column) is not None
    return categories.dtype.kind in "iuf" and bool(np.all(categories == np.floor(categories)))


def _plain(name: str, family: Family, params: Any, count: int) -> tuple[Any, Any]:
    """A mixture whose family has nothing to say but its parameters."""
    return lookup(ESTIMATORS[name])(count), params


def _elliptical(name: str, family: Any, params: Any, count: int) -> tuple[Any, Any]:
    """A mixture with covariances, which are written out in full."""
    made = lookup(ESTIMATORS[name])(count, covariance_type="full")
    return made, family.marginal(params, np.arange(params.means.shape[1]))[1]


def _categorical(family: Categorical, params: Any, count: int) -> tuple[Any, Any]:
    """A mixture of codes, unless the columns are known to hold something else."""
    made, shown = _plain("CategoricalMixture", family, params, count)
    made.kinds_ = ["category"] * len(family.levels)
    made.categories_ = [np.arange(float(levels)) for levels in family.levels]
    return made, shown


def _mixed(family: Product, params: ProductParams, count: int) -> tuple[Any, Any]:
    """A mixture of columns of different kinds."""
    words = {path.split(":")[1]: word for word, path in FAMILIES.items()}
    groups = [(words.get(type(part).__name__, part), columns) for part, columns in family.parts]
    made = lookup(ESTIMATORS["MixedMixture"])(count, families=groups, covariance_type="full")
    made.kinds_, made.categories_ = [OWN] * family.n_columns, [None] * family.n_columns
    for (word, columns), (part, _) in zip(groups, family.parts, strict=True):
        for place, column in enumerate(columns):
            made.kinds_[column] = word if isinstance(word, str) else OWN
            levels = part.n_levels(place)
            made.categories_[column] = None if levels is None else np.arange(float(levels))
    parts = zip(family.parts, params.parts, strict=True)
    return made, ProductParams(tuple(part.in_full(own)[1] for (part, _), own in parts))


MAKERS: dict[str, Callable[[Any, Any, int], tuple[Any, Any]]] = {
    "Gaussian": partial(_elliptical, "GaussianMixture"),
    "Student": partial(_elliptical, "StudentMixture"),
    "Poisson": partial(_plain, "PoissonMixture"),
    "Bernoulli": partial(_plain, "BernoulliMixture"),
    "Categorical": _categorical,
    "Product": _mixed,
}
"""By the name of a family, what makes a mixture of it and the parameters that it shows."""
