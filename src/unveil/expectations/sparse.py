"""The sparse expectation: q moves only within short lists of likely values, refreshed every few passes.

Neal & Hinton, "A view of the EM algorithm that justifies incremental, sparse, and other variants", 1998. The lists and
what is frozen off them live with each block; see `unveil.mixtures.model.sparse_em`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

from unveil.core.arrays import Floats
from unveil.core.protocols import Bound, Expectation, Random
from unveil.expectations.exact import Exact


@dataclass(frozen=True)
class Sparse(Expectation):
    """q(s) proportional to p(x, s) on a list of `active` components per row, frozen elsewhere between refreshes.

    Parameters
    ----------
    active : int, default=3
        Length of the lists.
    refresh : int, default=5
        Every so many passes the full posterior is computed and the lists are drawn up anew.

    Examples
    --------
    >>> from unveil import GaussianMixture, expectations
    >>> model = GaussianMixture(8, expectation=expectations.Sparse(active=2))
    """

    active: int = 3
    refresh: int = 5

    def __post_init__(self) -> None:
        for name in ("active", "refresh"):
            if not isinstance(getattr(self, name), Integral) or getattr(self, name) < 1:
                raise ValueError(f"{name} must be a positive integer, got {getattr(self, name)!r}")

    def at(self, passes: int) -> Sparse:
        """Every so many passes, one whose lists are drawn up anew."""
        return replace(self, refresh=1) if passes % self.refresh == 0 else self

    def settled(self, passes: int) -> bool:
        """Whether the last pass was a refresh: within the lists the free energy may stand still long before the top."""
        return (passes - 1) % self.refresh == 0

    def responsibilities(self, logits: Floats, weights: Floats | None, random: Random) -> Bound:
        """The posterior: what a block without lists starts from."""
        return Exact().responsibilities(logits, weights, random)
