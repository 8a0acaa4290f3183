"""Columns of different kinds, each by its own family: what mixtures and chains of such columns have in common.

The mixin makes a product of families from what the user says of the columns, or from their types, and shows its
parameters group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.core.arrays import Floats
from unveil.estimation.base import Estimator
from unveil.estimation.columns import column_number
from unveil.estimation.registry import FAMILIES, PARTS, STRUCTURES, lookup
from unveil.estimation.tabular import Tabular
from unveil.families.base import Family
from unveil.families.product import Product, ProductParams
from unveil.storage.parts import Parts

OWN = "own"  # what a column of a family of the user's own is taken for
MIXED: dict[str, list[Any]] = {  # constraints of the arguments that such estimators share
    "families": [StrOptions({"auto"}), dict, list, tuple, Family],
    "covariance_type": [StrOptions(set(STRUCTURES))],
    "reg_covar": [Interval(Real, 0.0, None, closed="left")],
    "handle_unknown": [StrOptions({"missing", "error"})],
}


class Mixed(Tabular, Estimator, BaseEstimator):
    """Mixin of the estimators of columns of different kinds."""

    families: Any
    covariance_type: str
    reg_covar: float
    params_: ProductParams
    frame_: Floats

    # -- which family for which columns --------------------------------------------------------------------------------

    def _asked(self) -> list[tuple[Any, tuple[int, ...]]]:
        """What the user asked for: pairs of a family or word, and columns."""
        given = self.families
        if isinstance(given, str):
            return []
        if isinstance(given, Family):
            return [(given, tuple(range(self.n_features_in_)))]
        if isinstance(given, Mapping):
            return [(one, (column_number(self, column),)) for column, one in given.items()]
        return [(one, tuple(column_number(self, column) for column in columns)) for one, columns in map(_pair, given)]

    def _kinds_for(self, n_columns: int, natural: Callable[[], list[str]]) -> list[str]:
        """Words for the columns; a family of the user's own is "own"."""
        asked: dict[int, str] = {}
        for one, columns in self._asked():
            for column in columns:
                if column in asked:
                    raise ValueError(f"families must name each column once, got column {column} twice")
                asked[column] = _word(one)
        kinds = natural() if len(asked) < n_columns else [""] * n_columns
        return [asked.get(column, kind) for column, kind in enumerate(kinds)]

    def _product(self) -> Product:
        """Groups as they were asked for; columns that are not in one are grouped by what they are taken for."""
        merged = isinstance(self.families, Mapping)
        groups = [(one, columns) for one, columns in self._asked() if isinstance(one, Family) or not merged]
        grouped = {column for _, columns in groups for column in columns}
        for word in FAMILIES:
            kinds = enumerate(self.kinds_)
            groups.append((word, tuple(number for number, kind in kinds if kind == word and number not in grouped)))
        return Product(tuple((self._made(one, columns), columns) for one, columns in groups if columns))

    @property
    def _takes_missing(self) -> bool:  # type: ignore[override]
        """Whether all families do; those that words name do."""
        given = self.families
        ones = given.values() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else [given]
        owned = (one[0] if isinstance(one, list | tuple) and one else one for one in ones)
        return all(one.takes_missing for one in owned if isinstance(one, Family))

    def _made(self, word: Any, columns: tuple[int, ...]) -> Family:
        """The family that a word names, for some columns."""
        if isinstance(word, Family):
            return word
        structure = lookup(STRUCTURES[self.covariance_type])()
        levels = tuple(max(len(self.categories_[c]), 1) if self.categories_[c] is not None else 1 for c in columns)
        settings: dict[str, Any] = {
            "structure": structure,
            "reg_covar": float(self.reg_covar),
            "levels": levels,
        }
        kind = lookup(FAMILIES[word])
        names = kind.__dataclass_fields__
        made: Family = kind(**{name: value for name, value in settings.items() if name in names})
        return made

    # -- parameters, group by group ------------------------------------------------------------------------------------

    def _show_groups(self, params: ProductParams, shift: Floats) -> None:
        self.frame_ = shift
        self.params_ = params

    @property
    def components_(self) -> list[tuple[Any, tuple[int, ...], Any]]:
        """What each group of columns is, its columns, and its parameters."""
        described = []
        for (family, columns), params in zip(self._product().parts, self.params_.parts, strict=True):
            kind = self.kinds_[columns[0]]
            located = family.located(params, self.frame_[list(columns)])
            described.append((family if kind == OWN else kind, columns, located))
        return described

    @property
    def means_(self) -> Floats:
        """Expected value of each column in each component, or state; NaN for categories."""
        return self._product().means(self.params_) + self.frame_

    def _recall_groups(self, shift: Floats) -> Any:
        """Parameters of the groups in a frame, from the attributes."""
        return self._product().located(self.params_, self.frame_ - shift)

    def _groups_suit(self, params: ProductParams) -> bool:
        """Whether parameters belong to families as they are asked for now."""
        parts = self._product().parts
        pairs = zip(parts, params.parts, strict=False)
        return len(parts) == len(params.parts) and all(
            family.suits(own, len(columns)) for (family, columns), own in pairs
        )

    def _shift(self) -> Floats:
        return self.frame_

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file that `unveil.load` reads; one with families of your own can be pickled.

        Parameters
        ----------
        path : path
            The file; it appears whole or not at all, in place of one that may be there.
        """
        try:
            Parts(PARTS).encode(self.families, "families", {})
        except TypeError as error:
            raise TypeError(
                f"a model file holds no code, so families of your own are not stored ({error}): pickle it"
            ) from None
        super().save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


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
