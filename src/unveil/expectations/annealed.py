"""The annealed expectation: q is the posterior of a warmer world that cools down (Ueda & Nakano 1998).

    q(s) proportional to p(x, s) ** beta,      beta rising from `start` to 1 over the first `passes` passes

A small beta blurs the responsibilities, which smooths away poor optima; at 1 it is EM proper, and only then can a fit
converge. The free energy of this q is still a lower bound, but it is not what a warm pass climbs, so it may fall.

Where it is warm enough, components melt into one, and equal components would stay equal for ever: a saddle that EM
cannot leave. So a warm q is shaken a little, and components part again as soon as the world is cold enough for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Bound, Expectation, Random
from unveil.numerics.softmax import soft_assign


@dataclass(frozen=True)
class Tempered(Expectation):
    """q(s) proportional to p(x, s) ** `beta`."""

    beta: float
    shake: float = 0.3  # standard deviation of what is added to the scores of an infinitely warm q

    monotone = False

    @property
    def power(self) -> float:  # type: ignore[override]
        """The same, as models of paths and trees ask for it."""
        return self.beta

    def responsibilities(self, logits: Floats, weights: Floats | None, random: Random) -> Bound:
        """Tempered posterior, in place. With q = exp(score) / Z: F = E_q[log p - score] + log Z."""
        weights = np.empty(0) if weights is None else weights
        joint = logits.copy()
        log_likelihood = soft_assign(logits.copy(), weights)
        logits *= self.beta
        if self.beta < 1.0:
            logits += self.shake * (1.0 - self.beta) * random().standard_normal(logits.shape)
        scores = logits.copy()
        log_normaliser = soft_assign(logits, weights)
        held = logits > 0
        lost = float(np.sum(logits[held] * (joint[held] - scores[held])))
        return Bound(log_likelihood, lost + log_normaliser)


@dataclass(frozen=True)
class Annealed(Expectation):
    """A posterior that cools down.

    Parameters
    ----------
    start : float, default=0.6
        First inverse temperature, above 0 and at most 1. Well below a half all components may melt into one.
    passes : int, default=20
        Passes until the posterior itself is reached; beta rises by the same factor each time.

    Examples
    --------
    >>> from unveil.expectations import Annealed
    >>> [round(Annealed(0.25, passes=4).beta(n), 3) for n in range(5)]
    [0.25, 0.354, 0.5, 0.707, 1.0]
    """

    start: float = 0.6
    passes: int = 20

    monotone = False

    def __post_init__(self) -> None:
        if not 0 < self.start <= 1:
            raise ValueError(f"start must be above 0 and at most 1, got {self.start!r}")
        if not isinstance(self.passes, Integral) or self.passes < 1:
            raise ValueError(f"passes must be a positive integer, got {self.passes!r}")

    def beta(self, passes: int) -> float:
        """Inverse temperature after so many passes."""
        return float(self.start ** max(1.0 - passes / self.passes, 0.0))

    def at(self, passes: int) -> Tempered:
        """The posterior at the temperature of that pass."""
        return Tempered(self.beta(passes))

    def settled(self, passes: int) -> bool:
        """Whether it has been cold for as long as it was warm: what melted parts again slowly at first."""
        return passes > 2 * self.passes + 1

    def responsibilities(self, logits: Floats, weights: Floats | None, random: Random) -> Bound:
        """The posterior at the end of the schedule."""
        return Tempered(1.0).responsibilities(logits, weights, random)
