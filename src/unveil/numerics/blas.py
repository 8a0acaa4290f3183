"""BLAS held to one thread.

Parallelism comes from the engine alone, so BLAS's own pool would only fight with it; and the bits of a matrix product
may depend on how many threads share it, while one thread always gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any


@cache
def _blas() -> Any:
    """The loaded BLAS libraries; finding them takes milliseconds, so once is enough."""
    import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded before it can be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class SingleThread:
    """A context in which BLAS has one thread; entered once for every row that is asked about, so it does little."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.depth = 0  # how many hold it
        self.before: list[tuple[Any, int | None]] = []  # the libraries, and the threads that there were of each

    def __enter__(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.before = [(library, library.get_num_threads()) for library in _blas().lib_controllers]
                _set_threads([(library, 1) for library, count in self.before if count != 1])
            self.depth += 1

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                _set_threads([pair for pair in self.before if pair[0].get_num_threads() != pair[1]])


_SINGLE_THREAD = SingleThread()


def single_threaded_blas() -> SingleThread:
    """One BLAS thread: the engine's threads do not fight with another pool, and every product has the same bits.

    The setting belongs to the process, so of several fits at once the first in sets it and the last out restores it.
    """
    return _SINGLE_THREAD


def _set_threads(wanted: Sequence[tuple[Any, int | None]]) -> None:
    """So many threads for each library."""
    if not wanted:
        return
    _forget_owner()
    for library, count in wanted:
        if count is not None:
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
