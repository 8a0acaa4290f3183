"""Where the rows are: arrays, frames, files. Names load on first use."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "ArraySource": "unveil.sources.array",
    "Weighted": "unveil.sources.weighted",
    "with_weights": "unveil.sources.weighted",
    "take": "unveil.sources.rows",
    "sample_rows": "unveil.sources.rows",
    "is_frame": "unveil.sources.frame",
    "from_frame": "unveil.sources.frame",
    "Scan": "unveil.sources.files.scan",
    "DaskSource": "unveil.sources.dask",
    "is_dask": "unveil.sources.dask",
    "Sequences": "unveil.sources.sequences",
    "DataError": "unveil.sources.errors",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unveil.sources' has no attribute {name!r}")
