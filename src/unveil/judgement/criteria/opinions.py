"""What one criterion has to say about the number of clusters, and what becomes of all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

Line = Sequence[Mapping[str, Any]]  # rows of the table that differ in the number of clusters only, in its order
SIZE = "n_clusters"


@final
@dataclass(frozen=True)
class Opinion:
    """One criterion's answer.

    Parameters
    ----------
    name, title : str
        Of the criterion.
    size : int or None
        The number of clusters it is for; None where it cannot tell.
    words : str
        Why, as part of a sentence.
    structure : bool, default=True
        False where the criterion, which cannot be for one cluster, sees no clusters at all.
    voice : bool, default=True
        Whether it has a say in the verdict.
    """

    name: str
    title: str
    size: int | None
    words: str
    structure: bool = True
    voice: bool = True


@final
@dataclass(frozen=True)
class Choice:
    """The number of clusters that was chosen, how clear that is, and what each criterion said.

    Parameters
    ----------
    size : int
    clear : bool
        False where there is no clear answer.
    votes : dict of int to float
        Criteria that are for each number that was tried.
    opinions : tuple of Opinion
    words : str
        The verdict.
    """

    size: int
    clear: bool
    votes: Mapping[int, float]
    opinions: tuple[Opinion, ...]
    words: str


def known(line: Line, name: str) -> list[tuple[int, float]]:
    """Sizes and values of a column, where it has one."""
    return [(int(row[SIZE]), float(row[name])) for row in line if row.get(name) is not None]


def at_edge(size: int, line: Line) -> bool:
    """Is `size` the last that was tried, or the first of those from two on? Beyond it there might be better."""
    sizes = [int(row[SIZE]) for row in line]
    return len(sizes) > 1 and (size == max(sizes) or (size == min(sizes) and size > 2))


def clusters(size: int) -> str:
    """A number of clusters in words."""
    return "1 cluster" if size == 1 else f"{size} clusters"
