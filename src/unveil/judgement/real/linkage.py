"""Which components are one cluster: those with no valley between them, and what hangs together through these.

Components are taken from the densest on. One that is linked to nothing before it (there is a valley towards each)
begins a cluster; one that is linked to some joins them. What lies low between two clusters, such as a thin background
under all of them, is linked to both but does not make them one: it goes to that with which it has most in common.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.judgement.real.valley import Valley

APART = 0.06  # the chance of a valley by luck below which two components are apart
LOW = 1.0 / 3.0  # of the lower of two peaks: what is no higher than this lies between them, and does not join them

Links = Mapping[tuple[int, int], Valley]  # by pairs of components, the lower number first


def chance_between(links: Links, one: int, other: int) -> float:
    """Chance of the valley between two components by luck; 1 where none was looked for."""
    valley = links.get((min(one, other), max(one, other)))
    return 1.0 if valley is None else valley.chance


def linked(links: Links, peaks: Floats, members: NDArray[np.intp], apart: float = APART) -> list[list[int]]:
    """Groups of `members`, components that are linked; `peaks` are the densities at their modes.

    >>> far, near = Valley(0.0, 1e-9), Valley(0.9, 0.8)
    >>> linked({(0, 1): far, (0, 2): near, (1, 2): far}, np.array([3.0, 2.0, 1.0]), np.arange(3))
    [[1], [2, 0]]
    >>> linked({(0, 1): far, (0, 2): near, (1, 2): near}, np.array([3.0, 2.0, 0.1]), np.arange(3))
    [[1], [2, 0]]
    >>> linked({(0, 1): far, (0, 2): near, (1, 2): near}, np.array([3.0, 2.0, 1.5]), np.arange(3))
    [[2, 0, 1]]
    """
    groups: list[list[int]] = []
    for new in sorted((int(member) for member in members), key=lambda member: -peaks[member]):
        chances = [max(chance_between(links, new, member) for member in group) for group in groups]
        near = [place for place, chance in enumerate(chances) if chance > apart]
        nearest = max(near, key=lambda place: chances[place], default=-1)
        tops = [max(peaks[member] for member in group) for group in groups]
        joined = [place for place in near if place == nearest or peaks[new] >= LOW * min(tops[place], tops[nearest])]
        whole = [new, *(member for place in joined for member in groups[place])]
        groups = [*(group for place, group in enumerate(groups) if place not in joined), whole]
    return groups
