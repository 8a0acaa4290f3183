"""What several fits find out of the same rows before they climb, found out once.

Within `looking_once` the frame, the sample that starts are drawn from and the rows themselves are kept by the objects
that they came of, so that a comparison of many fits to a file reads it once for all of them and not once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from unveil.core.drive import drive
from unveil.core.partition import count_of
from unveil.core.protocols import Asking
from unveil.core.shared_pass import base_of

T = TypeVar("T")

_KNOWN: ContextVar[dict[Any, tuple[Any, Any]] | None] = ContextVar("unveil_looks", default=None)


@contextmanager
def looking_once() -> Iterator[None]:
    """For as long as this lasts, `looked` remembers what was found."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def looked(what: str, at: Any, find: Callable[[], T], *how: Any) -> T:
    """What `find` returns; the same again where somebody has looked `at` the same object in the same way before.

    >>> with looking_once():
    ...     rows = [1, 2, 3]
    ...     looked("sum", rows, lambda: sum(rows)), looked("sum", rows, lambda: 0)
    (6, 6)
    """
    known = _KNOWN.get()
    if known is None:
        return find()
    key = (what, id(at), *how)
    if key not in known:
        known[key] = (find(), at)  # the object is kept too, so that no other can have its number
    found: T = known[key][0]
    return found


def along(climb: Asking[T], source: Any, X: Any) -> Asking[T]:
    """The outcome of a climb over the `source` that was made of `X`.

    It is driven along with others where they share the rows, which are more than one partition. One that has a copy of
    its own is driven here and now, so that no more than one such copy is held at a time.
    """
    base, known = base_of(source), (_KNOWN.get() or {}).values()
    shared = count_of(source) > 1 and (base is X or any(found is base for found, _ in known))
    return (yield from climb) if shared else drive(climb)
