"""Compiled code on disk: what cannot be read there is compiled anew and written over."""

from __future__ import annotations

import pickle
from pathlib import Path

import numba
import pytest

from unveil.numerics.jit import kernel

LOST = b"cunveil.numerics.jit\nNoSuchClass\n."  # a pickle of a class that an older version had


def doubled(x: int) -> int:
    """What is compiled."""
    return x + x


def test_a_cache_that_cannot_be_read_counts_as_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def again() -> tuple[int, int]:
        fresh = kernel(doubled)  # knows no more than what lies on disk, as in a new process
        return fresh(21), sum(fresh.stats.cache_hits.values())

    assert again() == (42, 0)
    (index,), (code,) = tmp_path.rglob("*.nbi"), tmp_path.rglob("*.nbc")
    for file, stale in (index, pickle.dumps(numba.__version__) + LOST), (index, b"\0"), (code, LOST):
        assert again() == (42, 1)
        file.write_bytes(stale)
        assert again() == (42, 0)  # compiled anew, and kept
    assert again() == (42, 1)
