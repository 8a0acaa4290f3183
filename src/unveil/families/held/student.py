"""Held and tied locations, held scales and held degrees of freedom of Student components.

As for Gaussians whose rows weigh u, see `gaussian`; the degrees of freedom have an M step of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unveil.core.arrays import Floats, Mask
from unveil.families.gaussian import GaussianParams
from unveil.families.held.covariances import Sharing, fixed_components, picked, stayed
from unveil.families.held.directions import blocks, covariance_directions, kept_columns, mean_directions
from unveil.families.held.entries import Entries, flags
from unveil.families.held.family import HoldingRule
from unveil.families.held.gaussian import GaussianRule
from unveil.families.held.means import Pull, alive_groups, located
from unveil.families.student import Student, StudentParams, is_sound


@dataclass(frozen=True)
class StudentRule(HoldingRule):
    """Entries of the means (k, d) that stay or are tied; components (k,) whose scales, or degrees of freedom, stay."""

    means: Any = None
    tied_means: Any = None
    scales: Any = None
    dofs: Any = None
    entries: Entries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", Entries("means", self.means, self.tied_means))

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
            if not is_sound(family.structure.dense(found.covariances, *found.means.shape)):
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
        gaussian = GaussianRule(self.entries.held, self.entries.tied, self.scales)
        moving = int(np.count_nonzero(~self._fixed_dofs(family, n_components)))
        estimated = 0 if family.dof is not None else min(moving, 1) if family.shared_dof else moving
        return gaussian.n_parameters(family.gaussian, n_components, n_columns) + estimated

    def directions(self, family: Student, params: StudentParams, chart: Any) -> csr_array:
        """As for Gaussians; then the degrees of freedom that move."""
        k, hand = len(params.means), chart.hand  # (k, coordinates): which component has which
        means = mean_directions(self.entries.groups(params.means.shape), chart.chart.roots)
        moving = ~np.any((hand > 0) & self._fixed_dofs(family, k)[:, None], axis=0)
        scales = covariance_directions(chart.chart.orbit, Sharing(self.scales).groups(family.structure, k))
        return blocks(means, scales, kept_columns(hand.shape[1], moving))

    def chosen(self, components: NDArray[np.intp]) -> StudentRule:
        """Of some components."""
        entries = self.entries.chosen(components)
        return StudentRule(entries.held, entries.tied, picked(self.scales, components), picked(self.dofs, components))

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
