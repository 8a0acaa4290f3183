"""Products of matrices and peers on one thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Threads of BLAS and of OpenMP wait for each other by spinning; our own are those of the engines.

    Where other processes are at work that takes ten times as long as one thread does.
    """
    with threadpool_limits(1):
        yield
