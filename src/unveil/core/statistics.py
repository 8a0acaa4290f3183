"""Statistics: named float64 arrays that add and scale.

They are the only thing that ever crosses from one block of rows to another, so weights, streams, merging,
``partial_fit`` and every engine need no code of their own per model.

Floating-point addition is not associative, so the *order* of addition is part of the answer. ``TreeSum`` fixes it:
partitions are the leaves of one binary tree whose shape depends on their number alone. Any aligned run of 2**j
partitions is a subtree, so a worker may add up its own run and hand in the total, and the bits stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Statistics(Mapping[str, NDArray[np.float64]]):
    """An immutable mapping of names to float64 arrays, closed under ``+`` and scaling.

    Examples
    --------
    >>> from unveil.core.statistics import Statistics
    >>> one = Statistics(count=2, total=[1.0, 5.0])
    >>> both = one + one.scaled(3)
    >>> both["total"].tolist(), float(both["count"])
    ([4.0, 20.0], 8.0)
    """

    __slots__ = ("_arrays",)

    def __init__(self, **arrays: ArrayLike) -> None:
        self._arrays = {name: np.asarray(value, dtype=np.float64) for name, value in arrays.items()}

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __add__(self, other: Statistics) -> Statistics:
        if self._arrays.keys() != other._arrays.keys():
            raise ValueError(f"statistics of different kinds do not add: {sorted(self)} and {sorted(other)}")
        return Statistics(**{name: value + other._arrays[name] for name, value in self._arrays.items()})

    def blended(self, fresh: Statistics, rate: float, scale: float) -> Statistics:
        """(1 - rate) times these and `rate` times others, which are multiplied by `scale` before.

        >>> float(Statistics(count=2).blended(Statistics(count=3), 0.5, 10.0)["count"])
        16.0
        """
        if self._arrays.keys() != fresh._arrays.keys():
            raise ValueError(f"statistics of different kinds do not add: {sorted(self)} and {sorted(fresh)}")
        pairs = ((name, value, fresh._arrays[name]) for name, value in self._arrays.items())
        return Statistics(**{name: (1 - rate) * value + rate * (scale * other) for name, value, other in pairs})

    def scaled(self, factor: float) -> Statistics:
        """Every array times `factor`."""
        return Statistics(**{name: value * factor for name, value in self._arrays.items()})

    def __repr__(self) -> str:
        return f"Statistics({', '.join(f'{name}{list(value.shape)}' for name, value in self._arrays.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._arrays,)


def _rebuild(arrays: dict[str, NDArray[np.float64]]) -> Statistics:
    return Statistics(**arrays)


class TreeSum:
    """Adds items handed in one by one, in the order of a fixed binary tree, holding only log2(n) of them.

    Works like a binary counter: two neighbours of equal height merge at once; what is left at the end merges from
    the right. Items may be of any type with ``+``.
    """

    def __init__(self) -> None:
        self._pending: list[tuple[int, Any]] = []

    def push(self, item: Any, height: int = 0) -> None:
        """Hand in the next leaf, or the finished sum of the next 2**height leaves."""
        while self._pending and self._pending[-1][0] == height:
            item = self._pending.pop()[1] + item
            height += 1
        self._pending.append((height, item))

    def total(self) -> Any:
        """The sum of all that was handed in."""
        if not self._pending:
            raise ValueError("the sum of no statistics is not defined: the data has no rows")
        items = [item for _, item in self._pending]
        result = items.pop()
        while items:
            result = items.pop() + result
        return result


def tree_sum(items: Iterable[Any]) -> Any:
    """Sum of `items` in the fixed tree order."""
    adder = TreeSum()
    for item in items:
        adder.push(item)
    return adder.total()


def heights(first: int, last: int) -> Iterator[int]:
    """Heights of the largest subtrees that the leaves ``first ... last - 1`` of the tree make up, in order.

    >>> list(heights(0, 8)), list(heights(8, 15)), list(heights(3, 9))
    ([3], [2, 1, 0], [0, 2, 0])
    """
    while first < last:
        fits = (last - first).bit_length() - 1
        height = min(fits, (first & -first).bit_length() - 1) if first else fits
        yield height
        first += 1 << height


def subtrees(leaves: Iterable[Any], first: int, last: int) -> Iterator[tuple[int, Any]]:
    """Sums of the largest subtrees that the leaves ``first ... last - 1`` make up, each with its height.

    What `TreeSum.push` takes: a worker adds up its own run of leaves, and the bits stay the same.
    """
    rest = iter(leaves)
    for height in heights(first, last):
        yield height, tree_sum(islice(rest, 1 << height))
