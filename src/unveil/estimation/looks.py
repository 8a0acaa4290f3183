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


class _Looks:
    """What was found of some rows; each thing by the object that was looked at, which is kept alive by that."""

    def __init__(self, X: Any) -> None:
        self.objects = [X]
        self.found: dict[Any, Any] = {}

    def knows(self, one: Any) -> bool:
        """Whether an object is the rows, or was found of them."""
        return any(one is known for known in self.objects)


_LOOKS: ContextVar[_Looks | None] = ContextVar("unveil_looks", default=None)


@contextmanager
def looking_once(X: Any) -> Iterator[None]:
    """For as long as this lasts, `looked` remembers what was found of `X`."""
    token = _LOOKS.set(_Looks(X))
    try:
        yield
    finally:
        _LOOKS.reset(token)


def looked(what: str, at: Any, find: Callable[[], T], *how: Any) -> T:
    """What `find` returns; the same again where somebody has looked `at` the same rows in the same way before.

    >>> rows = [1, 2, 3]
    >>> with looking_once(rows):
    ...     looked("sum", rows, lambda: sum(rows)), looked("sum", rows, lambda: 0), looked("sum", [4], lambda: 4)
    (6, 6, 4)
    """
    looks = _LOOKS.get()
    if looks is None or not looks.knows(at):
        return find()
    key = (what, id(at), *how)
    if key not in looks.found:
        looks.found[key] = find()
        looks.objects.append(looks.found[key])
    found: T = looks.found[key]
    return found


def along(climb: Asking[T], source: Any) -> Asking[T]:
    """The outcome of a climb over a source, driven along with others where they share the rows, if these are many.

    Rows of one partition that are at hand, and those of which this climb has a copy of its own, are climbed here and
    now: so no more than one such copy is held at a time.
    """
    looks, base = _LOOKS.get(), base_of(source)
    many = count_of(source) > 1 or not getattr(base, "random_access", False)
    return (yield from climb) if many and looks is not None and looks.knows(base) else drive(climb)
