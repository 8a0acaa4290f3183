"""What is done on a worker: sums over a run of partitions, and sums of such sums, in the order of the one tree.

A run is on its worker a `Shell`: how its blocks are read, and what they remember. The shell is an object in the
worker's memory that tasks write to, with the number of the pass that wrote it: a copy left behind by a run that moved,
or by an attempt that failed, is never taken for the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from unveil.core.protocols import Block, Memo, Step
from unveil.core.statistics import Statistics, subtrees
from unveil.numerics.blas import single_threaded_blas


class Job(NamedTuple):
    """Some partitions of one run, in a pass."""

    run: int
    partitions: Sequence[int]
    position: int  # number of the first of them among all the leaves of the tree
    kept: int  # number of the pass that wrote its memos; 0 where there are none
    number: int  # of this pass


class TreePart(NamedTuple):
    """Sums over neighbouring leaves: those of the largest subtrees that they make up, with their heights."""

    first: int
    sums: list[tuple[int, Any]]
    places: dict[str, list[int]]  # runs, by the worker on which they were summed


@dataclass(eq=False)
class Shell:
    """A run on its worker: how to read its blocks, and what they remember."""

    read: Callable[..., Iterator[Block]]
    nbytes: int = 0
    memos: tuple[int, dict[int, Memo]] = (0, {})

    def take(self, kept: int) -> dict[int, Memo]:
        """The memos, if they are those of pass `kept`. They leave: models may write to them before an error."""
        (number, memos), self.memos = self.memos, (0, {})
        return memos if kept and kept == number else {}

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes  # by this the scheduler weighs whether to move a run


def reduce_job(step: Step, shell: Shell, job: Job, late: Any) -> TreePart:
    """The statistics of a job."""
    from distributed import get_worker

    memos = shell.take(job.kept)
    last = job.position + len(job.partitions)
    with single_threaded_blas():
        sums = list(subtrees(_leaves(step, _blocks(shell, job, late), memos), job.position, last))
    shell.memos = job.number, memos
    return TreePart(job.position, sums, {get_worker().address: [job.run]})


def map_job(function: Callable[[Block], Any], shell: Shell, job: Job, late: Any) -> list[Any]:
    """`function` of each block of a job."""
    with single_threaded_blas():
        return [function(block) for block in _blocks(shell, job, late)]


def joined(*parts: TreePart) -> TreePart:
    """Neighbours as one: whatever subtrees they complete between them are added up."""
    places: dict[str, list[int]] = {}
    for part in parts:
        for worker, runs in part.places.items():
            places.setdefault(worker, []).extend(runs)
    return TreePart(parts[0].first, _grown(parts), places)


def _grown(parts: Iterable[TreePart]) -> list[tuple[int, Any]]:
    """The subtrees of neighbouring parts, brothers replaced by their sum.

    Two neighbours of equal height are brothers if the left one begins at an even multiple of their width.
    """
    done: list[tuple[int, int, Any]] = []  # first leaf, height, sum
    for part in parts:
        place = part.first
        for height, item in part.sums:
            first, grown, total = place, height, item
            while done and done[-1][1] == grown and done[-1][0] % (2 << grown) == 0:
                first, _, before = done.pop()
                total, grown = before + total, grown + 1
            done.append((first, grown, total))
            place += 1 << height
    return [(height, total) for _, height, total in done]


def held(blocks: list[Block], late: Any, partitions: Sequence[int]) -> Iterator[Block]:
    """Those of `blocks` that are asked for."""
    return (block for block in blocks if block.index in partitions)


def _blocks(shell: Shell, job: Job, late: Any) -> Iterator[Block]:
    return shell.read(late, job.partitions)


def _leaves(step: Step, blocks: Iterator[Block], memos: dict[int, Memo]) -> Iterator[Statistics]:
    """Statistics of each block; the memos are brought up to date on the way."""
    for block in blocks:
        statistics, memo = step(block, memos.get(block.index))
        if memo is not None:
            memos[block.index] = memo
        yield statistics
