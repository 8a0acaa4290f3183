"""What a contender's functions take and give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
Run = Callable[[int], Arrays]  # a fit of so many iterations, from scratch
