"""Columns of different kinds side by side: groups of columns, each with a family of its own.

Given the component the groups are independent, so their log-densities add, and T is theirs put together:

    log p(x | component) = sum over groups of log p(x_group | component),      T(x) = (T_1(x_1), T_2(x_2), ...)

Each group keeps its own leading 1, so that a family finds its moments as if it were alone. A group with missing cells
sees those of its own columns; one that misses all of them adds nothing to the score, and expectations to the moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.declared import Declared, Each, RecordOf
from unveil.families.base import Family, Tile
from unveil.families.columns.ellipses import Ellipses
from unveil.families.columns.in_turn import InTurn
from unveil.families.columns.missing_cells import SideBySide
from unveil.families.columns.units import units_of


@dataclass(frozen=True)
class ProductParams:
    """Parameters of the groups, in their order."""

    parts: tuple[Any, ...]


class Part(NamedTuple):
    """A group of columns."""

    family: Family
    columns: NDArray[np.intp]
    place: slice  # of its statistics among all


@dataclass(frozen=True)
class Product(Family):
    """Groups of columns, independent given the component.

    Parameters
    ----------
    parts : tuple of (family, columns)
        A family and the numbers of its columns, as a tuple; every column of the table belongs to one of them.

    Examples
    --------
    >>> from unveil.families.bernoulli import Bernoulli
    >>> from unveil.families.poisson import Poisson
    >>> from unveil.families.product import Product
    >>> family = Product(((Poisson(), (0, 2)), (Bernoulli(), (1,))))
    >>> family.n_parameters(4, 3)
    12
    """

    parts: tuple[tuple[Family, tuple[int, ...]], ...]

    separable = by_cells = True
    mixture = "MixedMixture"

    def __post_init__(self) -> None:
        used = sorted(column for _, columns in self.parts for column in columns)
        if not used or used != list(range(len(used))) or not all(columns for _, columns in self.parts):
            raise ValueError(f"parts must name each of the columns 0, 1, ... once, got {[c for _, c in self.parts]!r}")
        families = [family for family, _ in self.parts]
        object.__setattr__(self, "framed", any(family.framed for family in families))
        object.__setattr__(self, "takes_missing", all(family.takes_missing for family in families))
        object.__setattr__(self, "ordered", any(family.ordered for family in families))

    @property
    def n_columns(self) -> int:
        """Columns of all groups."""
        return sum(len(columns) for _, columns in self.parts)

    def n_statistics(self, n_columns: int) -> int:
        """Those of all groups."""
        return sum(family.n_statistics(len(columns)) for family, columns in self.parts)

    def framing(self, n_columns: int) -> NDArray[np.bool_]:
        """The columns that may be shifted: those of location families."""
        mask = np.zeros(n_columns, dtype=np.bool_)
        for family, columns in self.parts:
            mask[list(columns)] = family.framing(len(columns))
        return mask

    def declared(self, n_components: int, n_columns: int) -> Declared:
        """Parameters of each group."""
        groups = tuple(family.declared(n_components, len(columns)) for family, columns in self.parts)
        return RecordOf(ProductParams, {"parts": Each(groups)})

    # -- E step --------------------------------------------------------------------------------------------------------

    def plan(self, params: ProductParams) -> tuple[Any, ...]:
        """A plan for each group."""
        return tuple(part.family.plan(own) for part, own in self._with(params))

    def score(self, plan: tuple[Any, ...], tile: Tile) -> None:
        """The groups' log-densities added up."""
        tile.logits[...] = 0.0
        for number, (part, own) in enumerate(zip(self._parts(), plan, strict=True)):
            piece = self._piece(tile, number, part)
            piece.logits = piece.room("logits", *tile.logits.shape)
            part.family.score(own, piece)
            tile.logits += piece.logits

    def gather(self, plan: tuple[Any, ...], tile: Tile) -> Floats:
        """The groups' moments side by side."""
        pairs = enumerate(zip(self._parts(), plan, strict=True))
        return np.concatenate([p.family.gather(own, self._piece(tile, n, p)) for n, (p, own) in pairs], axis=1)

    def gather_first(self, tile: Tile) -> Floats:
        """The groups' moments side by side."""
        pieces = [(part.family, self._piece(tile, number, part)) for number, part in enumerate(self._parts())]
        return np.concatenate([family.gather_first(piece) for family, piece in pieces], axis=1)

    def complete(self, plan: tuple[Any, ...], tile: Tile) -> Floats:
        """Each group fills its own cells."""
        rows = tile.x.copy()
        for number, (part, own) in enumerate(zip(self._parts(), plan, strict=True)):
            piece = self._piece(tile, number, part)
            if piece.observed is not None:
                rows[part.columns] = part.family.complete(own, piece)
        return rows

    def missing_cells(self, plan: tuple[Any, ...], x: Floats, n_components: int) -> SideBySide:
        """Each group by the patterns of its own columns, of which there are few, or by none."""
        pairs = zip(self._parts(), plan, strict=True)
        return SideBySide([part.family.missing_cells(own, x[part.columns], n_components) for part, own in pairs])

    def log_base(self, x: Floats) -> Floats | None:
        """The groups' own, added up."""
        bases = [part.family.log_base(np.ascontiguousarray(x[part.columns])) for part in self._parts()]
        there = [base for base in bases if base is not None]
        return np.sum(there, axis=0) if there else None

    # -- M step --------------------------------------------------------------------------------------------------------

    def natural(self, params: ProductParams) -> Floats:
        """The groups' natural parameters side by side."""
        return np.concatenate([part.family.natural(own) for part, own in self._with(params)], axis=1)

    def maximise(self, moments: Floats, params: ProductParams) -> ProductParams:
        """Each group's own M step."""
        return ProductParams(tuple(p.family.maximise(moments[:, p.place], own) for p, own in self._with(params)))

    def first(self, moments: Floats) -> ProductParams:
        """Each group's own."""
        return ProductParams(tuple(part.family.first(moments[:, part.place]) for part in self._parts()))

    def log_prior(self, params: ProductParams) -> float:
        """The groups' own, added up."""
        return sum(part.family.log_prior(own) for part, own in self._with(params))

    def gauge(self, rows: Floats, weights: Floats, n_components: int) -> Floats:
        """The groups' own, one after the other."""
        found = [part.family.gauge(rows[:, part.columns], weights, n_components) for part in self._parts()]
        return np.concatenate(found)

    def gauge_size(self, n_columns: int) -> int:
        """Those of all groups."""
        return sum(family.gauge_size(len(columns)) for family, columns in self.parts)

    def mildly(self, gauge: Floats, strength: float) -> Product:
        """Each group by what it has to know."""
        ends = np.cumsum([family.gauge_size(len(columns)) for family, columns in self.parts])[:-1]
        pairs = zip(self.parts, np.split(gauge, ends), strict=True)
        return Product(tuple((family.mildly(own, strength), columns) for (family, columns), own in pairs))

    def admissible(self, moments: Floats) -> bool:
        """Whether every group's are."""
        return all(part.family.admissible(moments[:, part.place]) for part in self._parts())

    def lacks(self, moments: Floats) -> str | None:
        """What the first group lacks that lacks something."""
        return next(filter(None, (part.family.lacks(moments[:, part.place]) for part in self._parts())), None)

    def recentre(self, params: ProductParams) -> ProductParams:
        """Each group's own frames."""
        return ProductParams(tuple(part.family.recentre(own) for part, own in self._with(params)))

    def same_frames(self, one: ProductParams, other: ProductParams) -> bool:
        """Whether every group's are the same."""
        pairs = zip(self._parts(), one.parts, other.parts, strict=True)
        return all(part.family.same_frames(mine, others) for part, mine, others in pairs)

    def least_rows(self, n_columns: int) -> int:
        """The most that a group needs."""
        return max(family.least_rows(len(columns)) for family, columns in self.parts)

    def located(self, params: ProductParams, shift: Floats) -> ProductParams:
        """Each group by its own columns."""
        return ProductParams(tuple(part.family.located(own, shift[part.columns]) for part, own in self._with(params)))

    def in_frame(self, shift: Floats) -> Product:
        """Each group by its own columns."""
        return Product(tuple((family.in_frame(shift[list(columns)]), columns) for family, columns in self.parts))

    def settled(self, params: ProductParams) -> ProductParams:
        """Each group by its own rules."""
        return ProductParams(tuple(part.family.settled(own) for part, own in self._with(params)))

    def moved(self, moments: Floats, params: ProductParams, target: ProductParams, shift: Floats) -> Floats:
        """Each group by its own columns."""
        pieces = []
        for (part, own), other in zip(self._with(params), target.parts, strict=True):
            pieces.append(part.family.moved(moments[:, part.place], own, other, shift[part.columns]))
        return np.concatenate(pieces, axis=1)

    def floored(self, params: ProductParams) -> int:
        """Mended components, summed over groups."""
        return sum(part.family.floored(own) for part, own in self._with(params))

    # -- use -----------------------------------------------------------------------------------------------------------

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Those of all groups."""
        return sum(family.n_parameters(n_components, len(columns)) for family, columns in self.parts)

    def draw(self, params: ProductParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Rows, group by group."""
        rows = np.empty((count, self.n_columns))
        for part, own in self._with(params):
            rows[:, part.columns] = part.family.draw(own, component, count, random)
        return rows

    def taken(self, params: ProductParams, components: NDArray[np.intp]) -> ProductParams:
        """Some components."""
        return ProductParams(tuple(part.family.taken(own, components) for part, own in self._with(params)))

    def means(self, params: ProductParams) -> Floats:
        """Expected rows, where every group has them."""
        found = [(part.columns, part.family.means(own)) for part, own in self._with(params)]
        rows = np.empty((len(found[0][1]), self.n_columns))
        for columns, means in found:
            rows[:, columns] = means
        return rows

    def covariances(self, params: ProductParams) -> Floats:
        """Those of the groups, between which there are none."""
        found = [(part.columns, part.family.covariances(own)) for part, own in self._with(params)]
        out = np.zeros((len(found[0][1]), self.n_columns, self.n_columns))
        for columns, block in found:
            out[:, columns[:, None], columns] = block
        return out

    def ellipses(self, params: ProductParams) -> tuple[Ellipses, ...]:
        """Those of the groups."""
        own = [(part.columns, found) for part, each in self._with(params) for found in part.family.ellipses(each)]
        return tuple(found._replace(columns=columns[found.columns]) for columns, found in own)

    def distribution(self, params: ProductParams, column: int, x: Floats) -> Floats:
        """That of the column's group."""
        number, place = self._home(column)
        return self.parts[number][0].distribution(params.parts[number], place, x)

    def cumulative(self, params: ProductParams, column: int, x: Floats) -> Floats:
        """That of the column's group."""
        number, place = self._home(column)
        return self.parts[number][0].cumulative(params.parts[number], place, x)

    def in_turn(self, params: ProductParams, x: Floats) -> InTurn:
        """Group by group; the radius is that of the first that has one."""
        pairs = [(part.columns, part.family.in_turn(own, x[part.columns])) for part, own in self._with(params)]
        shape = (len(pairs[0][1].upto), *x.shape)
        below, upto, densities = (np.empty(shape) for _ in range(3))
        for columns, found in pairs:
            below[:, columns], upto[:, columns], densities[:, columns] = found[:3]
        return InTurn(below, upto, densities, next((one.radius for _, one in pairs if one.radius is not None), None))

    def is_lattice(self, column: int) -> bool:
        """As in the column's group."""
        number, place = self._home(column)
        return self.parts[number][0].is_lattice(place)

    def n_levels(self, column: int) -> int | None:
        """As in the column's group."""
        number, place = self._home(column)
        return self.parts[number][0].n_levels(place)

    def marginal(self, params: ProductParams, columns: NDArray[np.intp]) -> tuple[Family, ProductParams]:
        """What is left of each group; one of which nothing is left falls away."""
        kept = []
        for part, own in self._with(params):
            new = np.flatnonzero(np.isin(columns, part.columns))
            local = _places(part.columns, columns[new])
            whole = np.array_equal(local, np.arange(len(part.columns)))
            if len(new):
                kept.append((new, (part.family, own) if whole else part.family.marginal(own, local)))
        return _assembled(kept)

    def conditional(
        self, params: ProductParams, columns: NDArray[np.intp], values: Floats
    ) -> tuple[Family, ProductParams]:
        """Each group given those of its own columns; one of which all is given falls away."""
        rest, kept = np.setdiff1d(np.arange(self.n_columns), columns), []
        for part, own in self._with(params):
            mine = np.flatnonzero(np.isin(columns, part.columns))
            local = _places(part.columns, columns[mine])
            others = np.setdiff1d(np.arange(len(part.columns)), local)
            if len(others):
                given = part.family.conditional(own, local, values[mine]) if len(mine) else (part.family, own)
                kept.append((np.searchsorted(rest, part.columns[others]), given))
        return _assembled(kept)

    def groups(self, n_columns: int) -> tuple[tuple[Family, tuple[int, ...]], ...]:
        """The groups."""
        return self.parts

    def parted(self, params: ProductParams) -> Sequence[Any]:
        """Theirs."""
        return params.parts

    def joined(self, parts: Sequence[Any]) -> ProductParams:
        """One after the other."""
        return ProductParams(tuple(parts))

    def in_full(self, params: ProductParams) -> tuple[Product, ProductParams]:
        """Each group's own."""
        pairs = [part.family.in_full(own) for part, own in self._with(params)]
        columns = [columns for _, columns in self.parts]
        family = Product(tuple((one, own) for (one, _), own in zip(pairs, columns, strict=True)))
        return family, ProductParams(tuple(own for _, own in pairs))

    def embedding(self, sample: Floats) -> Callable[[Floats], Floats]:
        """Rows as points in which every column weighs the same: by its spread in a sample."""
        points = zip(self._points(sample), self._parts(), strict=True)
        return partial(self._in_units, tuple(units_of(part, len(group.columns)) for part, group in points))

    def embed(self, rows: Floats) -> Floats:
        """The same, with the rows themselves as the sample."""
        return self.embedding(rows)(rows)

    def _in_units(self, units: tuple[Floats, ...], rows: Floats) -> Floats:
        pairs = zip(self._points(rows), units, strict=True)
        return np.concatenate([part / unit for part, unit in pairs], axis=1)

    def _points(self, rows: Floats) -> list[Floats]:
        """Each group's own embedding."""
        return [part.family.embed(np.ascontiguousarray(rows[:, part.columns])) for part in self._parts()]

    def typical(self, rows: Floats) -> Floats:
        """Each group's own."""
        found = np.empty(self.n_columns)
        for part in self._parts():
            found[part.columns] = part.family.typical(rows[:, part.columns])
        return found

    def spiked(self, params: ProductParams) -> bool:
        """Whether those of a group are."""
        return any(part.family.spiked(own) for part, own in self._with(params))

    def health(self, params: ProductParams) -> Mapping[str, float]:
        """All groups' figures: the smallest of what is called smallest, the largest of the others."""
        merged: dict[str, float] = {}
        for part, own in self._with(params):
            for name, value in part.family.health(own).items():
                worse = min if name.startswith("smallest") else max
                merged[name] = worse(value, merged.get(name, value))
        return merged

    def coordinates(self, params: ProductParams) -> Any:
        """The groups' coordinates one after the other."""
        from unveil.families.coordinates import ProductCoordinates

        return ProductCoordinates(self, params)

    # -- groups --------------------------------------------------------------------------------------------------------

    def _parts(self) -> Iterator[Part]:
        """The groups, and where their statistics are."""
        first = 0
        for family, columns in self.parts:
            last = first + family.n_statistics(len(columns))
            yield Part(family, np.array(columns, dtype=np.intp), slice(first, last))
            first = last

    def _home(self, column: int) -> tuple[int, int]:
        """The number of a column's group, and its place there."""
        return next((n, own.index(column)) for n, (_, own) in enumerate(self.parts) if column in own)

    def _with(self, params: ProductParams) -> Iterator[tuple[Part, Any]]:
        return zip(self._parts(), params.parts, strict=True)

    @staticmethod
    def _piece(tile: Tile, number: int, part: Part) -> Tile:
        """The tile of one group; what it makes of its rows lives on in the scratch of the whole."""
        own = tile.scratch.setdefault(f"part {number}", {})
        piece = Tile(np.empty(0), tile.logits, tile.weights, tile.places, _observed(tile, part.columns), own)
        piece.x = piece.room("x", len(part.columns), tile.x.shape[1])
        np.take(tile.x, part.columns, axis=0, out=piece.x)
        return piece


def _observed(tile: Tile, columns: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """The places of what is there among a group's columns; None when all are there."""
    there = np.ones(len(columns), dtype=np.bool_) if tile.observed is None else np.isin(columns, tile.observed)
    return None if there.all() else np.flatnonzero(there)


def _places(columns: NDArray[np.intp], wanted: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where each of `wanted` is among `columns`."""
    return np.argmax(wanted[:, None] == columns, axis=1)


def _assembled(kept: list[tuple[NDArray[np.intp], tuple[Family, Any]]]) -> tuple[Product, ProductParams]:
    """A product of what is left."""
    parts = tuple((family, tuple(int(column) for column in columns)) for columns, (family, _) in kept)
    return Product(parts), ProductParams(tuple(params for _, (_, params) in kept))
