"""BLAS held to one thread.

Parallelism comes from the engine alone, so BLAS's own pool would only fight with it; and the bits of a matrix product
may depend on how many threads share it, while one thread always gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
_HOLD: dict[str, Any] = {"depth": 0, "before": []}  # how many hold it, and the threads that there were of each library


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One BLAS thread: the engine's threads do not fight with another pool, and every product has the same bits.

    The setting belongs to the process, so of several fits at once the first in sets it and the last out restores it.
    """
    with _LOCK:
        if _HOLD["depth"] == 0:
            _HOLD["before"] = [(library, library.num_threads) for library in _blas().lib_controllers]
            _set_threads((library, 1) for library, _ in _HOLD["before"])
        _HOLD["depth"] += 1
    try:
        yield
    finally:
        with _LOCK:
            _HOLD["depth"] -= 1
            if _HOLD["depth"] == 0:
                _set_threads(_HOLD["before"])


def _set_threads(wanted: Iterable[tuple[Any, int | None]]) -> None:
    """So many threads for each library; what need not change is left alone."""
    _forget_owner()
    for library, count in wanted:
        if count is not None and library.num_threads != count:
            library.set_num_threads(count)
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
