"""Families of distributions: what a component may look like. Names, by ``__init__.pyi``, load on first use."""

from unveil.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
