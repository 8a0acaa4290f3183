"""Which q: the posterior itself, or something cheaper or calmer."""

from unveil.expectations.annealed import Annealed
from unveil.expectations.exact import Exact
from unveil.expectations.hard import Hard
from unveil.expectations.sampled import Sampled
from unveil.expectations.sparse import Sparse

__all__ = ["Annealed", "Exact", "Hard", "Sampled", "Sparse"]
