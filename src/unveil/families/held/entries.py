"""Which entries of a table of parameters are held where they are, and which share one value.

Entries are (components, columns). A free entry is a group of its own; tied ones of a column are one group. Numbers of
different columns have nothing to do with each other: a column may be in other units, and in another frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from unveil.core.arrays import Floats, Labels, Mask


@dataclass(frozen=True)
class Entries:
    """Entries held (True where they stay) and tied (the same number of 0 or more within a column; -1 is not tied).

    `name` is what errors call them.
    """

    name: str
    held: Any = None
    tied: Any = None

    def __post_init__(self) -> None:
        for which, value in (("held", self.held), ("tied", self.tied)):
            if value is not None:
                object.__setattr__(self, which, _table(getattr(self, f"_{which}_name"), value, which == "held"))
        if self.held is None or self.tied is None:
            return
        if self.held.shape != self.tied.shape:
            raise ValueError(
                f"{self.name} and {self._tied_name} must have the same shape, got {self.held.shape} and "
                f"{self.tied.shape}"
            )
        both = np.argwhere(self.held & (self.tied >= 0))
        if len(both):
            raise ValueError(
                f"{self._tied_name} must be -1 where {self.name} stay, got {self.tied[tuple(both[0])]} at "
                f"{tuple(both[0].tolist())}"
            )

    @property
    def _held_name(self) -> str:
        return self.name

    @property
    def _tied_name(self) -> str:
        return f"tied_{self.name}"

    @property
    def any(self) -> bool:
        """Whether anything is held or tied."""
        return bool((self.held is not None and self.held.any()) or (self.tied is not None and (self.tied >= 0).any()))

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise a ValueError where masks are not of the shape of the parameters."""
        for name, value in ((self._held_name, self.held), (self._tied_name, self.tied)):
            if value is not None and value.shape != shape:
                raise ValueError(f"{name} must be of the shape of the parameters, {shape}; got {value.shape}")

    def groups(self, shape: tuple[int, int], owners: Labels | None = None) -> Labels:
        """The group of each entry, 0, 1, ...; -1 where it is held. `owners` say which column an entry belongs to."""
        self.check(shape)
        columns = np.arange(shape[1]) if owners is None else owners
        tied = np.full(shape, -1) if self.tied is None else self.tied
        own = np.arange(tied.size).reshape(shape)
        keys = np.where(tied >= 0, tied.size + tied * (columns.max() + 1) + columns, own)
        if self.held is not None:
            keys = np.where(self.held, -1, keys)
        return renumbered(keys)

    def settled(self, values: Floats, start: Floats, owners: Labels | None = None) -> Floats:
        """`values` with held entries as in `start`, and tied ones at their mean."""
        self.check(values.shape)
        if self.tied is not None:
            groups = self.groups((values.shape[0], values.shape[1]), owners)
            values = np.where(self.tied >= 0, pooled(groups, values) / pooled(groups, np.ones(values.shape)), values)
        return values if self.held is None else np.where(self.held, start, values)

    def chosen(self, components: NDArray[np.intp]) -> Entries:
        """Of some components, in this order."""
        picked = (None if value is None else value[components] for value in (self.held, self.tied))
        return Entries(self.name, *picked)


def renumbered(keys: Labels) -> Labels:
    """Keys as 0, 1, ... in order of size; those below 0 stay -1."""
    found = np.unique(keys[keys >= 0])
    return np.where(keys >= 0, np.searchsorted(found, keys), -1)


def pooled(groups: Labels, values: Floats) -> Floats:
    """Sums over the group of each entry, in the place of each; what is in no group keeps its value."""
    free = groups >= 0
    sums = np.bincount(groups[free], weights=values[free], minlength=1)
    return np.where(free, sums[groups], values)


def clusters(groups: Labels) -> list[NDArray[np.intp]]:
    """Rows of a table (rows, entries) that are bound together by groups in common."""
    rows, places = np.nonzero(groups >= 0)
    if len(rows) == groups.max(initial=-1) + 1:  # no ties, no need for a graph
        return list(np.arange(len(groups))[:, None])
    numbers = groups[rows, places]
    shape = (len(groups), int(groups.max(initial=0)) + 1)
    belongs = csr_array((np.ones(len(rows)), (rows, numbers)), shape=shape)
    count, which = connected_components(belongs @ belongs.T, directed=False)
    return [np.flatnonzero(which == number) for number in range(count)]


def spread_out(groups: Labels) -> csr_array:
    """A matrix (entries, groups) of ones that gives each entry the value of its group."""
    places = np.flatnonzero(groups.ravel() >= 0)
    numbers = groups.ravel()[places]
    size = (groups.size, int(groups.max(initial=-1)) + 1)
    return csr_array((np.ones(len(places)), (places, numbers)), shape=size)


def flags(name: str, value: Any, count: int) -> Mask:
    """One flag for each of `count` things, or one for all of them."""
    found = np.zeros(count, dtype=np.bool_) if value is None else np.asarray(value)
    if found.dtype != np.bool_ or found.shape not in ((), (count,)):
        raise ValueError(f"{name} must be a boolean, or {count} of them; got {value!r}")
    return np.broadcast_to(found, (count,))


def _table(name: str, value: Any, boolean: bool) -> NDArray[Any]:
    """A mask, or a table of numbers, as an array of its own type."""
    found = np.asarray(value)
    kind = "b" if boolean else "iu"
    taken = "booleans: True where an entry stays" if boolean else "integers: -1 where an entry is not tied"
    if found.dtype.kind not in kind or found.ndim != 2:
        raise ValueError(f"{name} must be a table of {taken}; got {found.dtype} of shape {found.shape}")
    return found if boolean else np.asarray(found, dtype=np.intp)
