"""States over a small table at hand: what a chain asks of its emissions at every pass, with parameters as one vector.

A chain scores all rows first, then runs through them, and comes back with posteriors. Gaussians do both in compiled
pieces (`unveil.families.kernels.small_emissions`); families with few statistics by two matrix products, and a single
column of codes by looking up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.families.kernels.small_emissions import (
    count_codes,
    maximise_matrices,
    maximise_variances,
    pull_spread,
    score_matrices,
    score_variances,
    spread_density,
)
from unveil.families.small.table import GaussianTable

if TYPE_CHECKING:
    from unveil.families.independent import TableFamily

DEAD = 1e-9  # share of all the weight at which a state counts as dead


class CodedColumn(NamedTuple):
    """Rows that are codes of so many levels, whose probabilities are no lower than `lowest`."""

    codes: NDArray[np.intp]
    levels: int
    lowest: float


class SmallStates(ABC):
    """Rows at hand, none of them missing."""

    coded: CodedColumn | None = None  # parameters are then probabilities (k, levels)

    @abstractmethod
    def vector(self, params: Any) -> Floats:
        """The family's parameters, one after the other."""

    @abstractmethod
    def params(self, vector: Floats) -> Any:
        """The way back."""

    @abstractmethod
    def score(self, vector: Floats, logits: Floats) -> bool:
        """Log-densities (k, rows), base measure aside; False where the general way has to take over."""

    @abstractmethod
    def maximise(self, vector: Floats, shares: Floats, fresh: Floats, sums: Floats) -> int:
        """The M step under posteriors (k, rows), and the sums that it is made from.

        How many states had to be kept from degenerating; -1 where the general way has to take over.
        """

    def pulled(self, sums: Floats, fresh: Floats) -> int | None:
        """The M step with a prior, from sums alone, and how many were mended; None where there is none to add."""
        return None

    @abstractmethod
    def moments(self, vector: Floats, sums: Floats, params: Any) -> Floats:
        """The sums of a pass as the family's statistics."""

    def spiked(self, vector: Floats) -> bool:
        """Whether a state has, in some direction, little more spread than was added to it."""
        return False

    @abstractmethod
    def log_prior(self, vector: Floats) -> float:
        """Log-density of the family's prior; 0 without one."""

    @abstractmethod
    def size(self, n_components: int) -> int:
        """Length of a vector."""

    @abstractmethod
    def n_sums(self, n_components: int) -> int:
        """How many sums there are."""


@dataclass(frozen=True, eq=False)
class GaussianStates(SmallStates):
    """Gaussians of any structure that has a pass in one piece."""

    table: GaussianTable

    def vector(self, params: Any) -> Floats:
        """As for a mixture, with weights that nobody looks at."""
        k = len(params.means)
        return self.table.vector(np.full(k, 1.0 / k), params)

    def params(self, vector: Floats) -> Any:
        """Means and covariances."""
        return self.table.params(vector)[1]

    def score(self, vector: Floats, logits: Floats) -> bool:
        """Centred, by Cholesky factors."""
        run = score_matrices if self.table.has_matrices else score_variances
        return bool(run(self.table.x, vector, self.table.floor, logits))

    def maximise(self, vector: Floats, shares: Floats, fresh: Floats, sums: Floats) -> int:
        """Moments about the means that entered the pass."""
        table, reg_covar, prior = self.table, self.table.family.reg_covar, self.table.family.prior
        run = maximise_matrices if table.has_matrices else maximise_variances
        if not run(table.x, shares, vector, reg_covar, table.shares_spread, fresh, sums):
            return -1
        if prior is not None:
            pull_spread(sums, self._scales, prior.rows, reg_covar, table.has_matrices, table.shares_spread, fresh)
        return 0

    def log_prior(self, vector: Floats) -> float:
        """Of the covariances: a pass leaves none that has no density."""
        prior = self.table.family.prior
        if prior is None:
            return 0.0
        k = self.table.n_components(vector)
        return float(spread_density(vector, k, self._scales, prior.rows, self.table.has_matrices)) + k * self._constant

    @cached_property
    def _scales(self) -> Floats:
        """The diagonal of the prior's matrix."""
        assert self.table.family.prior is not None
        return np.diagonal(self.table.family.prior.scale).copy()

    @cached_property
    def _constant(self) -> float:
        """Of the prior of one state."""
        assert self.table.family.prior is not None
        return self.table.family.prior.log_constant

    def moments(self, vector: Floats, sums: Floats, params: Any) -> Floats:
        """About the origins of `params`."""
        return self.table.moments(vector, sums, params)

    def spiked(self, vector: Floats) -> bool:
        """By the family's own rule."""
        return self.table.spiked(vector)

    def size(self, n_components: int) -> int:
        """Weights, means and spread."""
        return n_components * (1 + len(self.table.x) + math.prod(self.table.spread_shape))

    def n_sums(self, n_components: int) -> int:
        """As many as there are parameters."""
        return self.size(n_components)


