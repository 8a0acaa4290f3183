"""The hard expectation: all of q on the likeliest value, the lowest of equals (Celeux & Govaert 1992).

The free energy is then max_s log p(x, s); what it gives away against the log-likelihood is written down as the gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Bound, Expectation, Random
from unveil.numerics.softmax import hard_assign


@dataclass(frozen=True)
class Hard(Expectation):
    """q(s) = 1 at the likeliest s: classification EM.

    Examples
    --------
    >>> from unveil import GaussianMixture, expectations
    >>> model = GaussianMixture(2, expectation=expectations.Hard())
    """

    best = True

    def responsibilities(self, logits: Floats, weights: Floats | None, random: Random) -> Bound:
        """One-hot assignments, in place."""
        return Bound(*hard_assign(logits, np.empty(0) if weights is None else weights))
