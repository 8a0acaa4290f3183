"""What a family of distributions owes a mixture: to score the rows of a tile, and to add up what its M step reads.

An *exponential* family is two matrix products. With T(x) the sufficient statistics of a row, the first of them the
constant 1, and h(x) a factor that no parameter touches,

    log p(x | component) = log h(x) + T(x) . eta(component)   so   logits  = eta @ T      (components, rows)
    the M step needs     sum over rows of r(component) T(x)   so   moments = R @ T.T      (components, statistics)

and a family of one's own needs T, eta and the way back from moments to parameters. Tiles are laid out (columns, rows).
Rows with missing cells come in tiles of one pattern each; `Independent` and `Gaussian` take those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.declared import Declared
from unveil.families.kernels.em import CompiledSums, score_pairs
from unveil.numerics.tiles import numpy_tile_rows

if TYPE_CHECKING:
    from unveil.families.columns.ellipses import Ellipses
    from unveil.families.columns.in_turn import InTurn
    from unveil.families.columns.missing_cells import MissingCells
    from unveil.families.small.cell_kinds import CellKind
    from unveil.families.small.states import SmallStates
    from unveil.families.small.table import GaussianTable

OWN = "own"  # what a column of a family of the user's own is taken for


@dataclass
class Tile:
    """Some rows of a block, with room for what is made of them."""

    x: Floats  # (columns, rows), in the frame; NaN in the columns that are missing
    logits: Floats  # (components, rows): log p(x | component), then responsibilities times weights
    weights: Floats | None = None
    places: Any = None  # of the rows within the block: a slice, or numbers
    observed: NDArray[np.intp] | None = None  # columns that are not missing; None when all are there
    scratch: dict[str, Any] = field(default_factory=dict)

    def room(self, name: str, *shape: int) -> Floats:
        """An array to write to, the same one for every tile of this shape."""
        if name not in self.scratch or self.scratch[name].shape != shape:
            self.scratch[name] = np.empty(shape)
        return self.scratch[name]


class Family(ABC):
    """A family of distributions over the columns of a table. Frozen; parameters travel beside it.

    Parameters of all k components are one object. `moments` are (components, statistics), the weight of each
    component first, and are the only thing that the M step reads.
    """

    framed: bool = False  # may the data be shifted by a constant vector? (true of location families)
    takes_missing: bool = False  # can it score rows of which only some columns are there?
    separable: bool = False  # are columns, or groups of them, independent, so that no pattern of all of them is needed?
    ordered: bool = False  # do rules name components by number, so that their order means something?
    by_cells: bool = False  # does nothing go faster than `unveil.families.small.cells`, even where no cell is missing?
    neutral: float = 0.0  # stands in for a missing cell where its value cannot matter; inside the family's support
    kind: str = OWN  # what users call a column of it, where there is a word
    mixture: str = ""  # which of unveil's estimators is a mixture of it, where there is one
    heavier: str = ""  # which of them is the same but for heavier tails, where there is one

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("kind", "mixture"):  # a family made from another is one of its own, unless it says
            setattr(cls, name, vars(cls).get(name, getattr(Family, name)))

    @property
    def within(self) -> Family:
        """The family whose E step it is: what is held or tied changes nothing but the M step."""
        return self

    @abstractmethod
    def n_statistics(self, n_columns: int) -> int:
        """Length of a row of `moments`."""

    def tile_rows(self, n_columns: int, n_components: int) -> int:
        """Rows of a tile: so many that what is made of them stays in a cache."""
        return numpy_tile_rows(self.n_statistics(n_columns) + n_components)

    def framing(self, n_columns: int) -> NDArray[np.bool_]:
        """Which columns may be shifted."""
        return np.full(n_columns, self.framed)

    def unframed(self, shift: Floats) -> str | None:
        """What is wrong with the shift of a frame: columns that may not be shifted are."""
        moved = np.any(shift[~self.framing(len(shift))] != 0)
        return "be 0 in columns that have no frame" if moved else None

    @abstractmethod
    def plan(self, params: Any) -> Any:
        """What the rows of a whole pass need of the parameters, computed once."""

    @abstractmethod
    def score(self, plan: Any, tile: Tile) -> None:
        """Write log p(x | component) - log h(x) to ``tile.logits``."""

    def score_listed(self, plan: Any, tile: Tile, listed: NDArray[np.intp]) -> Floats:
        """log p(x | component) - log h(x) for the components listed for each row, (list, rows)."""
        self.score(plan, tile)
        return np.take_along_axis(tile.logits, listed, axis=0)

    @abstractmethod
    def gather(self, plan: Any, tile: Tile) -> Floats:
        """Sums of statistics (components, statistics) by the responsibilities in ``tile.logits``, after `score` of it;
        missing cells count with their expectation under each component."""

    @abstractmethod
    def gather_first(self, tile: Tile) -> Floats:
        """The same for a start, when there are no parameters yet and no cell is missing."""

    @abstractmethod
    def natural(self, params: Any) -> Floats:
        """eta, (components, statistics): the expected log-likelihood of moments is the sum of their product."""

    @abstractmethod
    def maximise(self, moments: Floats, params: Any) -> Any:
        """Parameters of greatest likelihood given sums of T; components with no weight keep their parameters."""

    @abstractmethod
    def first(self, moments: Floats) -> Any:
        """`maximise` without parameters to fall back on: the start of a fit."""

    @abstractmethod
    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Free parameters of the components."""

    @abstractmethod
    def draw(self, params: Any, component: int, count: int, random: np.random.RandomState) -> Floats:
        """`count` rows (count, columns) from one component, in the frame."""

    @abstractmethod
    def taken(self, params: Any, components: NDArray[np.intp]) -> Any:
        """Parameters of some components, in this order."""

    def declared(self, n_components: int, n_columns: int) -> Declared:
        """What parameters from a file must be."""
        raise TypeError(f"parameters of {type(self).__name__} are not stored")

    def factoring(self, n_columns: int) -> int:
        """Multiplications, about, that a component costs before a row is drawn from it: those of its covariances."""
        return int(self.framing(n_columns).sum()) ** 3

    def log_base(self, x: Floats) -> Floats | None:
        """log h(x) of each row of `x` (columns, rows), missing cells left out; None when h is 1."""
        return None

    def encode(self, rows: NDArray[Any], n_components: int) -> Any:
        """Rows (rows, columns) in a form that `expect_coded` takes faster, made once; None where there is none."""
        return None

    def expect_coded(self, plan: Any, log_weights: Floats, codes: Any, weights: Floats | None) -> tuple[Floats, float]:
        """Moments and log-likelihood of a block under the posterior, from what `encode` made of it."""
        raise TypeError(f"{type(self).__name__} has no form of its own for rows")

    def fused(self, plan: Any) -> CompiledSums | None:
        """Compiled sums for the whole E step of a block, where this plan allows them; it then has a `natural`."""
        return None

    has_small_tables: bool = False  # are there passes over small tables that are compiled as a whole?

    def small_table(self, rows: Floats, weights: Floats | None) -> GaussianTable:
        """Rows (rows, columns) in the frame, none missing, for such passes."""
        raise TypeError(f"{type(self).__name__} has no passes over small tables")

    def cell_kind(self, n_columns: int) -> CellKind | None:
        """What its columns are to `unveil.families.small.cells`; None where they are nothing of that."""
        return None

    def small_states(self, rows: Floats) -> SmallStates | None:
        """The same for the states of a chain; None where there are no such passes, or not over these rows."""
        return None

    def level_scores(self, plan: Any) -> Floats | None:
        """log p(level | component) of the levels of a single column of codes, (levels, components); None for others."""
        return None

    def gather_levels(self, shares: Floats) -> Floats:
        """Moments from the responsibilities of all rows of each level, (levels, components)."""
        raise TypeError(f"{type(self).__name__} has no levels")

    missing_compiled: bool = False  # does `expect_missing` take seconds to compile, so that small tables go without?

    def expect_missing(
        self, plan: Any, log_weights: Floats, rows: Floats, weights: Floats | None, patterns: Any
    ) -> tuple[Floats, float] | None:
        """Moments and log-likelihood of a block with missing cells under the posterior, in one compiled piece, or None.

        `rows` (rows, columns) are in the frame and `patterns` those of `unveil.numerics.missing_patterns`. Columns that
        are independent need none of these: random holes make nearly one pattern per row.
        """
        from unveil.families.columns.missing_cells import expect_cells

        return expect_cells(self, plan, log_weights, rows, weights) if self.separable else None

    def missing_cells(self, plan: Any, x: Floats, n_components: int) -> MissingCells:
        """Rows `x` (columns, rows) with any cells missing, for one pass; by patterns where nothing is faster."""
        from unveil.families.columns.missing_cells import ByPattern

        return ByPattern(self, plan, x, n_components)

    def complete(self, plan: Any, tile: Tile) -> Floats:
        """The rows (columns, rows) with missing cells replaced by their expectation, given ``tile.logits`` = q."""
        raise TypeError(f"{type(self).__name__} does not take missing values")

    def marginal(self, params: Any, columns: NDArray[np.intp]) -> tuple[Family, Any]:
        """The family of some of the columns, and its parameters."""
        raise TypeError(f"{type(self).__name__} has no marginal")

    def conditional(self, params: Any, columns: NDArray[np.intp], values: Floats) -> tuple[Family, Any]:
        """The family of the other columns given the values of `columns`, and its parameters; weights are not ours."""
        raise TypeError(f"{type(self).__name__} has no conditional")

    def groups(self, n_columns: int) -> tuple[tuple[Family, tuple[int, ...]], ...]:
        """Families that are independent of each other, and their columns: this one, unless it is a product."""
        return ((self, tuple(range(n_columns))),)

    def parted(self, params: Any) -> Sequence[Any]:
        """Parameters of the groups."""
        return (params,)

    def joined(self, parts: Sequence[Any]) -> Any:
        """Those of all groups."""
        return parts[0]

    def in_full(self, params: Any) -> tuple[Family, Any]:
        """The same without a structure: covariances as full matrices, one for each component."""
        return self, params

    def told_apart(self, params: Any, weights: Floats) -> tuple[Family, Any, Floats]:
        """Components and their weights, where the parts of components are told apart and nothing is held."""
        return self, params, weights

    def means(self, params: Any) -> Floats:
        """Expected row of each component, (components, columns), in the frame."""
        raise TypeError(f"{type(self).__name__} has no means")

    def covariances(self, params: Any) -> Floats:
        """Covariance of a row of each component, (components, columns, columns)."""
        raise TypeError(f"{type(self).__name__} has no covariances")

    def distribution(self, params: Any, column: int, x: Floats) -> Floats:
        """P(X <= x) of one column under each component, (components, len(x)), in the frame."""
        raise TypeError(f"{type(self).__name__} has no quantiles")

    def ellipses(self, params: Any) -> tuple[Ellipses, ...]:
        """Groups of columns in which each component has a centre and a matrix."""
        return ()

    def cumulative(self, params: Any, column: int, x: Floats) -> Floats:
        """The same, for categories too: in the order of their codes."""
        return self.distribution(params, column, x)

    def in_turn(self, params: Any, x: Floats) -> InTurn:
        """What each column of `x` (columns, rows) in the frame is given those before it, under each component."""
        from unveil.families.columns.in_turn import independent_in_turn

        return independent_in_turn(self, params, x)

    def is_lattice(self, column: int) -> bool:
        """Whether a column holds whole numbers only."""
        return False

    def n_levels(self, column: int) -> int | None:
        """How many codes 0, 1, ... stand for the categories of a column; None where it holds numbers."""
        return None

    def embed(self, rows: Floats) -> Floats:
        """Rows (rows, columns) as points among which distances make sense, for starts by distance."""
        return rows

    def embedding(self, sample: Floats) -> Callable[[Floats], Floats]:
        """`embed`, in units that a sample (rows, columns) says."""
        return self.embed

    def typical(self, rows: Floats) -> Floats:
        """What stands in for missing cells at a start, (columns,): the mean of what is there."""
        there = ~np.isnan(rows)
        counts = there.sum(axis=0)
        return np.where(counts > 0, np.where(there, rows, 0.0).sum(axis=0) / np.maximum(counts, 1), self.neutral)

    def log_prior(self, params: Any) -> float:
        """Log-density of the prior at the parameters; 0 without one."""
        return 0.0

    def gauge(self, rows: Floats, weights: Floats, n_components: int) -> Floats:
        """What a mild prior has to know of rows (rows, columns), as one vector; nothing where there is no such prior.

        Of numbers the variance within a component, roughly; of counts their mean; of categories how frequent they are.
        """
        return np.empty(0)

    def gauge_size(self, n_columns: int) -> int:
        """Its length."""
        return 0

    def mildly(self, gauge: Floats, strength: float) -> Family:
        """This family with a mild prior, of the usual strength where that is 1; one that has a prior keeps that."""
        return self

    def admissible(self, moments: Floats) -> bool:
        """Could these be sums over real rows? What acceleration extrapolates must be."""
        return bool(np.all(np.isfinite(moments)) and np.all(moments[:, 0] > 0))

    def lacks(self, moments: Floats) -> str | None:
        """What moments from a file lack of being sums over rows, in words; rounding is none."""
        return None if np.all(moments[:, 0] >= 0) else "have weights from 0"

    def least_rows(self, n_columns: int) -> int:
        """A component on no more rows than this is known by nothing but them: its likelihood may have no bound."""
        return 0

    def suits(self, params: Any, n_columns: int) -> bool:
        """Whether parameters of this kind are of the shapes that the family gives them."""
        return True

    def settled(self, params: Any) -> Any:
        """Parameters that obey what is held and tied."""
        return params

    def in_frame(self, shift: Floats) -> Family:
        """The family of rows less `shift`: what it was told of places, in the coordinates of the rows, goes along."""
        return self

    def recentre(self, params: Any) -> Any:
        """Give components that are narrow against their distance from the origin a frame of their own."""
        return params

    def same_frames(self, one: Any, other: Any) -> bool:
        """Whether moments under both parameters are about the same points, so that they add."""
        return True

    def located(self, params: Any, shift: Floats) -> Any:
        """Parameters of x + `shift`, where the family may be shifted."""
        if self.framed:
            raise TypeError(f"{type(self).__name__} must say where its parameters go with a shift")
        return params

    def moved(self, moments: Floats, params: Any, target: Any, shift: Floats) -> Floats:
        """Moments under `params` as they are under the frames of `target`, whose rows are x + `shift`."""
        if self.framed:
            raise TypeError(f"{type(self).__name__} does not move its moments from frame to frame")
        return moments

    def floored(self, params: Any) -> int:
        """How many components had to be kept from degenerating, where the parameters say so."""
        return int(getattr(params, "floored", 0))

    def spiked(self, params: Any) -> bool:
        """Whether a component has, in some direction, little more variance than was added to it."""
        return False

    def health(self, params: Any) -> Mapping[str, float]:
        """Figures for the certificate, such as the smallest and largest variance of a component."""
        return {}

    def coordinates(self, params: Any) -> Any:
        """Unconstrained coordinates around `params`, an `unveil.families.coordinates.Coordinates`."""
        raise TypeError(f"{type(self).__name__} has no unconstrained coordinates, which gradient schedules need")


