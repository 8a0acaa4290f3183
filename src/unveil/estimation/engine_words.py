"""What an estimator takes for `engine`: a word, the address of a Dask scheduler, an engine, or a client of Dask."""

from __future__ import annotations

import re
from typing import Any

from sklearn.utils._param_validation import HasMethods, StrOptions

from unveil.estimation.registry import ENGINES


class EngineWord(StrOptions):
    """A word for an engine, or the address of a Dask scheduler."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether it is one."""
        return bool(super().is_satisfied_by(val)) or is_address(val)

    def __str__(self) -> str:
        return f"{super().__str__()} or the address of a Dask scheduler ('tcp://host:8786')"


def is_address(value: Any) -> bool:
    """Whether a word is the address of a scheduler.

    >>> is_address("tls://node-1:8786"), is_address("node-1:8786"), is_address("dusk")
    (True, True, False)
    """
    return isinstance(value, str) and ("://" in value or re.fullmatch(r"[^\s:]+:\d+", value) is not None)


ENGINE_TAKEN = [EngineWord({"auto", *ENGINES}), HasMethods("map_reduce"), HasMethods(["scatter", "gather", "nthreads"])]
"""What `engine` may be: a word, an address, an engine, or a client of Dask."""
