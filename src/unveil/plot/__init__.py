"""One figure per function; each returns a plotly Figure. Names, and plotly itself, load on first use."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "principal_plane": "unveil.plot.scatter",
    "biplot": "unveil.plot.scatter",
    "mixture": "unveil.plot.ellipses",
    "density": "unveil.plot.histogram",
    "selection": "unveil.plot.scores",
    "choice": "unveil.plot.sizes",
    "convergence": "unveil.plot.climb",
    "scree": "unveil.plot.variance",
    "principal_curve": "unveil.plot.curve",
    "manifold": "unveil.plot.topography",
    "Plane": "unveil.plot.plane",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unveil.plot' has no attribute {name!r}; it has {', '.join(_HOMES)}")


def __dir__() -> list[str]:
    return sorted(__all__)
