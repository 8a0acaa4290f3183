"""The Bernoulli family: independent yes/no columns.

log p(x | component) = sum_j x_j log(p_j / (1 - p_j)) + sum_j log(1 - p_j), so T(x) = (1, x). Probabilities are kept
`FLOOR` away from 0 and 1: at the very edge one surprising cell would make a row impossible under every component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unveil.families.base import Family, Floats
from unveil.kernels.em import LINEAR, Sums

FLOOR = 1e-12


@dataclass(frozen=True)
class BernoulliParams:
    """Probabilities of yes, (k, d)."""

    probabilities: Floats
    floored: int = 0


@dataclass(frozen=True)
class Bernoulli(Family):
    """Independent yes/no columns."""

    def n_statistics(self, n_columns: int) -> int:
        """1 + d."""
        return 1 + n_columns

    @property
    def sums(self) -> Sums:
        """Of (1, x)."""
        return LINEAR

    def natural(self, params: BernoulliParams) -> Floats:
        """Log-odds, and the log-probability of all noes in front."""
        log_no = np.log1p(-params.probabilities)
        return np.concatenate([log_no.sum(axis=1, keepdims=True), np.log(params.probabilities) - log_no], axis=1)

    def maximise(self, moments: Floats, params: BernoulliParams) -> BernoulliParams:
        """Weighted shares of yes; a component without weight keeps what it had."""
        alive = moments[:, 0] > 0
        fresh = self.first(moments)
        return BernoulliParams(np.where(alive[:, None], fresh.probabilities, params.probabilities), fresh.floored)

    def first(self, moments: Floats) -> BernoulliParams:
        """Shares of yes; a component without weight gets those of all the data."""
        moments = np.where(moments[:, :1] > 0, moments, moments.sum(axis=0))
        shares = moments[:, 1:] / moments[:, :1]
        kept = np.clip(shares, FLOOR, 1 - FLOOR)
        return BernoulliParams(kept, int(np.count_nonzero(np.any(kept != shares, axis=1))))

    def floored(self, params: BernoulliParams) -> int:
        """Components with a probability at the floor."""
        return params.floored
