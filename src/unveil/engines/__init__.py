"""Where the work runs: threads of this process, or a Dask cluster."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil.engines.dask import Dask
    from unveil.engines.threads import Threads

__all__ = ["Dask", "Threads"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module(f"unveil.engines.{name.lower()}"), name)
    raise AttributeError(f"module 'unveil.engines' has no attribute {name!r}; it has {', '.join(__all__)}")
