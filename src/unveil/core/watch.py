"""Watching fits: a context in which a function is shown every pass of every fit.

The context is a context variable, so that it holds for the thread (or task) that opened it and for no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from unveil.core.loop import Callback

_WATCHING: ContextVar[tuple[Callback, ...]] = ContextVar("unveil_watching", default=())


@contextmanager
def watch(callback: Callback) -> Iterator[None]:
    """Show `callback` every pass of the fits in this context: progress, plots of a climb, a fit that is ended early.

    Restarts, and the fits of `unveil.select`, are shown one after the other; short runs that only look for a start are
    not. Contexts nest: the outer function is called first. What the function raises ends the fit; KeyboardInterrupt
    ends it as Ctrl-C does, and what was reached is kept. A fit in another thread is shown to that thread's watchers.

    Parameters
    ----------
    callback : callable
        Takes a state: ``iteration``, counted from 1 in each run; ``params`` after the pass, in the model's own frame;
        ``statistics``, of which "weight" is the weight of all rows; ``record`` with ``log_likelihood``,
        ``free_energy``, ``objective`` and ``seconds`` since the run began.

    Examples
    --------
    >>> import unveil
    >>> bounds = []
    >>> with unveil.watch(lambda state: bounds.append(state.record.free_energy)):
    ...     model = unveil.GaussianMixture(1, random_state=0).fit([[0.0], [1.0], [5.0], [6.0]])
    >>> len(bounds) == model.n_iter_, bounds == sorted(bounds)
    (True, True)
    """
    if not callable(callback):
        raise TypeError(f"callback must be a function of a state, got {callback!r}")
    token = _WATCHING.set((*_WATCHING.get(), callback))
    try:
        yield
    finally:
        _WATCHING.reset(token)


def watchers() -> tuple[Callback, ...]:
    """The functions that watch the fits of this thread, the outermost first."""
    return _WATCHING.get()
