"""What blocks remember from pass to pass, held within a room of so many bytes.

Most of what is remembered only spares work: bounds of K-means, rows in another form. What finds no room is let go of,
and made again in the next pass, with the same bits. Who comes first keeps its place, so that the same blocks go without
in every pass. A memo that is part of the answer says so by `lasting` (the lists of sparse EM): where there is no room
in memory, it waits in a temporary file.
"""

from __future__ import annotations

import math
import pickle
import shutil
import tempfile
import weakref
from dataclasses import fields, is_dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from unveil.core.memory import memo_room


class Stored(NamedTuple):
    """A memo that is in a file."""

    path: Path


class Memos(dict[int, Any]):
    """Memos by partition, and how long a block took in the last pass."""

    def __init__(self, source: Any, given: dict[int, Any] | None = None) -> None:
        super().__init__(given or {})
        self.pace = math.inf  # seconds of a processor
        self.room = memo_room(not getattr(source, "random_access", False))
        self._sizes: dict[int, int] = {}
        self._total, self._lock = 0, Lock()
        self._folder: Path | None = None

    def recall(self, index: int) -> Any:
        """What a block remembers; None where that is nothing."""
        memo = self.get(index)
        if isinstance(memo, Stored):
            with memo.path.open("rb") as file:
                return pickle.load(file)
        return memo

    def remember(self, index: int, memo: Any) -> None:
        """Hold a memo, as far as there is room. Threads may do so at the same time, each for its own blocks."""
        if self.room < math.inf and not self._fits(index, bytes_of_arrays(memo)):
            if not is_lasting(memo):
                self.pop(index, None)
                return
            memo = self._store(index, memo)
        self[index] = memo

    @property
    def n_bytes(self) -> int:
        """Bytes that are held, where room is limited."""
        return self._total

    def _fits(self, index: int, size: int) -> bool:
        with self._lock:
            self._total -= self._sizes.pop(index, 0)
            if self._total + size > self.room:
                return False
            self._sizes[index] = size
            self._total += size
            return True

    def _store(self, index: int, memo: Any) -> Stored:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="unveil-memos-"))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            path = self._folder / str(index)
        with path.open("wb") as file:
            pickle.dump(memo, file, protocol=5)
        return Stored(path)


def is_lasting(memo: Any) -> bool:
    """Whether a memo, or one of those that it holds for several climbs, is more than work that was spared."""
    if isinstance(memo, dict):
        return any(map(is_lasting, memo.values()))
    return bool(getattr(memo, "lasting", False))


def bytes_of_arrays(memo: Any) -> int:
    """Bytes of the arrays that a memo is made of.

    >>> bytes_of_arrays((np.zeros(3), [np.zeros(2, np.int32)], {"a": None}))
    32
    """
    if isinstance(memo, np.ndarray):
        return memo.nbytes
    if isinstance(memo, dict):
        return sum(map(bytes_of_arrays, memo.values()))
    if isinstance(memo, (tuple, list)):
        return sum(map(bytes_of_arrays, memo))
    if is_dataclass(memo):
        return sum(bytes_of_arrays(getattr(memo, field.name)) for field in fields(memo))
    return 0
