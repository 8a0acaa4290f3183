"""The one decorator of all kernels.

Kernels are serial, hold no lock (``nogil``) and are cached on disk: parallelism comes from the engine alone, and a
second run compiles nothing. ``contract`` lets the compiler fuse a multiply and an add; nothing else is relaxed, so
NaN, infinities and the order of additions mean what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` on first call, for the types it is called with."""
    jitted: F = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})(function)
    return jitted


def inlined(function: F) -> F:
    """A helper that is pasted into the kernels that call it, so that their loops vectorise."""
    jitted: F = numba.njit(inline="always", nogil=True, error_model="numpy", fastmath={"contract"})(function)
    return jitted


def strict(function: F) -> F:
    """A kernel that rounds after every operation, so that NumPy gives the same bits."""
    # said in so many words, since otherwise the flags of a kernel that calls it would hold for it too
    jitted: F = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=False)(function)
    return jitted
