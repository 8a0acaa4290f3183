"""The rule of each family, and those of families made of others: groups of columns, and parts of components."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unveil.core.arrays import Floats, Labels
from unveil.families.base import Family
from unveil.families.bernoulli import Bernoulli
from unveil.families.categorical import Categorical
from unveil.families.compound import Compound, CompoundParams
from unveil.families.exponential import Exponential
from unveil.families.gaussian import Gaussian
from unveil.families.held.categorical import LevelRule, linear
from unveil.families.held.directions import blocks
from unveil.families.held.entries import Entries, spread_out
from unveil.families.held.family import HoldingRule
from unveil.families.held.gaussian import GaussianRule
from unveil.families.held.ratios import RatioRule
from unveil.families.held.simplex import free_directions, likeliest
from unveil.families.held.student import StudentRule
from unveil.families.poisson import Poisson
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student


@dataclass(frozen=True)
class FreeRule(HoldingRule):
    """Nothing is held."""

    def check(self, family: Family, n_components: int, n_columns: int) -> None:
        """Always well."""

    def maximise(self, family: Family, moments: Floats, params: Any) -> Any:
        """The family's own."""
        return family.maximise(moments, params)

    def settled(self, family: Family, params: Any, start: Any) -> Any:
        """As they are."""
        return params

    def n_parameters(self, family: Family, n_components: int, n_columns: int) -> int:
        """All of them."""
        return family.n_parameters(n_components, n_columns)

    def directions(self, family: Family, params: Any, chart: Any) -> csr_array:
        """All of them."""
        size = len(chart.origin)
        return csr_array((np.ones(size), (np.arange(size), np.arange(size))), shape=(size, size))

    def chosen(self, components: NDArray[np.intp]) -> FreeRule:
        """The same."""
        return self


@dataclass(frozen=True)
class ProductRule(HoldingRule):
    """A rule for each group of columns."""

    parts: tuple[HoldingRule, ...]

    def check(self, family: Product, n_components: int, n_columns: int) -> None:
        """As many rules as groups, each of which fits."""
        if len(self.parts) != len(family.parts):
            raise ValueError(f"parts must be {len(family.parts)}, one for each group of columns; got {len(self.parts)}")
        for rule, (part, columns) in zip(self.parts, family.parts, strict=True):
            rule.check(part, n_components, len(columns))

    def maximise(self, family: Product, moments: Floats, params: ProductParams) -> ProductParams:
        """Each group's own."""
        widths = [part.n_statistics(len(columns)) for part, columns in family.parts]
        sums = np.split(moments, np.cumsum(widths)[:-1], axis=1)
        trios = zip(self.parts, family.parts, sums, params.parts, strict=True)
        return ProductParams(tuple(rule.maximise(part, own, one) for rule, (part, _), own, one in trios))

    def settled(self, family: Product, params: ProductParams, start: ProductParams) -> ProductParams:
        """Each group's own."""
        trios = zip(self.parts, family.parts, params.parts, start.parts, strict=True)
        return ProductParams(tuple(rule.settled(part, one, other) for rule, (part, _), one, other in trios))

    def n_parameters(self, family: Product, n_components: int, n_columns: int) -> int:
        """Those of all groups."""
        pairs = zip(self.parts, family.parts, strict=True)
        return sum(rule.n_parameters(part, n_components, len(columns)) for rule, (part, columns) in pairs)

    def directions(self, family: Product, params: ProductParams, chart: Any) -> csr_array:
        """Those of all groups."""
        trios = zip(self.parts, family.parts, params.parts, chart.charts, strict=True)
        return blocks(*(rule.directions(part, one, own) for rule, (part, _), one, own in trios))

    def chosen(self, components: NDArray[np.intp]) -> ProductRule:
        """Of some components."""
        return ProductRule(tuple(rule.chosen(components) for rule in self.parts))


