"""From a table to one HTML page that says what is hidden in it. Names, by ``__init__.pyi``, load on first use."""

from unveil.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
