"""Parts of chart kernels: compiled for kernels alone, since their way from Python would take long to compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from unveil.numerics.jit import cached

F = TypeVar("F", bound=Callable[..., Any])


def part(function: F) -> F:
    """Compile `function` as `kernel` does, to be called by kernels only."""
    return cached(function, fastmath={"contract"}, no_cpython_wrapper=True, no_cfunc_wrapper=True)
