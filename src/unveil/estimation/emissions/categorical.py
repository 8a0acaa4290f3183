"""Categories: probabilities of the values of each column, in each component.

Inside they are one table, the columns side by side. A mixture shows a list of tables, one for each column; a chain
shows a single table where there is one column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from unveil.core.arrays import Floats, Mask
from unveil.core.declared import Declaration, Each, Extent, MayLack, Tried, shares
from unveil.estimation.coded import declared_columns
from unveil.estimation.emissions.base import Attributes, Emission, Tables
from unveil.estimation.input import RowsIn
from unveil.estimation.masks import fixed_entries, table_of, tied_entries
from unveil.families.base import Family
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.held.family import hold
from unveil.families.independent import PROBABILITY_FLOOR
from unveil.families.priors import Dirichlet


def tables_of(shown: Any) -> list[Floats]:
    """Probabilities of the values of each column, whether shown as one table or as a list of them."""
    several = isinstance(shown, list | tuple) and np.ndim(shown[0]) == 2
    return [np.asarray(table, dtype=np.float64) for table in (shown if several else [shown])]


@final
@dataclass(frozen=True)
class CategoricalEmission(Emission):
    """Tables of probabilities, shown under the name that a face has for them."""

    n_components: int
    categories: Any  # values of each column; None before the columns are known
    rows: RowsIn
    concentration: float | None = None  # of a symmetric Dirichlet prior
    name: str = "probabilities"
    init: Any = None
    stands: Any = None  # a table set by hand, from which a warm start goes on
    by_hand: bool = False  # may users set the attributes themselves? Then they are checked, and zeros stay zeros

    @property
    def names(self) -> tuple[str, ...]:
        """The probabilities."""
        return (self.name,)

    @property
    def shown(self) -> tuple[str, ...]:
        """The probabilities."""
        return (f"{self.name}_",)

    @property
    def levels(self) -> tuple[int, ...]:
        """Values of each column; a column that is all missing has one that never occurs."""
        return tuple(max(len(values), 1) for values in self.categories)

    def family(self, shift: Floats | None = None) -> Family:
        """Categorical, with a prior or without."""
        prior = None if self.concentration is None else Dirichlet(float(self.concentration))
        return Categorical(self.levels, prior)

    def settle(self, attributes: Attributes) -> dict[str, Any]:
        """Values that tables set by hand are of: 0, 1, 2, ..."""
        if "categories_" in attributes:
            return {}
        values = [np.arange(float(np.shape(table)[1])) for table in tables_of(attributes[self.shown[0]])]
        return {"categories_": values, "kinds_": ["category"] * len(values)}

    def attributes(self, components: Any, shift: Floats) -> dict[str, Any]:
        """A table for each column."""
        return {self.shown[0]: self.as_attribute(self.name, components.probabilities)}

    def declared_of_columns(self, n_columns: Extent) -> Declaration:
        """Values of each column; where users set tables by hand they may not be there yet."""
        own = declared_columns(n_columns)
        return ((name, MayLack(one)) for name, one in own) if self.by_hand else own

    def declared(self, n_components: int, n_columns: int) -> Declaration:
        """A table for each column; where users may set them, they are checked by whoever uses them."""
        if self.by_hand:
            yield self.shown[0], Tried(_check_tables)
            return
        tables = (shares(n_components, count) for count in self.levels)
        yield self.shown[0], Each(tuple(tables), list)

    def as_shown(self, name: str, value: Any) -> Floats:
        """The tables side by side."""
        if name != self.name:
            return super().as_shown(name, value)
        return np.concatenate(tables_of(value), axis=1)

    def as_attribute(self, name: str, table: Floats) -> Any:
        """A table for each column."""
        if name != self.name:
            return super().as_attribute(name, table)
        tables = np.split(table, np.cumsum(self.levels)[:-1], axis=1)
        return tables[0] if self.by_hand and len(tables) == 1 else tables

    def components(self, attributes: Attributes, shift: Floats) -> Any:
        """The tables side by side."""
        tables = tables_of(attributes[self.shown[0]])
        if self.by_hand:
            tables = [table_of(self.shown[0], table, table.shape) for table in tables]
        return CategoricalParams(self._joined(tables))

    def origin(self, attributes: Attributes, shares: Floats | None = None) -> Floats:
        """Codes are not shifted."""
        return np.zeros(len(tables_of(attributes[self.shown[0]])))

    def suits(self, components: Any) -> bool:
        """Whether there are as many components, of the same values."""
        return bool(components.probabilities.shape == (self.n_components, sum(self.levels)))

    # -- given, fixed, tied --------------------------------------------------------------------------------------------

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The columns side by side."""
        return {self.name: (self.n_components, sum(self.levels))}

    def held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        """Probabilities that are fixed or tied."""
        return hold(family, probabilities=fixed.get(self.name), tied_probabilities=tied.get(self.name))

    def fixed(self, fixed: Any, tied: Any, name: str, shape: tuple[int, ...]) -> Any:
        """What is fixed, and probabilities of 0 that were given: EM could not leave them either."""
        mask, labels = fixed_entries(fixed, name, shape), tied_entries(tied, name, shape)
        never = np.zeros(shape, dtype=np.bool_) if self._is_pulled() else self._ruled_out(shape)
        if labels is not None:
            never &= labels < 0
        return (never if mask is None else mask | never) if never.any() else mask

    def _ruled_out(self, shape: tuple[int, ...]) -> Mask:
        """Values that a table given as a start, or set by hand for a warm one, says to be impossible."""
        table: Any = self.init
        if table is None and self.stands is not None:
            table = np.concatenate(tables_of(self.stands), axis=1)
        found = np.equal(table, 0) if np.shape(table) == shape else np.zeros(shape)
        return np.asarray(found, dtype=np.bool_)

    def _is_pulled(self) -> bool:
        """Whether a prior keeps all probabilities above 0."""
        return self.concentration is not None and self.concentration > 1

    def _joined(self, tables: list[Any]) -> Floats:
        """Tables side by side, off 0 where nothing can be there."""
        joined = np.concatenate(tables, axis=1)
        return np.maximum(joined, PROBABILITY_FLOOR) if self._is_pulled() or not self.by_hand else joined

    def inits(self) -> Tables:
        """As it came."""
        return {self.name: self.init}

    def given(self, shift: Floats) -> Tables:
        """A table of probabilities, column by column."""
        if self.init is None:
            return {self.name: None}
        table, ends = np.asarray(self.init), np.cumsum(self.levels)[:-1]
        argument, wanted = f"{self.name}_init", self.shapes()[self.name]
        if table.shape != wanted:
            raise ValueError(f"{argument} must have shape {wanted}, got {table.shape}")
        checked = [table_of(argument, column, column.shape) for column in np.split(table, ends, axis=1)]
        return {self.name: self._joined(checked)}

    def placed(self, components: Any, given: Tables) -> Any:
        """What is given, or what a start found."""
        return components if given[self.name] is None else CategoricalParams(given[self.name])


def _check_tables(shown: Any) -> None:
    """Refuse what are no tables of probabilities."""
    for table in tables_of(shown):
        table_of("each table", table, table.shape)
