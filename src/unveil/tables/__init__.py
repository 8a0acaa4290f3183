"""From any file or frame to columns with roles, and to what a model takes. Names, by ``__init__.pyi``, load on use."""

from unveil.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
