"""Is the fit sound, does the model describe the data, are the groups real?"""

from unveil.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
