"""Choosing among models: fit every combination, compare by a criterion, say how clear the answer is."""

from unveil.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
