"""What a contender's functions take and give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
Run = Callable[[int], Arrays]  # a fit of so many iterations, from scratch


class Order(NamedTuple):
    """One thing to do with a table, so many times in a row: what contenders of whole fits (`defaults.py`) are told."""

    verb: str  # "load" a table, "fit" to it, or a method of the model that was fitted
    folder: Path | None = None  # of the table's arrays, where one is to be loaded
    one: bool = False  # row only, instead of all
    calls: int = 1
    keep: bool = False  # whether the method's answer is wanted


Work = Callable[[Order], Arrays]
