"""The rule of each family; here that of rates and probabilities, and those of families made of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, eye_array

from unveil.core.arrays import Floats, Labels
from unveil.families.base import Family
from unveil.families.bernoulli import Bernoulli
from unveil.families.categorical import Categorical
from unveil.families.compound import Compound, CompoundParams
from unveil.families.exponential import Exponential
from unveil.families.gaussian import Gaussian
from unveil.families.held.categorical import LevelRule, linear
from unveil.families.held.covariances import Sharing
from unveil.families.held.entries import Entries, pooled, spread_out
from unveil.families.held.family import HoldingRule
from unveil.families.held.gaussian import GaussianRule, StudentRule
from unveil.families.held.simplex import free_directions, likeliest
from unveil.families.independent import Independent
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
        return csr_array(eye_array(len(chart.origin)))

    def chosen(self, components: NDArray[np.intp]) -> FreeRule:
        """The same."""
        return self


@dataclass(frozen=True)
class RatioRule(HoldingRule):
    """Entries of a table of rates or probabilities, each one sum over another.

    A rate of Poisson counts is counts over weight, one of waiting times weight over times, a probability of yes is yes
    over weight, the prior's pseudo-rows included. Tied entries have the sums of their group.
    """

    entries: Entries

    def check(self, family: Independent, n_components: int, n_columns: int) -> None:
        """A mask for each entry."""
        self.entries.check((n_components, n_columns))

    def maximise(self, family: Independent, moments: Floats, params: Any) -> Any:
        """Pooled ratios; a group without weight keeps what it had, as does what is held."""
        before = getattr(params, self.entries.name)
        groups, found = self.entries.groups(before.shape), family.ratios(moments)
        weight = pooled(groups, np.broadcast_to(moments[:, :1], before.shape))
        moves = (groups >= 0) & (weight > 0)
        below = pooled(groups, found.below)
        with np.errstate(divide="ignore", invalid="ignore"):
            fresh = pooled(groups, found.above) / below
        kept = np.where(moves, np.clip(fresh, found.lowest, found.highest), before)
        floored = np.any(moves & (kept != fresh), axis=1)
        return replace(params, **{self.entries.name: kept, "floored": int(np.count_nonzero(floored))})

    def settled(self, family: Independent, params: Any, start: Any) -> Any:
        """Held entries from `start`, tied ones at their mean."""
        values, given = (getattr(one, self.entries.name) for one in (params, start))
        return replace(params, **{self.entries.name: self.entries.settled(values, given)})

    def n_parameters(self, family: Independent, n_components: int, n_columns: int) -> int:
        """Groups."""
        return int(self.entries.groups((n_components, n_columns)).max(initial=-1)) + 1

    def directions(self, family: Independent, params: Any, chart: Any) -> csr_array:
        """Logarithms of a group move together."""
        return spread_out(self.entries.groups(getattr(params, self.entries.name).shape))

    def chosen(self, components: NDArray[np.intp]) -> RatioRule:
        """Of some components."""
        return RatioRule(self.entries.chosen(components))


@dataclass(frozen=True)
class ProductRule(HoldingRule):
    """A rule for each group of columns."""

    parts: tuple[HoldingRule, ...]

    def check(self, family: Product, n_components: int, n_columns: int) -> None:
        """Each of them fits."""
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
        return block_diag([rule.directions(part, one, own) for rule, (part, _), one, own in trios], format="csr")

    def chosen(self, components: NDArray[np.intp]) -> ProductRule:
        """Of some components."""
        return ProductRule(tuple(rule.chosen(components) for rule in self.parts))


@dataclass(frozen=True)
class CompoundRule(HoldingRule):
    """Shares (k, n_parts) that stay or are tied, and a rule for all parts."""

    parts: HoldingRule
    entries: Entries
    n_parts: int

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
        parts = self.parts.directions(family.family, params.parts, chart.chart)
        return block_diag((spread_out(groups), parts), format="csr")

    def chosen(self, components: NDArray[np.intp]) -> CompoundRule:
        """Of some components, with all of their parts."""
        numbers = (np.asarray(components)[:, None] * self.n_parts + np.arange(self.n_parts)).ravel()
        return CompoundRule(self.parts.chosen(numbers), self.entries.chosen(components), self.n_parts)

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


def _entries(name: str, masks: Mapping[str, Any]) -> Entries:
    return Entries(name, masks.get(name), masks.get(f"tied_{name}"))


def _gaussian_rule(family: Gaussian, masks: Mapping[str, Any]) -> HoldingRule:
    return GaussianRule(_entries("means", masks), Sharing(masks.get("covariances"), masks.get("tied_covariances")))


def _student_rule(family: Student, masks: Mapping[str, Any]) -> HoldingRule:
    return StudentRule(_entries("means", masks), masks.get("scales"), masks.get("dofs"))


def _table_rule(kind: Callable[[Entries], HoldingRule], name: str) -> tuple[tuple[str, str], Maker]:
    return (name, f"tied_{name}"), lambda family, masks: kind(_entries(name, masks))


def _product_rule(family: Product, masks: Mapping[str, Any]) -> HoldingRule:
    given = masks.get("parts", ())
    if len(given) != len(family.parts):
        raise ValueError(f"parts must be {len(family.parts)}, one for each group of columns; got {len(given)}")
    pairs = zip(family.parts, given, strict=True)
    return ProductRule(tuple(rule_for(part, own) if own else FreeRule() for (part, _), own in pairs))


def _compound_rule(family: Compound, masks: Mapping[str, Any]) -> HoldingRule:
    inner = masks.get("parts")
    parts = rule_for(family.family, inner) if inner else FreeRule()
    return CompoundRule(parts, _entries("weights", masks), family.n_parts)


RULES: dict[type[Family], tuple[tuple[str, ...], Maker]] = {
    Gaussian: (("means", "tied_means", "covariances", "tied_covariances"), _gaussian_rule),
    Student: (("means", "tied_means", "scales", "dofs"), _student_rule),
    Poisson: _table_rule(RatioRule, "rates"),
    Exponential: _table_rule(RatioRule, "rates"),
    Bernoulli: _table_rule(RatioRule, "probabilities"),
    Categorical: _table_rule(LevelRule, "probabilities"),
    Product: (("parts",), _product_rule),
    Compound: (("weights", "tied_weights", "parts"), _compound_rule),
}
