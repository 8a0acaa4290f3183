"""Gaussian components, or a mixture of Gaussians in each state: means and covariances of any structure.

Covariances are shown in the shape of their structure. They may be given so, written out as matrices, or as precisions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_array

from unveil.core.arrays import Floats, Mask
from unveil.core.declared import Declaration, Extent, MayLack, by_hand, numbers
from unveil.core.once import cached_property
from unveil.core.protocols import Source
from unveil.estimation.emissions.base import Attributes, Emission, Tables
from unveil.estimation.gaussian_prior import prior_of
from unveil.estimation.input import NUMBERS_WITH_GAPS, RowsIn
from unveil.estimation.masks import floats_of, probabilities
from unveil.estimation.registry import STRUCTURES, lookup
from unveil.families.base import Family
from unveil.families.compound import Compound, CompoundParams
from unveil.families.covariance.structure import Structure
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.covariances import POOLED
from unveil.families.held.family import hold
from unveil.families.priors import NormalInverseWishart

NARROW_VARIANCE = 1e3  # times reg_covar, which disturbs the M step where a variance is not large against it


@final
@dataclass(frozen=True)
class GaussianEmission(Emission):
    """Means and covariances, of `n_mix` Gaussians in each of `n_components`."""

    n_components: int
    n_features: int | None  # None before the columns are known
    covariance_type: str
    reg_covar: float
    prior: NormalInverseWishart | None = None  # as a fit has set it
    priors: tuple[Any, ...] = (None,) * 4  # precision, mean, degrees of freedom, covariance: as the user gave them
    n_mix: int = 1
    weights_init: Any = None  # of the Gaussians within each component
    means_init: Any = None
    covars_init: Any = None
    precisions_init: Any = None
    by_hand: bool = False  # may users set the attributes themselves? Then they are checked
    rows: RowsIn = NUMBERS_WITH_GAPS

    @property
    def names(self) -> tuple[str, ...]:
        """Those of one Gaussian, and the shares of several."""
        return ("means", "covars") if self.n_mix == 1 else ("weights", "means", "covars")

    @property
    def shown(self) -> tuple[str, ...]:
        """Means and covariances."""
        return ("means_", "covariances_")

    @property
    def former(self) -> tuple[str, ...]:
        """Shares within components, where there is but one Gaussian in each."""
        return ("weights_",) if self.n_mix == 1 else ()

    @cached_property
    def structure(self) -> Structure:
        """What covariances share."""
        made: Structure = lookup(STRUCTURES[self.covariance_type])()
        return made

    def family(self, shift: Floats | None = None) -> Family:
        """Gaussians, or mixtures of them."""
        gaussian = Gaussian(self.structure, float(self.reg_covar), self.prior)
        family = gaussian if self.n_mix == 1 else Compound(gaussian, self.n_mix)
        return family if shift is None else family.in_frame(shift)

    def learn(self, source: Source) -> dict[str, Any]:
        """The prior, of which what is not given comes from the data."""
        if all(one is None for one in self.priors):
            return {"prior_": None}
        return {"prior_": prior_of(source, self.n_components * self.n_mix, *self.priors)}

    def excuse(self, components: Any) -> str | None:
        """A regulariser that is not small against a variance."""
        return held_by(self.reg_covar, self.family(), components)

    def declared_of_columns(self, n_columns: Extent) -> Declaration:
        """The prior."""
        yield "prior_", MayLack(NormalInverseWishart.declared(n_columns))

    def declared(self, n_components: int, n_columns: int) -> Declaration:
        """Means and covariances; where users may set them, the shapes are checked by whoever uses them."""
        if self.by_hand:
            yield from ((name, by_hand()) for name in self.shown)
            yield "weights_", by_hand() if self.n_mix > 1 else MayLack(by_hand())
            return
        yield "means_", numbers(n_components, n_columns)
        yield "covariances_", self.structure.declared(n_components, n_columns)

    # -- attributes ----------------------------------------------------------------------------------------------------

    def attributes(self, components: Any, shift: Floats) -> dict[str, Any]:
        """Means and covariances by component, and by Gaussian within it."""
        if self.n_mix == 1:
            return {"means_": components.means + shift, "covariances_": components.covariances}
        parts, leading = components.parts, components.weights.shape
        means = (parts.means + shift).reshape(*leading, -1)
        covariances = self.shaped_by_state(parts.covariances, leading)
        return {"weights_": components.weights, "means_": means, "covariances_": covariances}

    def shaped_by_state(self, covariances: Floats, leading: tuple[int, ...]) -> Floats:
        """Covariances of all Gaussians in a row, by component where each has its own."""
        if len(leading) == 1 or not self._has_one_each():
            return covariances
        return covariances.reshape(*leading, *covariances.shape[1:])

    def components(self, attributes: Attributes, shift: Floats) -> Any:
        """Gaussians of all components in a row."""
        shown = np.asarray(attributes["means_"], dtype=np.float64)
        means = shown.reshape(-1, shown.shape[-1]) - shift
        covariances = np.asarray(attributes["covariances_"], dtype=np.float64)
        if self.by_hand:
            covariances = self.structured("covars_", covariances, *means.shape)
        parts = GaussianParams(means, covariances, np.zeros_like(means))
        if self.n_mix == 1:
            return parts
        return CompoundParams(np.asarray(attributes["weights_"], dtype=np.float64), parts)

    def origin(self, attributes: Attributes, shares: Floats | None = None) -> Floats:
        """The mean of the means."""
        means = np.asarray(attributes["means_"], dtype=np.float64)
        found: Floats = (
            means.reshape(-1, means.shape[-1]).mean(axis=0)
            if shares is None
            else np.average(means, axis=0, weights=shares)
        )
        return found

    def suits(self, components: Any) -> bool:
        """Whether there are as many Gaussians of as many columns, of the same structure."""
        if isinstance(components, CompoundParams) != (self.n_mix > 1):
            return False
        if self.n_mix > 1 and components.weights.shape != self._leading():
            return False
        parts = components.parts if self.n_mix > 1 else components
        wanted = (self.n_components * self.n_mix, self._width())
        shape = self.structure.shape(*wanted)
        return bool((parts.means.shape, parts.covariances.shape) == (wanted, shape))

    def as_shown(self, name: str, value: Any) -> Floats:
        """Covariances in the shape of their structure."""
        if name != "covars":
            return super().as_shown(name, value)
        covariances = self.structured(name, value, self.n_components * self.n_mix, self._width())
        return self.shaped_by_state(covariances, self._leading())

    # -- given, fixed, tied --------------------------------------------------------------------------------------------

    def _leading(self) -> tuple[int, ...]:
        """Shape of what there is one of for each Gaussian."""
        return (self.n_components,) if self.n_mix == 1 else (self.n_components, self.n_mix)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes in which parameters are given."""
        leading, d = self._leading(), self._width()
        covars = self.structure.shape(self.n_components * self.n_mix, d)
        if self.n_mix > 1 and self._has_one_each():
            covars = (*leading, *covars[1:])
        return {"weights": leading, "means": (*leading, d), "covars": covars}

    def tied_shapes(self) -> dict[str, tuple[int, ...]]:
        """A covariance is tied as a whole."""
        return self.shapes() | {"covars": self._leading()}

    def _width(self) -> int:
        assert self.n_features is not None
        return self.n_features

    def _has_one_each(self) -> bool:
        """Whether the structure keeps a covariance for each component."""
        return self.structure.shape(7, 3)[0] == 7

    def check(self, tied: Any) -> None:
        """Refuse shares of a single Gaussian, and ties of what a structure shares already."""
        if self.n_mix == 1 and self.weights_init is not None:
            raise ValueError("weights_init is for states of several Gaussians: n_mix must be above 1, got 1")
        if tied and tied.get("covars") is not None and type(self.structure) not in POOLED:
            taken = "'full', 'diag' or 'spherical', which have a covariance for each state to tie"
            raise ValueError(
                f"tied names 'covars', which needs a covariance_type of {taken}; {self.covariance_type!r} "
                "says by itself what covariances share"
            )

    def held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        """Masks in the shapes that the family knows: Gaussians of all components in a row."""
        masks: dict[str, Any] = {}
        if "means" in fixed:
            masks["means"] = fixed["means"].reshape(-1, self._width())
        if "means" in tied:
            masks["tied_means"] = tied["means"].reshape(-1, self._width())
        if "covars" in fixed:
            masks["covariances"] = self._fixed_covariances(fixed["covars"])
        if "covars" in tied:
            masks["tied_covariances"] = tied["covars"].ravel()
            if "covars" in fixed and np.any(masks["covariances"] & (masks["tied_covariances"] >= 0)):
                raise ValueError("tied['covars'] must be -1 where fixed['covars'] is True")
        if self.n_mix == 1:
            return hold(family, **masks)
        return hold(family, parts=masks, weights=fixed.get("weights"), tied_weights=tied.get("weights"))

    def _fixed_covariances(self, mask: Mask) -> Mask:
        """Which Gaussians keep their covariance: it stays as a whole, or moves as a whole."""
        count = self.n_components * self.n_mix
        table = mask.reshape(count if self._has_one_each() else 1, -1)
        if not np.all(table == table[:, :1]):
            raise ValueError("fixed['covars'] must fix the whole covariance of a state, or nothing of it")
        return np.broadcast_to(table[:, 0], count).copy()

    def inits(self) -> Tables:
        """Arguments as they came."""
        covars = self.covars_init if self.precisions_init is None else self.precisions_init
        given = {"weights": self.weights_init, "means": self.means_init, "covars": covars}
        return {name: given[name] for name in self.names}

    def given(self, shift: Floats) -> Tables:
        """Means in the frame, covariances in their structure."""
        shapes, d = self.shapes(), len(shift)
        means = floats_of("means_init", self.means_init, shapes["means"])
        given: dict[str, Any] = {"means": None if means is None else means.reshape(-1, d) - shift, "covars": None}
        if self.covars_init is not None:
            given["covars"] = self.structured("covars_init", self.covars_init, self.n_components * self.n_mix, d)
        precisions = floats_of("precisions_init", self.precisions_init, shapes["covars"])
        if precisions is not None:
            given["covars"] = self._inverted("precisions_init", precisions)
        if self.n_mix > 1:
            given["weights"] = probabilities("weights_init", self.weights_init, shapes["weights"])
        return given

    def placed(self, components: Any, given: Tables) -> Any:
        """What is given in place of what a start found."""
        shares: Any = None
        parts: Any = components
        if components is not None and self.n_mix > 1:
            shares, parts = components.weights, components.parts
        means = given["means"] if given["means"] is not None or parts is None else parts.means
        covars = given["covars"] if given["covars"] is not None or parts is None else parts.covariances
        if given["means"] is not None or parts is None:
            parts = GaussianParams(means, covars, np.zeros_like(means), 0 if parts is None else parts.floored)
        else:
            parts = replace(parts, covariances=covars)
        if self.n_mix == 1:
            return parts
        return CompoundParams(shares if given["weights"] is None else given["weights"], parts)

    # -- covariances as users write them -------------------------------------------------------------------------------

    def structured(self, name: str, value: Any, count: int, n_columns: int) -> Floats:
        """Covariances of so many Gaussians in the shape of their type, from those in it or written out as matrices."""
        given: Floats = check_array(value, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)
        leading, shape = self._leading(), self.structure.shape(count, n_columns)
        if self._has_one_each() and given.shape[: len(leading)] == leading:
            given = given.reshape(count, *given.shape[len(leading) :])
        elif given.shape == (*leading, n_columns, n_columns):
            given = given.reshape(count, n_columns, n_columns)
        if given.shape != shape:
            given = self._reduced(name, given, shape, count, n_columns)
        self._inverted(name, given)
        return np.ascontiguousarray(given)

    def _inverted(self, name: str, matrices: Floats) -> Floats:
        try:
            return self.structure.inverted(matrices)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"{name} must be positive definite: {error}") from None

    def _reduced(self, name: str, given: Floats, shape: tuple[int, ...], count: int, n_columns: int) -> Floats:
        """What a structure keeps of full matrices, if it can."""
        if given.shape == (count, n_columns, n_columns):
            diagonals = np.einsum("kii->ki", given)
            kept = {2: given[0] if shape == (n_columns, n_columns) else diagonals, 1: diagonals[:, 0]}[len(shape)]
            if kept.shape == shape and np.allclose(self.structure.dense(kept, count, n_columns), given):
                return kept.copy()
            raise ValueError(f"{name} must be covariances of the type {self.covariance_type!r}, got others")
        shown = shape if self.n_features is None else self.shapes()["covars"]
        raise ValueError(f"{name} must have shape {shown}, got {given.shape}")


def held_by(reg_covar: float, family: Family, components: Any) -> str | None:
    """Why a fit may end away from a stationary point: `reg_covar` is added after the M step, and disturbs it."""
    smallest = family.health(components).get("smallest_eigenvalue", np.inf)
    if reg_covar == 0 or smallest > NARROW_VARIANCE * reg_covar:
        return None
    return f"reg_covar={reg_covar:g} is not small against a component's variance, {smallest:.3g}"
