"""unveil finds the hidden structure in data: directions, groups, mixtures, sequences, grammars.

The public names are those of ``__init__.pyi``; they load on first use, so that ``import unveil`` is instant.
"""

from unveil.core.lazy import names_of

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = names_of(__name__)
__all__ += ["__version__"]
