"""Held and tied means, and held covariances, of Gaussian components.

Covariances stay component by component where each has its own, and all together where a structure makes them share
volume, shape or axes. Means and covariances in `held_means`; the covariances about given means go through the family's
own M step, with moments in which the rows' mean is moved there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unveil.families.base import Floats
from unveil.families.covariance import Structure
from unveil.families.entries import Entries, Mask, flags
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held import Rule
from unveil.families.held_directions import blocks, covariance_directions, mean_directions
from unveil.families.held_means import Pull, alive_groups, located
from unveil.families.orbits import LETTERS


@dataclass(frozen=True)
class GaussianRule(Rule):
    """Entries of the means (k, d) that stay or are tied, and components (k,) whose covariances stay."""

    means: Any = None
    tied_means: Any = None
    covariances: Any = None
    entries: Entries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", Entries("means", self.means, self.tied_means))

    def check(self, family: Gaussian, n_components: int, n_columns: int) -> None:
        """Masks of the shape of the parameters."""
        self.entries.check((n_components, n_columns))
        self._fixed(family, n_components)

    def maximise(self, family: Gaussian, moments: Floats, params: GaussianParams) -> GaussianParams:
        """The best means, or the best of those that the rule allows; then covariances about them."""
        alive, fixed = moments[:, 0] > 0, self._fixed(family, len(moments))
        self.entries.check(params.means.shape)
        if not alive.any():
            return params
        free = family.maximise(moments, params)
        best = replace(free, covariances=stayed(family.structure, free.covariances, params.covariances, fixed))
        if self.entries.any:
            pull = self._pull(family, moments, params, best, fixed)
            start = self.entries.settled(params.means, params.means)
            best = replace(best, **located(pull, start, params.covariances)._asdict())
        return replace(best, floored=0) if fixed.all() else best

    def settled(self, family: Gaussian, params: GaussianParams, start: GaussianParams) -> GaussianParams:
        """Held means and covariances from `start`, tied means at their mean."""
        fixed = self._fixed(family, len(params.means))
        covariances = stayed(family.structure, params.covariances, start.covariances, fixed)
        return replace(params, means=self.entries.settled(params.means, start.means), covariances=covariances)

    def n_parameters(self, family: Gaussian, n_components: int, n_columns: int) -> int:
        """Values of the means, and what the structure leaves free of the covariances that move."""
        values = int(self.entries.groups((n_components, n_columns)).max(initial=-1)) + 1
        moving = int(np.count_nonzero(~self._fixed(family, n_components)))
        return values + (family.structure.n_parameters(moving, n_columns) if moving else 0)

    def directions(self, family: Gaussian, params: GaussianParams, chart: Any) -> csr_array:
        """Steps of the means that keep to the groups; and the covariances that move."""
        fixed, groups = self._fixed(family, len(params.means)), self.entries.groups(params.means.shape)
        return blocks(mean_directions(groups, chart.chart.roots), covariance_directions(chart.chart.orbit, fixed))

    def chosen(self, components: NDArray[np.intp]) -> GaussianRule:
        """Of some components."""
        entries = self.entries.chosen(components)
        return GaussianRule(entries.held, entries.tied, picked(self.covariances, components))

    def _fixed(self, family: Gaussian, n_components: int) -> Mask:
        return fixed_components("covariances", self.covariances, family.structure, n_components)

    def _pull(
        self, family: Gaussian, moments: Floats, params: GaussianParams, best: GaussianParams, fixed: Mask
    ) -> Pull:
        """What rows and prior say; a component without rows is pulled at by the prior alone."""
        counts, structure, prior = moments[:, 0], family.structure, family.prior
        strength, extra, targets = 0.0, 0.0, best.means
        if prior is not None:
            strength, extra = prior.strength, prior.dof + targets.shape[1] + 1.0 + (prior.strength > 0)
            targets = np.where(counts[:, None] > 0, targets, prior.mean)

        def about(means: Floats, covariances: Floats) -> tuple[Floats, int]:
            fresh = about_means(family, moments, params, GaussianParams(means, covariances, means))
            return stayed(structure, fresh.covariances, params.covariances, fixed), fresh.floored

        groups = alive_groups(self.entries.groups(targets.shape), counts)
        still = fixed | ~(counts > 0)
        return Pull(structure, groups, targets, counts + strength, counts + extra, best.covariances, still, about)


def about_means(family: Gaussian, moments: Floats, params: GaussianParams, here: GaussianParams) -> GaussianParams:
    """The M step of covariances about given means: moments about them, in which the rows' mean is there.

    A prior pulls at the mean with its strength s; the family would let the mean give way, and count n s / (n + s).
    """
    means, width = here.means, 1 + here.means.shape[1]
    moved = family.moved(moments, params, here, np.zeros(means.shape[1]))
    moved[:, 1:width] = 0.0
    if family.prior is not None and family.prior.strength > 0:
        strength, away = family.prior.strength, means - family.prior.mean
        short = (strength * strength / (moments[:, 0] + strength))[:, None, None]
        moved[:, width:] += family.sums.second(short * away[:, :, None] * away[:, None, :])
    return family.maximise(moved, here)


def fixed_components(name: str, value: Any, structure: Structure, n_components: int) -> Mask:
    """Which components keep their covariance; all or none where they share something."""
    fixed = flags(name, value, n_components)
    if fixed.any() != fixed.all() and not own_covariances(structure):
        raise ValueError(
            f"{name} must be all True or all False where components share them, as with {type(structure).__name__}; "
            f"got {fixed.tolist()}"
        )
    return fixed


def own_covariances(structure: Structure) -> bool:
    """Whether nothing of a covariance is shared."""
    return "E" not in LETTERS.get(type(structure), "E")


def stayed(structure: Structure, fresh: Floats, before: Floats, fixed: Mask) -> Floats:
    """`fresh` covariances, but `before` where they stay."""
    if not own_covariances(structure):
        return before if fixed.all() else fresh
    return np.where(fixed.reshape(-1, *(1,) * (fresh.ndim - 1)), before, fresh)


def picked(value: Any, components: NDArray[np.intp]) -> Any:
    """Flags of some components; one flag for all stays."""
    found = None if value is None else np.asarray(value)
    return found if found is None or found.ndim == 0 else found[components]
