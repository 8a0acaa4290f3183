"""The sampled expectation: q is made of draws from the posterior (Monte Carlo EM; Wei & Tanner 1990).

With `draws` values drawn for each row, q(s) is the share of them that fell on s: a distribution like any other, so its
free energy is a true lower bound. Draws grow from pass to pass, which lets the noise die away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Bound, Expectation, Random
from unveil.numerics.softmax import soft_assign

MOST_DRAWS = 1 << 16  # draws per row, at which the noise is below what a fit is asked for


@dataclass(frozen=True)
class Sampled(Expectation):
    """q by draws from the posterior.

    Parameters
    ----------
    draws : int, default=8
        Draws per row in the first pass.
    growth : float, default=1.2
        Factor by which they grow from pass to pass; 1 keeps them as they are (stochastic EM for ``draws=1``).

    Examples
    --------
    >>> from unveil.expectations import Sampled
    >>> [Sampled(draws=4, growth=2.0).at(passes).draws for passes in range(4)]
    [4, 8, 16, 32]
    """

    draws: int = 8
    growth: float = 1.2

    monotone = False
    steady = False

    def __post_init__(self) -> None:
        if not isinstance(self.draws, Integral) or self.draws < 1:
            raise ValueError(f"draws must be a positive integer, got {self.draws!r}")
        if not self.growth >= 1:
            raise ValueError(f"growth must be at least 1, got {self.growth!r}")

    def at(self, passes: int) -> Sampled:
        """With the draws of that pass."""
        exponent = min(passes * np.log(self.growth), np.log(MOST_DRAWS))
        return replace(self, draws=min(int(self.draws * np.exp(exponent) + 0.5), max(MOST_DRAWS, self.draws)))

    def responsibilities(self, logits: Floats, weights: Floats | None, random: Random) -> Bound:
        """Shares of the draws, in place."""
        joint = logits.copy()
        log_likelihood = soft_assign(joint.copy(), np.empty(0) if weights is None else weights)
        soft_assign(logits, np.empty(0))
        possible = logits.sum(axis=0) > 0
        chances = np.where(possible, logits, 1.0 / len(logits)).T
        counts = random().multinomial(self.draws, chances / chances.sum(axis=1, keepdims=True))
        logits[...] = np.where(possible, counts.T / self.draws, 0.0)
        held = logits > 0
        terms = np.where(held, logits * (np.where(held, joint, 0.0) - np.log(np.where(held, logits, 1.0))), 0.0)
        per_row = np.where(possible, terms.sum(axis=0), -np.inf)
        if weights is None:
            return Bound(log_likelihood, float(per_row.sum()))
        logits *= weights
        return Bound(log_likelihood, float(weights @ np.where(weights > 0, per_row, 0.0)))
