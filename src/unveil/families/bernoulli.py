"""The Bernoulli family: independent yes/no columns.

log p(x | component) = sum_j x_j log(p_j / (1 - p_j)) + sum_j log(1 - p_j), so T(x) = (1, x). Probabilities are kept
away from 0 and 1: at the very edge one surprising cell would make a row impossible under every component.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.declared import Declared, RecordOf, chances, counts
from unveil.families.independent import PROBABILITY_FLOOR, Ratios, TableFamily, Terms
from unveil.families.kernels.bits import BitCodes, encode, expect_bits
from unveil.families.kernels.em import LINEAR
from unveil.families.priors import MILD_ROWS, Beta
from unveil.families.small.cell_kinds import CodeCells


@dataclass(frozen=True)
class BernoulliParams:
    """Probabilities of yes, (k, d)."""

    probabilities: Floats
    floored: int = 0


@dataclass(frozen=True)
class Bernoulli(TableFamily):
    """Independent yes/no columns, with a Beta `prior` on every probability or none."""

    prior: Beta | None = None

    kind = "yes/no"
    mixture = "BernoulliMixture"
    sums = LINEAR
    table = "probabilities"

    def declared(self, n_components: int, n_columns: int) -> Declared:
        """Probabilities off 0 and 1, which have no odds."""
        table = chances(n_components, n_columns, above=True, high=np.nextafter(1.0, 0.0))
        return RecordOf(BernoulliParams, {"probabilities": table, "floored": counts()})

    def terms(self, params: BernoulliParams) -> Terms:
        """Log-probabilities of no, and log-odds."""
        log_no = np.log1p(-params.probabilities)
        return Terms(log_no, np.log(params.probabilities) - log_no)

    def means(self, params: BernoulliParams) -> Floats:
        """The probabilities."""
        return params.probabilities

    def variances(self, params: BernoulliParams) -> Floats:
        """p (1 - p)."""
        return params.probabilities * (1.0 - params.probabilities)

    def distribution(self, params: BernoulliParams, column: int, x: Floats) -> Floats:
        """A step at 0 and one at 1."""
        no = 1.0 - params.probabilities[:, column, None]
        return np.where(x < 0, 0.0, np.where(x < 1, no, 1.0))

    def is_lattice(self, column: int) -> bool:
        """Always."""
        return True

    def first(self, moments: Floats) -> BernoulliParams:
        """Shares of yes; a component without weight gets those of all the data."""
        moments = np.where(moments[:, :1] > 0, moments, moments.sum(axis=0))
        yes, total = moments[:, 1:], moments[:, :1]
        if self.prior is not None:
            yes, total = yes + (self.prior.a - 1), total + (self.prior.a + self.prior.b - 2)
        shares = yes / total
        kept = np.clip(shares, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
        return BernoulliParams(kept, int(np.count_nonzero(np.any(kept != shares, axis=1))))

    def ratios(self, moments: Floats) -> Ratios:
        """Yes over weight."""
        a, b = (1.0, 1.0) if self.prior is None else (self.prior.a, self.prior.b)
        yes = moments[:, 1:] + (a - 1.0)
        return Ratios(
            yes, np.broadcast_to(moments[:, :1] + (a + b - 2.0), yes.shape), PROBABILITY_FLOOR, 1.0 - PROBABILITY_FLOOR
        )

    def of_table(self, table: Floats) -> BernoulliParams:
        """Of the probabilities."""
        return BernoulliParams(table)

    def cell_kind(self, n_columns: int) -> CodeCells | None:
        """Codes of two levels, unless there is a prior."""
        return CodeCells(self, (2,) * n_columns, yes_no=True) if self.prior is None else None

    def log_prior(self, params: BernoulliParams) -> float:
        """Beta, where there is one."""
        return 0.0 if self.prior is None else self.prior.log_density(params.probabilities)

    def gauge(self, rows: Floats, weights: Floats, n_components: int) -> Floats:
        """The share of yes in each column; what is missing says nothing."""
        there = ~np.isnan(rows)
        return (weights @ np.where(there, rows, 0.0)) / np.maximum(weights @ there, 1e-300)

    def gauge_size(self, n_columns: int) -> int:
        """One for each column."""
        return n_columns

    def mildly(self, gauge: Floats, strength: float) -> Bernoulli:
        """A row like those on the whole."""
        rows = MILD_ROWS * strength
        return self if self.prior is not None else Bernoulli(Beta(1.0 + rows * gauge, 1.0 + rows * (1.0 - gauge)))

    def admissible(self, moments: Floats) -> bool:
        """Shares between 0 and 1."""
        between = np.all(moments[:, 1:] >= 0) and np.all(moments[:, 1:] <= moments[:, :1])
        return bool(super().admissible(moments) and between)

    def encode(self, rows: NDArray[Any], n_components: int) -> BitCodes | None:
        """Rows as bits, eight columns a byte."""
        return encode(rows, n_components)

    def expect_coded(
        self, plan: Any, log_weights: Floats, codes: BitCodes, weights: Floats | None
    ) -> tuple[Floats, float]:
        """By look-up."""
        natural = plan.natural.copy()
        natural[:, 0] += log_weights
        return expect_bits(codes, np.empty(0) if weights is None else weights, natural)

    def draw(self, params: BernoulliParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Zeros and ones."""
        chances = params.probabilities[component]
        drawn: Floats = (random.random_sample((count, len(chances))) < chances).astype(np.float64)
        return drawn

    def health(self, params: BernoulliParams) -> Mapping[str, float]:
        """Probabilities at the edges of what is possible."""
        edge = np.minimum(params.probabilities, 1 - params.probabilities)
        return {"smallest_probability": float(edge.min())}

    def coordinates(self, params: BernoulliParams) -> Any:
        """Log-odds."""
        from unveil.families.coordinates import BernoulliCoordinates

        return BernoulliCoordinates(self, params)
