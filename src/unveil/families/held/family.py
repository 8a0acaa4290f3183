"""A family of which some parameters are held where they are, or tied to each other.

Everything but the M step is that of the family within. What is free, and how the M step goes with the rest in place, is
said by a rule: one small class for each kind of family. An M step under a rule raises the expected log-likelihood as
far as the rule allows, or, where there is no formula for that, takes turns between blocks of parameters each of which
has one (ECM; Meng and Rubin, Maximum likelihood estimation via the ECM algorithm, 1993): the bound never falls.

Gradients follow the coordinates of the family within along a linear map, vector = origin + A (free vector): fixed
entries do not move, and tied ones move together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unveil.core.arrays import Floats
from unveil.families.base import Family
from unveil.families.coordinates import Coordinates
from unveil.families.wrapped import NATURE, Wrapped


class HoldingRule(ABC):
    """What is held and tied among the parameters of one kind of family, and the M step with that."""

    @abstractmethod
    def check(self, family: Any, n_components: int, n_columns: int) -> None:
        """Raise a ValueError where the masks do not fit the family."""

    @abstractmethod
    def maximise(self, family: Any, moments: Floats, params: Any) -> Any:
        """The M step; what is held stays as in `params`."""

    @abstractmethod
    def settled(self, family: Any, params: Any, start: Any) -> Any:
        """`params` with what is held as in `start`, and what is tied made equal."""

    @abstractmethod
    def n_parameters(self, family: Any, n_components: int, n_columns: int) -> int:
        """How many are free."""

    @abstractmethod
    def directions(self, family: Any, params: Any, chart: Any) -> csr_array:
        """Where the coordinates within may go: (their number, number of free ones)."""

    @abstractmethod
    def chosen(self, components: NDArray[np.intp]) -> HoldingRule:
        """The rule of some components, in this order."""


@dataclass(frozen=True)
class Held(Wrapped):
    """A family with entries of its parameters fixed, or tied to each other.

    Parameters
    ----------
    family : Family
        The family within. Its parameters are those of this one.
    rule : Rule
        What is held and tied, such as a `GaussianRule`; `hold` finds the right one.
    at : object, optional
        Parameters of the family, in the coordinates of the rows, from which a start takes what is held. By default that
        stays where the start happens to put it.
    frame : array (n_columns,), optional
        What is taken off the rows before the family sees them, see `in_frame`; nothing by default.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.families.held.family import hold
    >>> from unveil.families.poisson import Poisson, PoissonParams
    >>> family = hold(Poisson(), rates=np.array([[True], [False]]))
    >>> moments = np.array([[10.0, 25.0], [4.0, 2.0]])  # weight, and sum of the counts, of two components
    >>> family.maximise(moments, PoissonParams(np.array([[3.0], [3.0]]))).rates.ravel()
    array([3. , 0.5])
    >>> family.n_parameters(n_components=2, n_columns=1)
    1
    """

    family: Family
    rule: HoldingRule
    at: Any = None
    frame: Any = None
    ordered = True

    def __post_init__(self) -> None:
        for name in NATURE:
            object.__setattr__(self, name, getattr(self.family, name))

    def maximise(self, moments: Floats, params: Any) -> Any:
        """The rule's own."""
        return self.rule.maximise(self.family, moments, params)

    def first(self, moments: Floats) -> Any:
        """A start of the family within, with what is held put in place, and an M step from there."""
        return self.maximise(moments, self.settled(self.family.first(moments)))

    def settled(self, params: Any) -> Any:
        """Parameters that obey the rule: what is held as in `at`, where that is given, and ties made equal."""
        return self.rule.settled(self.family, params, params if self.at is None else self._place())

    def in_frame(self, shift: Floats) -> Held:
        """The same in a frame; `at` stays as it was given, so that without the frame it is there to the last bit."""
        frame = shift if self.frame is None else self.frame + shift
        return replace(self, family=self.family.in_frame(shift), frame=frame)

    def mildly(self, gauge: Floats, strength: float) -> Held:
        """The prior is the family's; what is held stays."""
        return replace(self, family=self.family.mildly(gauge, strength))

    def _place(self) -> Any:
        """`at` as the family sees it."""
        if self.frame is None or not np.any(self.frame):
            return self.at
        return self.family.located(self.at, -self.frame)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """What is free."""
        self.rule.check(self.family, n_components, n_columns)
        return self.rule.n_parameters(self.family, n_components, n_columns)

    def chosen(self, components: NDArray[np.intp]) -> Held:
        """The family that goes with parameters `taken` in another order."""
        at = None if self.at is None else self.family.taken(self.at, components)
        return replace(self, rule=self.rule.chosen(components), at=at)

    def coordinates(self, params: Any) -> HeldCoordinates:
        """Those of the family within, along what is free."""
        return HeldCoordinates(self, params)


class HeldCoordinates(Coordinates):
    """Coordinates within, at origin + A (free vector)."""

    def __init__(self, held: Held, params: Any) -> None:
        self.held, self.start = held, params
        self.chart: Coordinates = held.family.coordinates(params)
        self.map = held.rule.directions(held.family, params, self.chart)
        self.origin = np.zeros(self.map.shape[1])

    def params(self, vector: Floats) -> Any:
        """Those within; what is held keeps its last bit, and ties are exact."""
        found = self.chart.params(self._inner(vector))
        return self.held.rule.settled(self.held.family, found, self.start)

    def gradient(self, moments: Floats, vector: Floats) -> Floats:
        """A' times that within."""
        return np.asarray(self.map.T @ self.chart.gradient(moments, self._inner(vector)))

    def information(self, counts: Floats) -> Floats:
        """The diagonal of A' I A."""
        return np.asarray((self.map * self.map).T @ self.chart.information(counts))

    def _inner(self, vector: Floats) -> Floats:
        return np.asarray(self.chart.origin + self.map @ vector)


def hold(family: Family, at: Any = None, **masks: Any) -> Held:
    """A family with some of its parameters held or tied.

    Parameters
    ----------
    family : Family
        Gaussian, Student, Poisson, Exponential, Bernoulli, Categorical, Product or Compound.
    at : object, optional
        Parameters from which a start takes what is held, in the coordinates of the rows.
    **masks : arrays
        What the family's rule takes: `means tied_means covariances tied_covariances` of a Gaussian, `means tied_means
        scales dofs` of a Student, `rates tied_rates` of Poisson and exponential columns, `probabilities
        tied_probabilities` of Bernoulli and categorical ones, `parts` of a product (a dict of these for each of its
        groups, or None), and `weights tied_weights parts` of a compound.
    """
    from unveil.families.held.rules import rule_for

    return Held(family, rule_for(family, masks), at)
