"""BLAS held to one thread.

Parallelism comes from the engine alone, so BLAS's own pool would only fight with it; and the bits of a matrix product
may depend on how many threads share it, while one thread always gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any


@cache
def _blas() -> Any:
    """The loaded BLAS libraries; finding them takes milliseconds, so once is enough."""
    import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded before it can be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


_LOCK = Lock()
_HOLD: dict[str, Any] = {"depth": 0, "limit": None}


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One BLAS thread: the engine's threads do not fight with another pool, and every product has the same bits.

    The setting belongs to the process, so of several fits at once the first in sets it and the last out restores it.
    """
    with _LOCK:
        if _HOLD["depth"] == 0:
            _forget_owner()
            _HOLD["limit"] = _blas().limit(limits=1)
        _HOLD["depth"] += 1
    try:
        yield
    finally:
        with _LOCK:
            _HOLD["depth"] -= 1
            if _HOLD["depth"] == 0:
                _forget_owner()
                _HOLD["limit"].restore_original_limits()
                _forget_owner()


def _forget_owner() -> None:
    """Let this thread set the number of BLAS threads.

    From threadpoolctl 3.7 on, the thread that set a limit first owns it, and what others ask for does nothing. Here the
    lock above decides who is first, whatever thread that is.
    """
    import threadpoolctl

    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
