"""What an emission is: for each family, the attributes that a user sees and the parameters of the model.

Mixtures and chains share it: the rows of a component, and the steps in a state, are emitted in the same way. So a face
is a constructor, a docstring and an emission.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.declared import Declaration, Extent
from unveil.core.protocols import Source
from unveil.estimation.input import RowsIn
from unveil.estimation.masks import fixed_entries, tied_entries
from unveil.families.base import Family

Tables = Mapping[str, Any]
Attributes = Mapping[str, Any]  # of a fitted estimator, by name


class Emission(ABC):
    """What each of `n_components` emits, as the arguments of a constructor describe it. Frozen.

    Parameters of the family lie in a *frame*: `shift` is taken off the rows. Attributes are in the coordinates of the
    data.
    """

    n_components: int
    rows: RowsIn  # what may be handed in

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters that may be given, fixed or tied."""
        return ()

    @property
    @abstractmethod
    def shown(self) -> tuple[str, ...]:
        """Attributes that it is shown by: with these set, by a fit or by hand, a model is ready for use."""

    @property
    def former(self) -> tuple[str, ...]:
        """Attributes that a fit with other arguments may have left on a chain, and that are to go."""
        return ()

    @abstractmethod
    def family(self, shift: Floats | None = None) -> Family:
        """The family, in the coordinates of the data or in a frame."""

    # -- attributes ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def attributes(self, components: Any, shift: Floats) -> dict[str, Any]:
        """Attributes that show parameters of the family in a frame."""

    @abstractmethod
    def components(self, attributes: Attributes, shift: Floats) -> Any:
        """Parameters of the family in a frame, from the attributes."""

    @abstractmethod
    def origin(self, attributes: Attributes, shares: Floats | None = None) -> Floats:
        """A frame that suits the attributes; the middle, weighed by the `shares` of the components."""

    @abstractmethod
    def suits(self, components: Any) -> bool:
        """Whether parameters belong to an emission as it is asked for now."""

    def declared_of_columns(self, n_columns: Extent) -> Declaration:
        """What it knows of the columns besides, as a file must have it."""
        return ()

    def declared(self, n_components: int, n_columns: int) -> Declaration:
        """The attributes that it is shown by, as a file must have them; those of the columns have been checked."""
        raise TypeError(f"{type(self).__name__} is not stored")

    # -- what is learnt of the data, or said of the end ----------------------------------------------------------------

    def learn(self, source: Source) -> dict[str, Any]:
        """Attributes that the family needs to know of the data before a fit; None where one is to be forgotten."""
        return {}

    def settle(self, attributes: Attributes) -> dict[str, Any]:
        """What a fit knows of the columns and a user who sets attributes by hand does not say."""
        return {}

    def excuse(self, components: Any) -> str | None:
        """Why a fit may end away from a stationary point, if there is a reason."""
        return None

    def check_storable(self) -> None:  # noqa: B027  most can be stored
        """Raise a TypeError where a model file could not hold it."""

    # -- given, fixed, tied --------------------------------------------------------------------------------------------

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the parameters, by name."""
        return {}

    def tied_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the labels that tie them."""
        return self.shapes()

    def check(self, tied: Any) -> None:  # noqa: B027  most go together
        """Refuse arguments that do not go together."""

    def fixed(self, fixed: Any, tied: Any, name: str, shape: tuple[int, ...]) -> Any:
        """Which entries of a parameter stay where they are; None where none does."""
        return fixed_entries(fixed, name, shape)

    def as_shown(self, name: str, value: Any) -> Floats:
        """A parameter that was given, or is an attribute, in the shape of its mask."""
        return np.asarray(value, dtype=np.float64)

    def as_attribute(self, name: str, table: Floats) -> Any:
        """An attribute, from such a table."""
        return table

    def held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        """`family` with some of its parameters fixed or tied, by name."""
        return family

    def held_family(self, shift: Floats | None, fixed: Any, tied: Any) -> Family:
        """The family with what the user says is fixed or tied of it."""
        shapes, labels = self.shapes(), self.tied_shapes()
        masks = {name: self.fixed(fixed, tied, name, shapes[name]) for name in self.names}
        ties = {name: tied_entries(tied, name, labels[name]) for name in self.names}
        masks = {name: mask for name, mask in masks.items() if mask is not None}
        tags = {name: one for name, one in ties.items() if one is not None}
        for name, one in tags.items():
            if name in masks and np.shape(masks[name]) == one.shape and np.any(masks[name] & (one >= 0)):
                raise ValueError(f"tied[{name!r}] must be -1 where fixed[{name!r}] is True")
        bare = self.family(shift)
        return self.held(bare, masks, tags) if masks or tags else bare

    def inits(self) -> Tables:
        """What the user gave as a start, as it came, by name; None for what is not given."""
        return {}

    def given(self, shift: Floats) -> Tables:
        """The same, checked and in the frame."""
        return {}

    def placed(self, components: Any, given: Tables) -> Any:
        """`components` with what is given in place; they may be None where all is given."""
        return components
