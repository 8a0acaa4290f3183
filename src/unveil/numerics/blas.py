"""BLAS held to one thread.

Parallelism comes from the engine alone, so BLAS's own pool would only fight with it; and the bits of a matrix product
may depend on how many threads share it, while one thread always gives the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from threading import RLock, get_ident
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
        self.lock = RLock()
        self.holders: dict[int, int] = {}  # how often each thread holds it
        self.before: list[tuple[Any, int | None]] = []  # the libraries, and the threads that there were of each

    def __enter__(self) -> None:
        with self.lock:
            if not self.holders:
                self.before = [(library, library.get_num_threads()) for library in _blas().lib_controllers]
                _set_threads([(library, 1) for library, count in self.before if count != 1])
            own = get_ident()
            self.holders[own] = self.holders.get(own, 0) + 1

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            own = get_ident()
            if own not in self.holders:  # a generator of another thread ends here, maybe one no fork brought along
                if not self.holders:
                    return
                own = next(iter(self.holders))
            self.holders[own] -= 1
            if self.holders[own]:
                return
            del self.holders[own]
            self._restore()

    def _restore(self) -> None:
        """As many threads as before, if nobody holds it any more."""
        if not self.holders:
            _set_threads([pair for pair in self.before if pair[0].get_num_threads() != pair[1]])

    def in_a_child(self) -> None:
        """After a fork: of the threads that hold it only the one that forked is there. It has the lock, as `lock` was
        acquired before the fork, so that none of this was half done."""
        was_held, own = bool(self.holders), get_ident()
        self.holders = {own: self.holders[own]} if own in self.holders else {}
        self.lock = RLock()
        if was_held:
            self._restore()


_SINGLE_THREAD = SingleThread()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _SINGLE_THREAD.lock.acquire(),
        after_in_parent=lambda: _SINGLE_THREAD.lock.release(),
        after_in_child=_SINGLE_THREAD.in_a_child,
    )


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