@dataclass(frozen=True)
class CompoundRule(HoldingRule):
    """Shares (k, n_parts) that stay or are tied, and a rule for all parts."""

    parts: HoldingRule
    weights: Any = None
    tied_weights: Any = None
    n_parts: int = 1
    entries: Entries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", Entries("weights", self.weights, self.tied_weights))

    def check(self, family: Compound, n_components: int, n_columns: int) -> None:
        """A mask for each share, and for each part."""
        self.entries.check((n_components, family.n_parts))
        self.parts.check(family.family, n_components * family.n_parts, n_columns)

    def maximise(self, family: Compound, moments: Floats, params: CompoundParams) -> CompoundParams:
        """Shares that the rule allows, and the M step of the parts."""
        sums = family.blocks(moments)
        parts = self.parts.maximise(family.family, sums, params.parts)
        if not self.entries.any:
            return CompoundParams(family.maximise(moments, params).weights, parts)
        counts = np.maximum(sums[:, 0].reshape(params.weights.shape), 0.0)
        counts = np.where(counts.sum(axis=1, keepdims=True) > 0, counts + (family.concentration - 1.0), 0.0)
        return CompoundParams(
            likeliest(self._groups(params.weights.shape), counts, params.weights, 0.0, "weights")[0], parts
        )

    def settled(self, family: Compound, params: CompoundParams, start: CompoundParams) -> CompoundParams:
        """Held shares from `start`, and then those that the others are nearest to."""
        groups = self._groups(params.weights.shape)
        given = np.where(groups < 0, start.weights, params.weights)
        weights = likeliest(groups, params.weights, given, 0.0, "weights")[0] if self.entries.any else params.weights
        return CompoundParams(weights, self.parts.settled(family.family, params.parts, start.parts))

    def n_parameters(self, family: Compound, n_components: int, n_columns: int) -> int:
        """Those of the parts, and of the shares."""
        shares = free_directions(self._groups((n_components, family.n_parts)))
        return shares + self.parts.n_parameters(family.family, n_components * family.n_parts, n_columns)

    def directions(self, family: Compound, params: CompoundParams, chart: Any) -> csr_array:
        """Logits of the shares, of which whole rows must be held or tied; and those of the parts."""
        groups = self._groups(params.weights.shape)
        linear(groups, "weights")
        return blocks(spread_out(groups), self.parts.directions(family.family, params.parts, chart.chart))

    def chosen(self, components: NDArray[np.intp]) -> CompoundRule:
        """Of some components, with all of their parts."""
        numbers = (np.asarray(components)[:, None] * self.n_parts + np.arange(self.n_parts)).ravel()
        entries = self.entries.chosen(components)
        return CompoundRule(self.parts.chosen(numbers), entries.held, entries.tied, self.n_parts)

    def _groups(self, shape: tuple[int, ...]) -> Labels:
        # a component's shares are of one column, so to speak: a number means the same wherever it is
        return self.entries.groups((shape[0], shape[1]), np.zeros(shape[1], dtype=np.intp))


Maker = Callable[[Any, Mapping[str, Any]], HoldingRule]


def rule_for(family: Family, masks: Mapping[str, Any]) -> HoldingRule:
    """The rule of a family, from masks by name."""
    for kind, (names, make) in RULES.items():
        if isinstance(family, kind):
            unknown = sorted(set(masks) - set(names))
            if unknown:
                raise ValueError(f"{kind.__name__} takes {', '.join(names)} to hold or tie; got {', '.join(unknown)}")
            return make(family, masks)
    raise TypeError(f"nothing of {type(family).__name__} can be held; {', '.join(k.__name__ for k in RULES)} can")


def _ratio_rule(name: str) -> tuple[tuple[str, str], Maker]:
    return (name, f"tied_{name}"), lambda family, m: RatioRule(name, m.get(name), m.get(f"tied_{name}"))


def _product_rule(family: Product, masks: Mapping[str, Any]) -> HoldingRule:
    given = masks.get("parts", ())
    if len(given) != len(family.parts):
        raise ValueError(f"parts must be {len(family.parts)}, one for each group of columns; got {len(given)}")
    pairs = zip(family.parts, given, strict=True)
    return ProductRule(tuple(rule_for(part, own) if own else FreeRule() for (part, _), own in pairs))


def _compound_rule(family: Compound, masks: Mapping[str, Any]) -> HoldingRule:
    inner = masks.get("parts")
    parts = rule_for(family.family, inner) if inner else FreeRule()
    return CompoundRule(parts, masks.get("weights"), masks.get("tied_weights"), family.n_parts)


RULES: dict[type[Family], tuple[tuple[str, ...], Maker]] = {
    Gaussian: (("means", "tied_means", "covariances", "tied_covariances"), lambda family, m: GaussianRule(**m)),
    Student: (("means", "tied_means", "scales", "dofs"), lambda family, m: StudentRule(**m)),
    Poisson: _ratio_rule("rates"),
    Exponential: _ratio_rule("rates"),
    Bernoulli: _ratio_rule("probabilities"),
    Categorical: (("probabilities", "tied_probabilities"), lambda family, m: LevelRule(**m)),
    Product: (("parts",), _product_rule),
    Compound: (("weights", "tied_weights", "parts"), _compound_rule),
}
