"""The chain that an estimator describes: what it says of its emissions, and the model and rules that follow from it.

A model reads the constructor's arguments for what may move and how, and the fitted attributes for where it stands. So
attributes may come from a fit, from a file, or from a user who sets them by hand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unveil.chains.fitted.attributes import check_attributes
from unveil.chains.fitted.chain import FittedChain, kept_chains
from unveil.chains.model.constraints import (
    CHAIN,
    check_names,
    fixed_entries,
    start_rule,
    table_of,
    tied_entries,
    transition_rule,
)
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.core.arrays import Floats
from unveil.families.base import Family

Tables = Mapping[str, Any]


class Modelled(ABC):
    """Mixin of the estimators that describe a chain."""

    n_components: int
    transitions: Any
    fixed: Any
    tied: Any
    startprob_prior: Any
    transmat_prior: Any
    warm_start: bool
    n_features_in_: int
    startprob_: Any
    transmat_: Any

    _emissions: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters of the emissions, as `fixed` and `tied` know them."""
    _shown: ClassVar[tuple[str, ...]] = ()
    """Attributes that the emissions are shown by: with these set, by a fit or by hand, the model is ready for use."""

    # -- what a model says of its emissions ----------------------------------------------------------------------------

    @abstractmethod
    def _bare_family(self, shift: Floats | None = None) -> Family:
        """The family of the emissions, in the coordinates of the data or in a frame."""

    @abstractmethod
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the parameters of the emissions, by name."""

    def _kept(self, name: str, shape: tuple[int, ...]) -> Any:
        """Which entries of a parameter of the emissions stay where they are; None where none does."""
        return fixed_entries(self.fixed, name, shape)

    def _tied_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the labels that tie them."""
        return self._shapes()

    @abstractmethod
    def _held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        """`family` with some of its parameters fixed or tied, by name."""

    @abstractmethod
    def _given(self, shift: Floats) -> Tables:
        """What the user gave as a start of the emissions, by name, checked and in the frame; None for what is not."""

    @abstractmethod
    def _placed(self, emissions: Any, given: Tables) -> Any:
        """`emissions` with what is given in place; they may be None where all is given."""

    @abstractmethod
    def _show(self, emissions: Any, shift: Floats) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _recall(self, shift: Floats) -> Any:
        """Emissions in the frame, from the fitted attributes."""

    @abstractmethod
    def _shift(self) -> Floats:
        """A frame that suits the fitted attributes."""

    @abstractmethod
    def _suits(self, emissions: Any) -> bool:
        """Whether `emissions` belong to a model as it is asked for now."""

    def _settle(self) -> None:
        """Set what a fit knows of the columns where attributes were set by hand."""
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = len(self._shift())

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in ("startprob_", "transmat_", *self._shown))

    # -- the model -----------------------------------------------------------------------------------------------------

    def _check_rules(self) -> None:
        """Refuse masks that cannot be, and parameters that are to stay where nobody put them."""
        known = (*CHAIN, *self._emissions)
        check_names("fixed", self.fixed, known)
        check_names("tied", self.tied, known)
        stands = self.warm_start and self.__sklearn_is_fitted__() and len(self.startprob_) == self.n_components
        for name in () if stands else self.fixed or ():
            given = self.fixed[name]
            if getattr(self, f"{name}_init", None) is None and given is not None and np.any(given):
                raise ValueError(f"fixed names {name!r}, which needs {name}_init: the values at which it stays")

    def _family(self, shift: Floats | None = None) -> Family:
        """The family, with what is fixed or tied of it."""
        shapes, labels = self._shapes(), self._tied_shapes()
        kept = {name: self._kept(name, shapes[name]) for name in self._emissions}
        ties = {name: tied_entries(self.tied, name, labels[name]) for name in self._emissions}
        fixed = {name: mask for name, mask in kept.items() if mask is not None}
        tied = {name: one for name, one in ties.items() if one is not None}
        for name, one in tied.items():
            if name in fixed and np.shape(fixed[name]) == one.shape and np.any(fixed[name] & (one >= 0)):
                raise ValueError(f"tied[{name!r}] must be -1 where fixed[{name!r}] is True")
        bare = self._bare_family(shift)
        return self._held(bare, fixed, tied) if fixed or tied else bare

    def _model(self, shift: Floats) -> HiddenMarkov:
        rules = (self.n_components, self.transitions, self.fixed, self.tied)
        return HiddenMarkov(
            self._family(shift),
            self.n_components,
            shift,
            start_rule(*rules, self.startprob_prior),
            transition_rule(*rules, self.transmat_prior),
        )

    def _fitted(self) -> tuple[HiddenMarkov, MarkovParams]:
        """The model that the attributes describe, and its parameters."""
        self._settle()
        shift, k = self._shift(), len(self.startprob_)
        start = table_of("startprob_", self.startprob_, (k,))
        transition = table_of("transmat_", self.transmat_, (k, k))
        plain = k != self.n_components  # masks are those of another model
        model = HiddenMarkov(self._bare_family(shift), k, shift) if plain else self._model(shift)
        return model, MarkovParams(start, transition, self._recall(shift))

    def _rows_out(self, rows: Floats) -> Any:
        """Rows as the user knows them."""
        return rows

    def _chain(self) -> FittedChain:
        """What the attributes describe, made ready."""
        check_is_fitted(self)
        return CHAINS(self)

    def _suits_chain(self, params: MarkovParams) -> bool:
        """Whether `params` belong to a model as it is asked for now."""
        return len(params.start) == self.n_components and self._suits(params.emissions)


def _described(estimator: Modelled) -> FittedChain:
    """The chain of an estimator whose attributes were set by a fit, or by hand."""
    check_attributes(estimator)
    model, params = estimator._fitted()
    return FittedChain.of(estimator, model, params, copy(estimator)._rows_out)


CHAINS = kept_chains(_described)
