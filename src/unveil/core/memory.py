"""How much memory fits may take: `with unveil.memory_limit("2GB"):`.

The limit is of the whole process as the system counts it (its resident size). A fit that could hold more than it must,
bounds of K-means or tables of a chain, asks for its `budget` when it begins and holds no more than that; what it lacks
it computes again or goes without, which costs time and changes no bits.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
LIMIT_NAME = "UNVEIL_MEMORY_LIMIT"  # of the environment variable that limits a process, and those that it starts
STREAM_MEMOS = 1 << 27  # bytes that all rows of a stream may remember together, limit or not
READERS = 1 << 28  # bytes that those hold together who decode a stream at the same time, limit or not
LEAST = 64 << 20  # bytes: a limit below this is a slip of the unit

_LIMIT: ContextVar[float] = ContextVar("unveil_memory_limit", default=math.inf)


@contextmanager
def memory_limit(size: float | str) -> Iterator[None]:
    """Keep the memory of the process within `size` where fits can choose.

    Data that is handed in as an array is there already, and a model has to be held; what fits remember from pass to
    pass and read ahead, and the tables of long chains, are held to what is left. Answers are the same to the bit.

    Parameters
    ----------
    size : str or number
        ``"2GB"``, ``"500MB"``, ``"1.5GiB"``, or a number of bytes; of all that the process holds. The environment
        variable ``UNVEIL_MEMORY_LIMIT`` does the same for a whole process; the stricter one holds.

    Examples
    --------
    >>> import unveil
    >>> with unveil.memory_limit("2GB"):
    ...     model = unveil.KMeans(2, random_state=0).fit([[0.0], [1.0], [5.0], [6.0]])
    """
    token = _LIMIT.set(min(bytes_of(size), _LIMIT.get()))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def bytes_of(size: float | str, name: str = "size") -> float:
    """The number of bytes that a user speaks of; an error names what it was given for.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB")
    (2000000000.0, 1610612736.0)
    """
    number = math.nan
    if isinstance(size, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmg]?i?b?)\s*", size, re.IGNORECASE)
        unit = found[2].upper() if found else ""
        unit = unit if unit in UNITS else f"{unit}B"
        number = float(found[1]) * UNITS[unit] if found and unit in UNITS else math.nan
    elif isinstance(size, Real) and not isinstance(size, bool):
        number = float(size)
    if not number >= LEAST:
        raise ValueError(f"{name} must be as '2GB' or a number of bytes, 64 MiB at least, got {size!r}")
    return number


def budget() -> float:
    """Bytes that may be held on top of what the process holds now; infinite where nobody set a limit.

    Asked for once, when a fit begins: what it then holds itself would count as taken.
    """
    named = os.environ.get(LIMIT_NAME)
    limit = min(_LIMIT.get(), math.inf if named is None else bytes_of(named, LIMIT_NAME))
    return limit if limit == math.inf else max(limit - resident(), 0.0)


def memo_room(streamed: bool) -> float:
    """Bytes that all blocks of a table may remember together: of a stream, whose rows may be without end, a constant.

    Half of the budget is left for all else.

    >>> memo_room(streamed=True) == STREAM_MEMOS, memo_room(streamed=False)
    (True, inf)
    """
    return min(STREAM_MEMOS if streamed else math.inf, budget() / 2)


def reading_room() -> float:
    """Bytes that all who decode a stream at the same time may hold together."""
    return min(READERS, budget() / 2)


def resident() -> float:
    """Bytes of memory that the process holds, as the system counts them."""
    try:
        with open("/proc/self/statm") as file:
            return float(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return _most_resident()


def _most_resident() -> float:
    """The most that there ever was, which is what a system without /proc tells; 0 where nothing does."""
    import sys

    try:
        import resource
    except ImportError:
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit
