"""Families of distributions: what a component may look like. Names load on first use."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Bernoulli": "bernoulli",
    "Categorical": "categorical",
    "Compound": "compound",
    "Exponential": "exponential",
    "Gaussian": "gaussian",
    "Held": "held.family",
    "hold": "held.family",
    "Poisson": "poisson",
    "Product": "product",
    "Student": "student",
    "split": "compound_start",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"unveil.families.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'unveil.families' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
