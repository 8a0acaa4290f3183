"""The one decorator of all kernels.

Kernels are serial, hold no lock (``nogil``) and are cached on disk: parallelism comes from the engine alone, and a
second run compiles nothing (`unveil.numerics.code_cache` says where the code lies). ``contract`` lets the compiler fuse
a multiply and an add; nothing else is relaxed, so NaN, infinities and the order of additions mean what they say.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numba
from numba.core.compiler_lock import global_compiler_lock

from unveil.numerics.code_cache import cache_of

F = TypeVar("F", bound=Callable[..., Any])

if hasattr(os, "register_at_fork"):  # a child that is forked while a thread compiles could never compile anything
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def cached(function: F, **flags: Any) -> F:
    """Compile `function` on first call, for the types it is called with, and keep the code on disk."""
    # no way to it from C, which nobody goes: a function less to compile for each
    jitted: Any = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **flags)(function)
    if jitted is not function:  # it is where NUMBA_DISABLE_JIT is set
        jitted._cache = cache_of(function)
        jitted.compile = _uncollected(jitted.compile)
    compiled: F = jitted
    return compiled


def _uncollected(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without the garbage collector: it finds next to nothing there, and takes a tenth of the time."""

    @wraps(compiled)
    def run(*args: Any) -> Any:
        paused = gc.isenabled()
        gc.disable()
        try:
            return compiled(*args)
        finally:
            if paused:
                gc.enable()

    return run


def kernel(function: F) -> F:
    """A compiled function that may fuse a multiply and an add."""
    return cached(function, fastmath={"contract"})


def part(function: F) -> F:
    """A kernel that kernels alone may call: its way from Python would take long to compile, and is not there."""
    return cached(function, fastmath={"contract"}, no_cpython_wrapper=True)


def inlined(function: F) -> F:
    """A helper that is pasted into the kernels that call it, so that their loops vectorise."""
    jitted: F = numba.njit(inline="always", nogil=True, error_model="numpy", fastmath={"contract"})(function)
    return jitted


def strict(function: F) -> F:
    """A kernel that rounds after every operation, so that NumPy gives the same bits."""
    # said in so many words, since otherwise the flags of a kernel that calls it would hold for it too
    return cached(function, fastmath=False)
