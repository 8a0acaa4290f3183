"""One figure per function; each returns a plotly Figure. Names by ``__init__.pyi``; plotly loads on first use."""

from unveil.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
