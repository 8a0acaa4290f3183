"""Where the work runs: threads of this process, or a Dask cluster."""

from unveil.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
