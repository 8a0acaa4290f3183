"""A family that is another one in all but a few things: what is not said anew here is left to the family within."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.families.base import Family, Tile
from unveil.families.kernels.em import CompiledSums
from unveil.families.missing_cells import MissingCells

# what a family is like
NATURE = ("framed", "takes_missing", "separable", "neutral", "missing_compiled")


class Wrapped(Family):
    """Hands everything on to `family`; `maximise`, `first`, `n_parameters` and `coordinates` are left to say."""

    family: Family

    @abstractmethod
    def coordinates(self, params: Any) -> Any:
        """Unconstrained coordinates around `params`."""

    @property
    def within(self) -> Family:
        """As within."""
        return self.family.within

    def n_statistics(self, n_columns: int) -> int:
        """As within."""
        return self.family.n_statistics(n_columns)

    def framing(self, n_columns: int) -> NDArray[np.bool_]:
        """As within."""
        return self.family.framing(n_columns)

    # -- E step --------------------------------------------------------------------------------------------------------

    def plan(self, params: Any) -> Any:
        """As within."""
        return self.family.plan(params)

    def score(self, plan: Any, tile: Tile) -> None:
        """As within."""
        self.family.score(plan, tile)

    def score_listed(self, plan: Any, tile: Tile, listed: NDArray[np.intp]) -> Floats:
        """As within."""
        return self.family.score_listed(plan, tile, listed)

    def gather(self, plan: Any, tile: Tile) -> Floats:
        """As within."""
        return self.family.gather(plan, tile)

    def gather_first(self, tile: Tile) -> Floats:
        """As within."""
        return self.family.gather_first(tile)

    def log_base(self, x: Floats) -> Floats | None:
        """As within."""
        return self.family.log_base(x)

    def encode(self, rows: NDArray[Any], n_components: int) -> Any:
        """As within."""
        return self.family.encode(rows, n_components)

    def expect_coded(self, plan: Any, log_weights: Floats, codes: Any, weights: Floats | None) -> tuple[Floats, float]:
        """As within."""
        return self.family.expect_coded(plan, log_weights, codes, weights)

    def expect_missing(
        self, plan: Any, log_weights: Floats, rows: Floats, weights: Floats | None, patterns: Any
    ) -> tuple[Floats, float] | None:
        """As within."""
        return self.family.expect_missing(plan, log_weights, rows, weights, patterns)

    def fused(self, plan: Any) -> CompiledSums | None:
        """As within."""
        return self.family.fused(plan)

    def missing_cells(self, plan: Any, x: Floats, n_components: int) -> MissingCells:
        """As within."""
        return self.family.missing_cells(plan, x, n_components)

    def complete(self, plan: Any, tile: Tile) -> Floats:
        """As within."""
        return self.family.complete(plan, tile)

    # -- parameters ----------------------------------------------------------------------------------------------------

    def natural(self, params: Any) -> Floats:
        """As within."""
        return self.family.natural(params)

    def log_prior(self, params: Any) -> float:
        """As within."""
        return self.family.log_prior(params)

    def admissible(self, moments: Floats) -> bool:
        """As within."""
        return self.family.admissible(moments)

    def least_rows(self, n_columns: int) -> int:
        """As within."""
        return self.family.least_rows(n_columns)

    def suits(self, params: Any, n_columns: int) -> bool:
        """As within."""
        return self.family.suits(params, n_columns)

    def recentre(self, params: Any) -> Any:
        """As within."""
        return self.family.recentre(params)

    def same_frames(self, one: Any, other: Any) -> bool:
        """As within."""
        return self.family.same_frames(one, other)

    def located(self, params: Any, shift: Floats) -> Any:
        """As within."""
        return self.family.located(params, shift)

    def moved(self, moments: Floats, params: Any, target: Any, shift: Floats) -> Floats:
        """As within."""
        return self.family.moved(moments, params, target, shift)

    def floored(self, params: Any) -> int:
        """As within."""
        return self.family.floored(params)

    def spiked(self, params: Any) -> bool:
        """As within."""
        return self.family.spiked(params)

    def health(self, params: Any) -> Mapping[str, float]:
        """As within."""
        return self.family.health(params)

    # -- use -----------------------------------------------------------------------------------------------------------

    def draw(self, params: Any, component: int, count: int, random: np.random.RandomState) -> Floats:
        """As within."""
        return self.family.draw(params, component, count, random)

    def taken(self, params: Any, components: NDArray[np.intp]) -> Any:
        """As within."""
        return self.family.taken(params, components)

    def told_apart(self, params: Any, weights: Floats) -> tuple[Family, Any, Floats]:
        """The components within."""
        return self.family.told_apart(params, weights)

    def means(self, params: Any) -> Floats:
        """As within."""
        return self.family.means(params)

    def covariances(self, params: Any) -> Floats:
        """As within."""
        return self.family.covariances(params)

    def distribution(self, params: Any, column: int, x: Floats) -> Floats:
        """As within."""
        return self.family.distribution(params, column, x)

    def is_lattice(self, column: int) -> bool:
        """As within."""
        return self.family.is_lattice(column)

    def n_levels(self, column: int) -> int | None:
        """As within."""
        return self.family.n_levels(column)

    def marginal(self, params: Any, columns: NDArray[np.intp]) -> tuple[Family, Any]:
        """As within."""
        return self.family.marginal(params, columns)

    def conditional(self, params: Any, columns: NDArray[np.intp], values: Floats) -> tuple[Family, Any]:
        """As within."""
        return self.family.conditional(params, columns, values)

    def embed(self, rows: Floats) -> Floats:
        """As within."""
        return self.family.embed(rows)

    def embedding(self, sample: Floats) -> Callable[[Floats], Floats]:
        """As within."""
        return self.family.embedding(sample)

    def typical(self, rows: Floats) -> Floats:
        """As within."""
        return self.family.typical(rows)
