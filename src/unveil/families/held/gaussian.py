"""Held and tied means and covariances of Gaussian components.

Covariances stay, or are tied, component by component where each has its own, and stay all together where a structure
makes them share volume, shape or axes: `covariances`. Means and covariances together are in `means`; the
covariances about given means go through the family's own M step, with moments in which the rows' mean is moved there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unveil.core.arrays import Floats
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.covariances import Sharing, stayed
from unveil.families.held.directions import blocks, covariance_directions, mean_directions
from unveil.families.held.entries import Entries
from unveil.families.held.family import HoldingRule
from unveil.families.held.means import Pull, alive_groups, located


@dataclass(frozen=True)
class GaussianRule(HoldingRule):
    """Entries of the means (k, d) that stay or are tied, and components (k,) whose covariances stay or are tied."""

    means: Any = None
    tied_means: Any = None
    covariances: Any = None
    tied_covariances: Any = None
    entries: Entries = field(init=False)
    sharing: Sharing = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", Entries("means", self.means, self.tied_means))
        object.__setattr__(self, "sharing", Sharing(self.covariances, self.tied_covariances))

    def check(self, family: Gaussian, n_components: int, n_columns: int) -> None:
        """Masks of the shape of the parameters."""
        self.entries.check((n_components, n_columns))
        self.sharing.groups(family.structure, n_components)

    def maximise(self, family: Gaussian, moments: Floats, params: GaussianParams) -> GaussianParams:
        """The best means, or the best of those that the rule allows; then covariances about them."""
        structure, fixed = family.structure, self.sharing.fixed(family.structure, len(moments))
        self.entries.check(params.means.shape)
        moments = self.sharing.woken(family, moments, params)
        alive = moments[:, 0] > 0
        if not alive.any():
            return params
        free = self.sharing.pooling(family, moments).maximise(moments, params)
        best = replace(free, covariances=stayed(structure, free.covariances, params.covariances, fixed))
        if self.entries.any:
            pull = self._pull(family, moments, params, best)
            start = self.entries.settled(params.means, params.means)
            best = replace(best, **located(pull, start, params.covariances)._asdict())
        best = replace(best, covariances=self.sharing.joined(structure, best.covariances, alive))
        return replace(best, floored=0) if fixed.all() else best

    def settled(self, family: Gaussian, params: GaussianParams, start: GaussianParams) -> GaussianParams:
        """Held means and covariances from `start`, tied ones at their mean."""
        k = len(params.means)
        covariances = self.sharing.settled(family.structure, k, params.covariances, start.covariances)
        return replace(params, means=self.entries.settled(params.means, start.means), covariances=covariances)

    def n_parameters(self, family: Gaussian, n_components: int, n_columns: int) -> int:
        """Values of the means, and what the structure leaves free of the covariances that move."""
        values = int(self.entries.groups((n_components, n_columns)).max(initial=-1)) + 1
        moving = int(self.sharing.groups(family.structure, n_components).max(initial=-1)) + 1
        return values + (family.structure.n_parameters(moving, n_columns) if moving else 0)

    def directions(self, family: Gaussian, params: GaussianParams, chart: Any) -> csr_array:
        """Steps of the means that keep to the groups; and the covariances that move."""
        shared = self.sharing.groups(family.structure, len(params.means))
        means = mean_directions(self.entries.groups(params.means.shape), chart.chart.roots)
        return blocks(means, covariance_directions(chart.chart.orbit, shared))

    def chosen(self, components: NDArray[np.intp]) -> GaussianRule:
        """Of some components."""
        entries, sharing = self.entries.chosen(components), self.sharing.chosen(components)
        return GaussianRule(entries.held, entries.tied, sharing.held, sharing.tied)

    def _pull(self, family: Gaussian, moments: Floats, params: GaussianParams, best: GaussianParams) -> Pull:
        """What rows and prior say; a component without rows is pulled at by the prior alone."""
        counts, structure, prior = moments[:, 0], family.structure, family.prior
        fixed, pooling = self.sharing.fixed(structure, len(moments)), self.sharing.pooling(family, moments)
        strength, extra, targets = 0.0, 0.0, best.means
        if prior is not None:
            strength, extra = prior.strength, prior.dof + targets.shape[1] + 1.0 + (prior.strength > 0)
            targets = np.where(counts[:, None] > 0, targets, prior.mean)

        def about(means: Floats, covariances: Floats) -> tuple[Floats, int]:
            fresh = about_means(pooling, moments, params, GaussianParams(means, covariances, means))
            return stayed(structure, fresh.covariances, params.covariances, fixed), fresh.floored

        groups = alive_groups(self.entries.groups(targets.shape), counts)
        still = fixed | ~(counts > 0)
        pulls = (targets, counts + strength, counts + extra, best.covariances)
        return Pull(structure, groups, *pulls, still, about, self.sharing.any_tied)


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