@dataclass(frozen=True, eq=False)
class LinearStates(SmallStates):
    """A family whose parameters are one table, by products with its statistics (statistics, rows)."""

    family: TableFamily
    statistics: Floats

    def vector(self, params: Any) -> Floats:
        """The table."""
        table: Floats = np.asarray(getattr(params, self.family.table), dtype=np.float64).ravel()
        return table

    def params(self, vector: Floats) -> Any:
        """Of a vector."""
        return self.family.of_table(vector.reshape(-1, len(self.statistics) - 1).copy())

    def score(self, vector: Floats, logits: Floats) -> bool:
        """logits = eta @ T."""
        np.matmul(self.family.natural(self.params(vector)), self.statistics, out=logits)
        return True

    def maximise(self, vector: Floats, shares: Floats, fresh: Floats, sums: Floats) -> int:
        """moments = R @ T', and the family's own M step."""
        return self._stepped(shares @ self.statistics.T, fresh, sums)

    def _stepped(self, moments: Floats, fresh: Floats, sums: Floats) -> int:
        sums[:] = moments.ravel()
        counts = moments[:, 0]
        if not counts.min() > DEAD * counts.sum():
            return -1
        found = self.family.first(moments)
        fresh[:] = getattr(found, self.family.table).ravel()
        return self.family.floored(found)

    def log_prior(self, vector: Floats) -> float:
        """The family's own."""
        return 0.0 if self.family.prior is None else self.family.log_prior(self.params(vector))

    def moments(self, vector: Floats, sums: Floats, params: Any) -> Floats:
        """They are the sums."""
        return sums.reshape(len(getattr(params, self.family.table)), -1).copy()

    def size(self, n_components: int) -> int:
        """A parameter for each statistic but the first."""
        return n_components * (len(self.statistics) - 1)

    def n_sums(self, n_components: int) -> int:
        """Statistics of each state."""
        return n_components * len(self.statistics)


@dataclass(frozen=True, eq=False)
class CodedStates(LinearStates):
    """One column of codes: their log-probabilities are looked up, and their shares counted."""

    codes: NDArray[np.intp]
    levels: int
    lowest: float  # probability

    @property
    def coded(self) -> CodedColumn:  # type: ignore[override]
        """They are."""
        return CodedColumn(self.codes, self.levels, self.lowest)

    def params(self, vector: Floats) -> Any:
        """Probabilities (k, levels)."""
        return self.family.of_table(vector.reshape(-1, self.levels).copy())

    def score(self, vector: Floats, logits: Floats) -> bool:
        """Logarithms; minus infinity for what is impossible."""
        table = vector.reshape(-1, self.levels)
        with np.errstate(divide="ignore"):
            np.take(np.log(table), self.codes, axis=1, out=logits)
        return True

    def maximise(self, vector: Floats, shares: Floats, fresh: Floats, sums: Floats) -> int:
        """Counts of the codes."""
        mended = int(count_codes(self.codes, shares, self.lowest, fresh, sums))
        pulled = self.pulled(sums, fresh) if mended >= 0 else None
        return mended if pulled is None else pulled

    def pulled(self, sums: Floats, fresh: Floats) -> int | None:
        """By the family, whose pseudo-counts they get."""
        if self.family.prior is None:
            return None
        found = self.family.first(sums.reshape(-1, 1 + self.levels))
        fresh[:] = getattr(found, self.family.table).ravel()
        return self.family.floored(found)

    def size(self, n_components: int) -> int:
        """Probabilities of the levels."""
        return n_components * self.levels

    def n_sums(self, n_components: int) -> int:
        """A count for all, and one for each level."""
        return n_components * (1 + self.levels)
