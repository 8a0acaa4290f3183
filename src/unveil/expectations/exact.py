"""The exact expectation: q is the posterior, so the free energy equals the log-likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Bound, Expectation, Random
from unveil.numerics.softmax import soft_assign


@dataclass(frozen=True)
class Exact(Expectation):
    """q(s) = p(s | x): EM proper.

    Examples
    --------
    >>> from unveil import GaussianMixture, expectations
    >>> model = GaussianMixture(2, expectation=expectations.Exact())
    """

    posterior = True

    def responsibilities(self, logits: Floats, weights: Floats | None, random: Random) -> Bound:
        """Posterior probabilities, in place."""
        log_likelihood = soft_assign(logits, np.empty(0) if weights is None else weights)
        return Bound(log_likelihood, log_likelihood)