class ExponentialPlan(NamedTuple):
    """What a pass needs of the parameters of an exponential family."""

    natural: Floats
    params: Any


class ExponentialFamily(Family):
    """A family by its sufficient statistics."""

    @property
    def sums(self) -> CompiledSums | None:
        """T and its sums as compiled functions; None for a family that writes `statistics` in NumPy instead."""
        return None

    def statistics(self, x: Floats, out: Floats) -> None:
        """Write T of each row of the tile `x` (columns, rows) to `out` (statistics, rows); out[0] is 1."""
        if self.sums is None:
            raise TypeError(f"{type(self).__name__} must define `statistics`, or `sums` as compiled functions")
        self.sums.statistics(np.ascontiguousarray(x), out)

    def fused(self, plan: Any) -> CompiledSums | None:
        """Compiled sums for the whole E step of a block, where this plan allows them."""
        return self.sums

    def plan(self, params: Any) -> Any:
        """Natural parameters."""
        return ExponentialPlan(self.natural(params), params)

    def score(self, plan: Any, tile: Tile) -> None:
        """logits = eta @ T."""
        np.matmul(plan.natural, self._table(tile), out=tile.logits)

    def score_listed(self, plan: Any, tile: Tile, listed: NDArray[np.intp]) -> Floats:
        """Only the pairs that are asked for, where no cell is missing and all components share the frame."""
        if tile.observed is not None or self.fused(plan) is None:
            return super().score_listed(plan, tile, listed)
        return score_pairs(plan.natural, np.ascontiguousarray(self._table(tile).T), listed)

    def gather(self, plan: Any, tile: Tile) -> Floats:
        """moments = R @ T'."""
        return tile.logits @ tile.scratch["statistics"].T

    def gather_first(self, tile: Tile) -> Floats:
        """moments = R @ T'."""
        return tile.logits @ self._table(tile).T

    def _table(self, tile: Tile) -> Floats:
        """T of the tile, (statistics, rows)."""
        n_columns, n_rows = tile.x.shape
        table = tile.room("statistics", self.n_statistics(n_columns), n_rows)
        self.statistics(tile.x, table)
        return table
