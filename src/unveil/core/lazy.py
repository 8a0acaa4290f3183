"""Public names that load on first use, listed once: in the stub that type checkers and editors read.

A package that has an ``__init__.pyi`` says there, a line per name, where each is defined:

    from unveil.mixtures.gaussian import GaussianMixture as GaussianMixture

The same lines are read when the package is imported, so that ``import unveil`` loads nothing and both know the same.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # typing itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

HOMES: dict[str, dict[str, str]] = {}
"""By package, where each of its public names is defined: name to module. Whoever loads by name looks here."""


def names_of(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, by the stub beside it."""
    spec = sys.modules[package].__spec__
    stub = spec.loader.get_data(f"{spec.submodule_search_locations[0]}/__init__.pyi").decode()  # type: ignore[union-attr, index]
    homes = HOMES[package] = homes_in(stub)

    def load(name: str) -> Any:
        if name not in homes:
            known = ", ".join(sorted(homes))
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {known}")
        return found(package, name)

    shown = list(homes)
    return load, lambda: sorted(shown), shown


def homes_in(stub: str) -> dict[str, str]:
    """Where the names of a stub are defined.

    >>> homes_in("from unveil.core.loop import watch as watch")
    {'watch': 'unveil.core.loop'}
    """
    homes = {}
    for line in stub.splitlines():
        if line.startswith("from "):
            _, home, _, name, _, _ = line.split()  # from HOME import NAME as NAME
            homes[name] = home
    return homes


def found(package: str, name: str) -> Any:
    """The object that `package` shows as `name`: a module below it, or what a module defines."""
    home = HOMES[package][name]
    if home == package:
        return importlib.import_module(f"{package}.{name}")
    return getattr(importlib.import_module(home), name)
