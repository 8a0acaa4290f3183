"""Which q: the posterior itself, or something cheaper or calmer."""

from unveil.expectations.exact import Exact
from unveil.expectations.hard import Hard

__all__ = ["Exact", "Hard"]
