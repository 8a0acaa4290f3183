"""Attributes that are found when first asked for, without a lock.

Python 3.11's own `functools.cached_property` holds one lock for a property of all objects of a class while it is found:
fits on several threads wait for each other, and a process that is forked meanwhile waits for ever. Here two threads
that ask the same object at the same time both find the value, which is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class FoundOnce(Generic[T]):
    """A property that is found once for each object.

    Examples
    --------
    >>> class Circle:
    ...     @cached_property
    ...     def area(self):
    ...         print("found")
    ...         return 3.0
    >>> circle = Circle()
    >>> circle.area, circle.area
    found
    (3.0, 3.0)
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self.find = find
        self.name = find.__name__
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> FoundOnce[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        found = instance.__dict__[self.name] = self.find(instance)
        return found


cached_property = FoundOnce
