"""From a table to one HTML page that says what is hidden in it. Names load on first use."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "write_report": "unveil.report.write",
    "Report": "unveil.report.write",
    "Progress": "unveil.report.analysis",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unveil.report' has no attribute {name!r}; it has {', '.join(_HOMES)}")
