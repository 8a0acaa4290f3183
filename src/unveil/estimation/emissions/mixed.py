"""Columns of different kinds, each by its own family, independent of each other given the component.

A product of families is made from what the user says of the columns, or from their types, and its parameters are shown
group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.core.arrays import Floats
from unveil.core.declared import Declaration, Extent, numbers
from unveil.estimation.coded import Coded, declared_columns
from unveil.estimation.columns import column_number
from unveil.estimation.emissions.base import Attributes, Emission, Tables
from unveil.estimation.emissions.gaussian import held_by
from unveil.estimation.registry import FAMILIES, PARTS, STRUCTURES, lookup
from unveil.families.base import Family
from unveil.families.product import Product, ProductParams
from unveil.storage.parts import StorableParts

OWN = "own"  # what a column of a family of the user's own is taken for
MIXED: dict[str, list[Any]] = {  # constraints of the arguments that such estimators share
    "families": [StrOptions({"auto"}), dict, list, tuple, Family],
    "covariance_type": [StrOptions(set(STRUCTURES))],
    "reg_covar": [Interval(Real, 0.0, None, closed="left")],
    "handle_unknown": [StrOptions({"missing", "error"})],
}


@final
@dataclass(frozen=True)
class MixedEmission(Emission):
    """Groups of columns, and a family for each."""

    estimator: Any  # asked for its arguments, and for what it knows of the columns

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Components, or states."""
        return int(self.estimator.n_components)

    @property
    def shown(self) -> tuple[str, ...]:
        """Parameters as the families have them, and the frame that they are in."""
        return ("params_", "frame_")

    # -- which family for which columns --------------------------------------------------------------------------------

    @property
    def rows(self) -> Coded:  # type: ignore[override]
        """Columns of any kind."""
        return Coded(self._kinds, self.estimator.handle_unknown, self._takes_missing())

    def _asked(self) -> list[tuple[Any, tuple[int, ...]]]:
        """What the user asked for: pairs of a family or word, and columns."""
        given = self.estimator.families
        if isinstance(given, str):
            return []
        if isinstance(given, Family):
            return [(given, tuple(range(self.estimator.n_features_in_)))]
        pairs = [(one, [column]) for column, one in given.items()] if isinstance(given, Mapping) else map(_pair, given)
        return [(one, tuple(column_number(self.estimator, column) for column in columns)) for one, columns in pairs]

    def _kinds(self, n_columns: int, natural: Callable[[], list[str]]) -> list[str]:
        """Words for the columns; a family of the user's own is "own"."""
        asked: dict[int, str] = {}
        for one, columns in self._asked():
            for column in columns:
                if column in asked:
                    raise ValueError(f"families must name each column once, got column {column} twice")
                asked[column] = _word(one)
        kinds = natural() if len(asked) < n_columns else [""] * n_columns
        return [asked.get(column, kind) for column, kind in enumerate(kinds)]

    def _takes_missing(self) -> bool:
        """Whether all families do; those that words name do."""
        given = self.estimator.families
        ones = given.values() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else [given]
        owned = (one[0] if isinstance(one, list | tuple) and one else one for one in ones)
        return all(one.takes_missing for one in owned if isinstance(one, Family))

    def family(self, shift: Floats | None = None) -> Product:
        """Groups as they were asked for; columns that are not in one are grouped by what they are taken for."""
        merged = isinstance(self.estimator.families, Mapping)
        groups = [(one, columns) for one, columns in self._asked() if isinstance(one, Family) or not merged]
        grouped = {column for _, columns in groups for column in columns}
        for word in FAMILIES:
            kinds = enumerate(self.estimator.kinds_)
            groups.append((word, tuple(number for number, kind in kinds if kind == word and number not in grouped)))
        product = Product(tuple((self._made(one, columns), columns) for one, columns in groups if columns))
        return product if shift is None else product.in_frame(shift)

    def _made(self, word: Any, columns: tuple[int, ...]) -> Family:
        """The family that a word names, for some columns."""
        if isinstance(word, Family):
            return word
        values = [self.estimator.categories_[column] for column in columns]
        settings: dict[str, Any] = {
            "structure": lookup(STRUCTURES[self.estimator.covariance_type])(),
            "reg_covar": float(self.estimator.reg_covar),
            "levels": tuple(1 if one is None else max(len(one), 1) for one in values),
        }
        kind = lookup(FAMILIES[word])
        names = kind.__dataclass_fields__
        made: Family = kind(**{name: value for name, value in settings.items() if name in names})
        return made

    def excuse(self, components: Any) -> str | None:
        """A regulariser that is not small against a variance."""
        return held_by(self.estimator.reg_covar, self.family(), components)

    def check_storable(self) -> None:
        """Families of the user's own are code."""
        try:
            StorableParts(PARTS).encode(self.estimator.families, "families", {})
        except TypeError as error:
            raise TypeError(
                f"a model file holds no code, so families of your own are not stored ({error}): pickle it"
            ) from None

    # -- parameters, group by group ------------------------------------------------------------------------------------

    def attributes(self, components: Any, shift: Floats) -> dict[str, Any]:
        """As they are, and where."""
        return {"frame_": shift, "params_": components}

    def declared_of_columns(self, n_columns: Extent) -> Declaration:
        """What columns are taken for, and their values."""
        return declared_columns(n_columns)

    def declared(self, n_components: int, n_columns: int) -> Declaration:
        """Parameters, and where they are."""
        family = self.family()
        yield "frame_", numbers(n_columns, laws=(family.unframed,))
        yield "params_", family.declared(n_components, n_columns)

    def components(self, attributes: Attributes, shift: Floats) -> Any:
        """Moved to another frame."""
        family = self.family(shift)
        return family.settled(family.located(attributes["params_"], attributes["frame_"] - shift))

    def origin(self, attributes: Attributes, shares: Floats | None = None) -> Floats:
        """The frame they are in."""
        frame: Floats = attributes["frame_"]
        return frame

    def suits(self, components: Any) -> bool:
        """Whether parameters belong to families as they are asked for now."""
        parts = self.family().parts
        pairs = zip(parts, components.parts, strict=False)
        return len(parts) == len(components.parts) and all(
            family.suits(own, len(columns)) for (family, columns), own in pairs
        )

    def groups(self) -> list[tuple[Any, tuple[int, ...], Any]]:
        """What each group of columns is, its columns, and its parameters in the coordinates of the data."""
        described = []
        for (family, columns), params in zip(self.family().parts, self.estimator.params_.parts, strict=True):
            kind = self.estimator.kinds_[columns[0]]
            located = family.settled(family.located(params, self.estimator.frame_[list(columns)]))
            described.append((family if kind == OWN else kind, columns, located))
        return described

    def means(self) -> Floats:
        """Expected value of each column in each component; NaN for categories."""
        family = self.family()
        return family.means(family.settled(family.located(self.estimator.params_, self.estimator.frame_)))

    def narrowed(
        self, family: Product, components: ProductParams, shift: Floats, columns: Any
    ) -> tuple[Any, ProductParams]:
        """What to ask for, and parameters, where a product of some of the columns, in a frame, is all there is."""
        kinds = [self.estimator.kinds_[column] for column in columns]
        parts = zip(family.in_frame(-shift).parts, components.parts, strict=True)
        groups = [(own, *part.in_full(one)) for (part, own), one in parts]
        asked = [(part if kinds[own[0]] == OWN else kinds[own[0]], own) for own, part, _ in groups]
        return asked, ProductParams(tuple(one for _, _, one in groups))

    def given(self, shift: Floats) -> Tables:
        """A start of them cannot be given."""
        return {"families": None}


def _pair(given: Any) -> tuple[Any, list[Any]]:
    """A family or word, and its columns."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise ValueError(f"families must be a list of pairs (family or word, columns), got {given!r} in it")
    one, columns = given
    return one, list(columns) if isinstance(columns, list | tuple | range | np.ndarray) else [columns]


def _word(one: Any) -> str:
    """What a column is taken for."""
    if isinstance(one, Family):
        return OWN
    if not isinstance(one, str) or one not in FAMILIES:
        taken = ", ".join(map(repr, FAMILIES))
        raise ValueError(f"families must name {taken}, or be a family of your own, got {one!r}")
    return one
