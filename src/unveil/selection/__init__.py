"""Choosing among models: fit every combination, compare by a criterion, say how clear the answer is."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "select": "unveil.selection.search",
    "Selection": "unveil.selection.outcome",
    "CRITERIA": "unveil.selection.criteria.criteria",
    "CLUSTERINGS": "unveil.selection.criteria.clusterings",
    "Criterion": "unveil.selection.criteria.criteria",
    "Choice": "unveil.selection.criteria.opinions",
    "Opinion": "unveil.selection.criteria.opinions",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unveil.selection' has no attribute {name!r}; it has {', '.join(_HOMES)}")
