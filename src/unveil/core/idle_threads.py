"""Threads that have nothing to do, lent to a model that could use them.

Parallelism comes from the engine alone, by blocks. Where a pass has a single block that is large, such as one chain of
a million steps, the engine's other threads would stand idle: it lends them for the time of the pass, and a model that
cuts its block into pieces hands those to `share`. The pieces follow from the data, so the bits are the same either way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Share = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

_lent: ContextVar[Share] = ContextVar("lent", default=map)


def share(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """`function` of each item, in order, on the threads that were lent or else on this one.

    >>> share(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    return list(_lent.get()(function, items))


@contextmanager
def lending(threads: Share) -> Iterator[None]:
    """For as long as this lasts, what this thread shares runs on `threads`."""
    token = _lent.set(threads)
    try:
        yield
    finally:
        _lent.reset(token)


def default_workers() -> int:
    """Threads to use when nobody says: ``UNVEIL_THREADS``, or the cores that this process may run on."""
    named = os.environ.get("UNVEIL_THREADS")
    if named is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not named.isdigit() or int(named) < 1:
        raise ValueError(f"UNVEIL_THREADS must be a positive integer, got {named!r}")
    return int(named)
