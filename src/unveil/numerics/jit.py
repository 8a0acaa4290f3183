"""The one decorator of all kernels.

Kernels are serial, hold no lock (``nogil``) and are cached on disk: parallelism comes from the engine alone, and a
second run compiles nothing. ``contract`` lets the compiler fuse a multiply and an add; nothing else is relaxed, so
NaN, infinities and the order of additions mean what they say.

What lies on disk are pickles, which name classes: after an upgrade these may be gone, and Numba unpickles an index
before it asks whether the index is out of date. A cache that cannot be read therefore counts as empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., Any])


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Compiled code on disk, or none where what lies there cannot be read."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature; None, and all forgotten, if unpickling fails in whichever way."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            self.flush()  # an empty index: the code that is compiled now is kept again
            return None


def cached(function: F, **flags: Any) -> F:
    """Compile `function` on first call, for the types it is called with, and keep the code on disk."""
    jitted: Any = numba.njit(nogil=True, error_model="numpy", **flags)(function)
    if jitted is not function:  # it is where NUMBA_DISABLE_JIT is set
        jitted._cache = KernelCache(function)
    compiled: F = jitted
    return compiled


def kernel(function: F) -> F:
    """A compiled function that may fuse a multiply and an add."""
    return cached(function, fastmath={"contract"})


def inlined(function: F) -> F:
    """A helper that is pasted into the kernels that call it, so that their loops vectorise."""
    jitted: F = numba.njit(inline="always", nogil=True, error_model="numpy", fastmath={"contract"})(function)
    return jitted


def strict(function: F) -> F:
    """A kernel that rounds after every operation, so that NumPy gives the same bits."""
    # said in so many words, since otherwise the flags of a kernel that calls it would hold for it too
    return cached(function, fastmath=False)
