"""Held and tied means and covariances of Gaussian components; and locations, scales, degrees of freedom of Student.

Covariances stay, or are tied, component by component where each has its own, and stay all together where a structure
makes them share volume, shape or axes: `covariances`. Means and covariances together are in `means`; the
covariances about given means go through the family's own M step, with moments in which the rows' mean is moved there.
Student components are Gaussians whose rows weigh u; the degrees of freedom have an M step of their own.

A chart of `elliptical` has whitened steps z of the means, m = m0 + L0 z, and coordinates of the covariances around
those at its origin. Steps that keep to groups of entries, m = m0 + B u, are z = L0^-1 B u: a linear map.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, eye_array

from unveil.core.arrays import Floats, Labels, Mask
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.covariances import Sharing, fixed_components, picked, stayed
from unveil.families.held.entries import Entries, flags, renumbered, spread_out
from unveil.families.held.family import HoldingRule
from unveil.families.held.means import Pull, alive_groups, located
from unveil.families.student import Student, StudentParams, is_sound


@dataclass(frozen=True)
class GaussianRule(HoldingRule):
    """Entries of the means (k, d) that stay or are tied, and components (k,) whose covariances stay or are tied."""

    entries: Entries
    sharing: Sharing

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
        return block_diag((means, covariance_directions(chart.chart.orbit, shared)), format="csr")

    def chosen(self, components: NDArray[np.intp]) -> GaussianRule:
        """Of some components."""
        return GaussianRule(self.entries.chosen(components), self.sharing.chosen(components))

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


@dataclass(frozen=True)
class StudentRule(HoldingRule):
    """Entries of the means (k, d) that stay or are tied; components (k,) whose scales, or degrees of freedom, stay."""

    entries: Entries
    scales: Any = None
    dofs: Any = None

    def check(self, family: Student, n_components: int, n_columns: int) -> None:
        """Masks of the shape of the parameters."""
        self.entries.check((n_components, n_columns))
        self._fixed(family, n_components)
        self._fixed_dofs(family, n_components)

    def maximise(self, family: Student, moments: Floats, params: StudentParams) -> StudentParams:
        """As for Gaussians whose rows weigh u; degrees of freedom on their own."""
        alive, fixed = moments[:, 0] > 0, self._fixed(family, len(moments))
        self.entries.check(params.means.shape)
        if not alive.any():
            return params
        free = family.maximise(moments, params)
        dofs = np.where(self._fixed_dofs(family, len(alive)), params.dofs, free.dofs)
        best = replace(free, scales=stayed(family.structure, free.scales, params.scales, fixed), dofs=dofs)
        if self.entries.any:
            pull = self._pull(family, moments, params, best, fixed)
            found = located(pull, self.entries.settled(params.means, params.means), params.scales)
            if not is_sound(family.structure.columns(found.covariances, *found.means.shape)):
                return replace(params, dofs=dofs, floored=len(dofs))  # all but a point: scales go no further down
            best = StudentParams(found.means, found.covariances, dofs, params.origins, found.floored)
        return replace(best, floored=0) if fixed.all() else best

    def settled(self, family: Student, params: StudentParams, start: StudentParams) -> StudentParams:
        """Held entries from `start`, tied means at their mean."""
        scales = stayed(family.structure, params.scales, start.scales, self._fixed(family, len(params.means)))
        dofs = np.where(self._fixed_dofs(family, len(params.dofs)), start.dofs, params.dofs)
        return replace(params, means=self.entries.settled(params.means, start.means), scales=scales, dofs=dofs)

    def n_parameters(self, family: Student, n_components: int, n_columns: int) -> int:
        """Those of Gaussians, and the degrees of freedom that are estimated."""
        gaussian = GaussianRule(self.entries, Sharing(self.scales))
        moving = int(np.count_nonzero(~self._fixed_dofs(family, n_components)))
        estimated = 0 if family.dof is not None else min(moving, 1) if family.shared_dof else moving
        return gaussian.n_parameters(family.gaussian, n_components, n_columns) + estimated

    def directions(self, family: Student, params: StudentParams, chart: Any) -> csr_array:
        """As for Gaussians; then the degrees of freedom that move."""
        k, hand = len(params.means), chart.hand  # (k, coordinates): which component has which
        means = mean_directions(self.entries.groups(params.means.shape), chart.chart.roots)
        moving = ~np.any((hand > 0) & self._fixed_dofs(family, k)[:, None], axis=0)
        scales = covariance_directions(chart.chart.orbit, Sharing(self.scales).groups(family.structure, k))
        dofs = eye_array(hand.shape[1], format="csc")[:, np.flatnonzero(moving)]
        return block_diag((means, scales, dofs), format="csr")

    def chosen(self, components: NDArray[np.intp]) -> StudentRule:
        """Of some components."""
        scales, dofs = picked(self.scales, components), picked(self.dofs, components)
        return StudentRule(self.entries.chosen(components), scales, dofs)

    def _fixed(self, family: Student, n_components: int) -> Mask:
        return fixed_components("scales", self.scales, family.structure, n_components)

    def _fixed_dofs(self, family: Student, n_components: int) -> Mask:
        fixed = flags("dofs", self.dofs, n_components)
        if family.shared_dof and fixed.any() != fixed.all():
            raise ValueError(f"dofs must be all True or all False where components share them; got {fixed.tolist()}")
        return fixed

    def _pull(self, family: Student, moments: Floats, params: StudentParams, best: StudentParams, fixed: Mask) -> Pull:
        """What the rows say."""
        structure = family.structure

        def about(means: Floats, scales: Floats) -> tuple[Floats, int]:
            fresh = about_centres(family, moments, params, GaussianParams(means, scales, means))
            return stayed(structure, fresh.covariances, params.scales, fixed), fresh.floored

        counts, still = moments[:, 0], fixed | ~(moments[:, 0] > 0)
        groups = alive_groups(self.entries.groups(params.means.shape), counts)
        return Pull(structure, groups, best.means, moments[:, 1], counts, best.scales, still, about)


def about_centres(family: Student, moments: Floats, params: StudentParams, here: GaussianParams) -> GaussianParams:
    """The M step of scales about given centres: as of Gaussian rows whose mean is there, and whose squares weigh u."""
    gaussian, n_columns = family.gaussian, here.means.shape[1]
    moved = gaussian.moved(moments[:, 1:-1], params.normal, here, np.zeros(n_columns))
    moved[:, 0] = moments[:, 0]
    moved[:, 1 : 1 + n_columns] = 0.0
    return gaussian.maximise(moved, here)


# -- coordinates -------------------------------------------------------------------------------------------------------


def mean_directions(groups: Labels, roots: Floats) -> csr_array:
    """Whitened steps of means, (k * d, values): as they are where a component is all its own, else those of groups."""
    own = np.all((groups >= 0) & (np.bincount(groups[groups >= 0], minlength=1)[groups] == 1), axis=1)
    inverse = np.where(own[:, None, None], np.eye(groups.shape[1]), np.linalg.inv(roots))
    return csr_array(block_diag(inverse, format="csr") @ spread_out(groups))


def covariance_directions(orbit: Any, groups: Labels) -> csr_array:
    """The coordinates of covariances that move, (all, moving), of groups of components (k,) together; -1 stays."""
    keys = []
    for hand, width in zip((orbit.volumes, orbit.shapes, orbit.turns), orbit.widths, strict=True):
        stays = np.any((hand > 0) & (groups < 0)[:, None], axis=0)
        rows = np.where(stays, -1, groups[np.argmax(hand, axis=0)])
        keys.append(np.where(rows[:, None] < 0, -1, rows[:, None] * width + np.arange(width)).ravel())
    sizes = np.cumsum([0, *(one.max(initial=-1) + 1 for one in keys)])
    numbered = [np.where(one < 0, -1, one + first) for one, first in zip(keys, sizes, strict=False)]
    return spread_out(renumbered(np.concatenate(numbered)))
