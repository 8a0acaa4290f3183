"""Covariances that stay, or that groups of components share.

With N_k rows in component k (and those that a prior stands for), and their scatter S_k about its own mean, the best
covariance of a group is the pooled one, sum_k N_k S_k / sum_k N_k: what "tied" does for all components, for some.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats, Labels, Mask
from unveil.families.covariance.orbits import LETTERS
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.entries import flags, renumbered
from unveil.families.kernels.matrices import FloorShares

WEIGHT_OF_NO_ROWS = 1e-200  # weight of a component without rows that only a prior tells of


@dataclass(frozen=True)
class Sharing:
    """Components (k,) whose covariances stay (True), and labels (k,) of those that share one (-1: with no other)."""

    held: Any = None
    tied: Any = None

    @property
    def any_tied(self) -> bool:
        """Whether some are tied."""
        return self.tied is not None and bool(np.any(np.asarray(self.tied) >= 0))

    def fixed(self, structure: Structure, n_components: int) -> Mask:
        """Which stay."""
        return fixed_components("covariances", self.held, structure, n_components)

    def groups(self, structure: Structure, n_components: int) -> Labels:
        """The number, 0, 1, ..., of the covariance that each component has; -1 where it stays."""
        fixed, tied = self.fixed(structure, n_components), self._labels(structure, n_components)
        both = np.flatnonzero(fixed & (tied >= 0))
        if len(both):
            raise ValueError(
                f"tied_covariances must be -1 where covariances stay, got {tied[both[0]]} for component {both[0]}"
            )
        keys = np.where(tied >= 0, n_components + tied, np.arange(n_components))
        return renumbered(np.where(fixed, -1, keys))

    def _labels(self, structure: Structure, n_components: int) -> Labels:
        if self.tied is None:
            return np.full(n_components, -1)
        found = np.asarray(self.tied)
        if found.dtype.kind not in "iu" or found.shape != (n_components,):
            got = f"{found.dtype} of shape {found.shape}"
            raise ValueError(f"tied_covariances must be {n_components} integers, -1 where not tied; got {got}")
        if type(structure) not in POOLED and np.any(found >= 0):
            raise ValueError(
                "tied_covariances needs a covariance for each component, which 'full' (VVV), 'diag' (VVI) and "
                f"'spherical' (VII) have; got {LETTERS.get(type(structure), type(structure).__name__)}"
            )
        return np.asarray(found, dtype=np.intp)

    def settled(self, structure: Structure, n_components: int, covariances: Floats, start: Floats) -> Floats:
        """Those that stay as in `start`; tied ones at their mean."""
        groups = self.groups(structure, n_components)
        found = stayed(structure, covariances, start, groups < 0)
        return levelled(groups, found) if self.any_tied else found

    def pooling(self, family: Gaussian, moments: Floats) -> Gaussian:
        """The family with an M step that pools what is tied, of the components that have rows."""
        if not self.any_tied:
            return family
        groups = self.groups(family.structure, len(moments))
        return replace(family, structure=POOLED[type(family.structure)](groups[moments[:, 0] > 0]))

    def woken(self, family: Gaussian, moments: Floats, params: GaussianParams) -> Floats:
        """Moments in which components without rows weigh next to nothing, so that their prior joins their group."""
        asleep = ~(moments[:, 0] > 0)
        if family.prior is None or not self.any_tied or not asleep.any():
            return moments
        offsets = (params.means - params.origins)[asleep]
        second = family.sums.second(offsets[:, :, None] * offsets[:, None, :])
        found = moments.copy()
        found[asleep] = WEIGHT_OF_NO_ROWS * np.concatenate([np.ones((len(offsets), 1)), offsets, second], axis=1)
        return found

    def joined(self, structure: Structure, covariances: Floats, alive: Mask) -> Floats:
        """Components without rows follow those that they are tied to."""
        if not self.any_tied or alive.all():
            return covariances
        groups, found = self.groups(structure, len(alive)), covariances.copy()
        for number in np.flatnonzero(~alive & (groups >= 0)):
            others = np.flatnonzero(alive & (groups == groups[number]))
            if len(others):
                found[number] = covariances[others[0]]
        return found

    def chosen(self, components: NDArray[np.intp]) -> Sharing:
        """Of some components, in this order."""
        return Sharing(picked(self.held, components), picked(self.tied, components))


class Pooling(Structure):
    """A structure whose M step reads the second moments of groups in place of those of components."""

    groups: Labels

    def at_once(self, moments: Floats, origins: Floats, reg_covar: float, shares: FloorShares) -> None:
        """Not for groups: what a structure has in one call goes by components."""

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        """Of what the members of each group have together."""
        pooled = averaged(self.groups, counts, centred)
        return super().estimate(counts, pooled, floor, reg_covar, previous)  # type: ignore[safe-super]


@dataclass(frozen=True)
class PooledFull(Pooling, Full):
    """A matrix per group."""

    groups: Labels


@dataclass(frozen=True)
class PooledDiagonal(Pooling, Diagonal):
    """A variance per group and column."""

    groups: Labels


@dataclass(frozen=True)
class PooledSpherical(Pooling, Spherical):
    """A variance per group."""

    groups: Labels


POOLED: dict[type[Structure], Any] = {Full: PooledFull, Diagonal: PooledDiagonal, Spherical: PooledSpherical}


def averaged(groups: Labels, counts: Floats, values: Floats) -> Floats:
    """Weighted means of `values` (k, ...) over the members of each group, in the place of each."""
    found = values.copy()
    for group in np.unique(groups[groups >= 0]):
        members = groups == group
        if np.count_nonzero(members) > 1:
            found[members] = np.average(values[members], axis=0, weights=counts[members])
    return found


def levelled(groups: Labels, values: Floats) -> Floats:
    """The same with equal weights; what is equal already keeps its last bit."""
    level = averaged(groups, np.ones(len(groups)), values)
    same = [np.all(values[groups == group] == one) for group, one in zip(groups, values, strict=True)]
    return np.where(np.reshape(same, (-1, *[1] * (values.ndim - 1))), values, level)


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
