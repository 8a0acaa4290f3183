"""One pass that answers many: what is done to a block on behalf of several climbs while it is in the cache.

Statistics of each climb are added by themselves, in the order of the same tree, and what a block remembers is kept for
each by itself: so every climb gets the bits that it would have got alone. One whose step fails fails alone.

Climbs may look at the same rows in different ways (other weights, say): sources laid over one and the same by a
`mapping` of its blocks. `Views` reads that one, and every block brings along the ways it is to be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from unveil.core.partition import bounds_of
from unveil.core.protocols import Block, Memo, Model, Step
from unveil.core.statistics import Statistics
from unveil.core.steps import ExpectationStep

Change = Callable[[Block], Block]


class Failed(NamedTuple):
    """What stands in place of statistics where a step raised an error."""

    error: Exception


class StatisticsOfEach(tuple[Statistics | Failed, ...]):
    """Statistics of several climbs, which add each by itself."""

    __slots__ = ()

    def __add__(self, other: StatisticsOfEach) -> StatisticsOfEach:  # type: ignore[override]
        return StatisticsOfEach(_sum(one, two) for one, two in zip(self, other, strict=True))


def _sum(one: Statistics | Failed, other: Statistics | Failed) -> Statistics | Failed:
    if isinstance(one, Failed):
        return one
    return other if isinstance(other, Failed) else one + other


class MemoOfEach(dict[int, Memo]):
    """What a block remembers for each climb, by the number of its owner."""


class StepOfOne(NamedTuple):
    """What one climb asks of a block."""

    step: Step
    owner: int  # whose memo it takes; 0 where nothing is remembered
    view: int = 0  # of the block


@dataclass(frozen=True)
class SharedStep:
    """The steps of several climbs as one, as engines take it."""

    steps: tuple[StepOfOne, ...]
    going: frozenset[int]  # owners of climbs that go on: what is remembered for others is let go of
    alone: int = 0  # whose memo it is that a block remembers by itself, from passes that were not shared

    def __call__(self, block: Any, memo: Memo) -> tuple[StatisticsOfEach, Memo]:
        """Statistics of each, and what the block remembers for each."""
        known = memo if isinstance(memo, MemoOfEach) else {self.alone: memo}
        kept = MemoOfEach((owner, one) for owner, one in known.items() if owner in self.going and one is not None)
        found: list[Statistics | Failed] = []
        for group in _alike(self.steps):
            for one, (statistics, fresh) in zip(group, _answers(group, block, kept), strict=True):
                found.append(statistics)
                if one.owner and fresh is not None:
                    kept[one.owner] = fresh
        return StatisticsOfEach(found), kept or None


def _alike(steps: Sequence[StepOfOne]) -> Iterator[list[StepOfOne]]:
    """Neighbours that ask the same of models of a class that answers them together, and all others by themselves."""
    group: list[StepOfOne] = []
    for one in steps:
        if group and not _goes_with(group[0], one):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _goes_with(one: StepOfOne, other: StepOfOne) -> bool:
    first, second = one.step, other.step
    return (
        isinstance(first, ExpectationStep)
        and isinstance(second, ExpectationStep)
        and type(first.model) is type(second.model)
        and first.piece is second.piece is None
        and type(first.model).expect_many is not Model.expect_many
    )


def _answers(group: list[StepOfOne], block: Any, memos: MemoOfEach) -> list[tuple[Statistics | Failed, Memo]]:
    """What came of each step of a group."""
    if len(group) > 1:
        try:
            views = {number: _view(block, number) for number in {one.view for one in group}}
            requests = [one.step.request(views[one.view], memos.get(one.owner)) for one in group]  # type: ignore[attr-defined]
            return list(requests[0].model.expect_many(requests))
        except Exception:  # one by one it shows whose error it is
            return [answer for one in group for answer in _answers([one], block, memos)]
    (one,) = group
    try:
        return [one.step(_view(block, one.view), memos.get(one.owner) if one.owner else None)]
    except Exception as error:
        return [(Failed(error), None)]


# -- one source, seen in several ways ----------------------------------------------------------------------------------


def base_of(source: Any) -> Any:
    """The source under all that is laid over it by a mapping of its blocks."""
    while hasattr(source, "mapping") and hasattr(source, "source"):
        source = source.source
    return source


def change_of(source: Any, first: int, last: int) -> Change | None:
    """What is laid over the blocks of rows `first` to `last` - 1; None where there is nothing."""
    changes: list[Change] = []
    while hasattr(source, "mapping") and hasattr(source, "source"):
        changes.append(source.mapping(first, last))
        source = source.source
    return partial(_changed, tuple(reversed(changes))) if changes else None


def _changed(changes: Sequence[Change], block: Block) -> Block:
    for change in changes:
        block = change(block)
    return block


class ViewedBlock(NamedTuple):
    """A block, and what is laid over it in each view."""

    index: int  # type: ignore[assignment]  # number of the partition
    block: Block
    changes: tuple[Change | None, ...]

    @property
    def rows(self) -> Any:
        """The rows as they are in the source."""
        return self.block.rows


def _view(block: Any, number: int) -> Block:
    if not isinstance(block, ViewedBlock):
        return block  # type: ignore[no-any-return]
    change = block.changes[number]
    return block.block if change is None else change(block.block)


class Views:
    """A source whose blocks come with the ways in which several `sources` over it see them."""

    def __init__(self, base: Any, sources: Sequence[Any]) -> None:
        self._base, self._sources = base, tuple(sources)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._base, name)

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[ViewedBlock]:
        """Blocks of the source."""
        for block in self._base.read(partitions):
            yield _viewed(self._changes(block.start, block.start + len(block.rows)), block)

    def fetch(self, partitions: Sequence[int]) -> Iterator[ViewedBlock]:
        """Blocks of the source, decoded on this thread."""
        for block in self._base.fetch(partitions):
            yield _viewed(self._changes(block.start, block.start + len(block.rows)), block)

    @property
    def ship(self) -> Callable[[Sequence[int]], tuple[Callable[..., Iterator[ViewedBlock]], Any]]:
        """How rows reach a worker of a cluster: as the source says, if it does, and viewed there."""
        return partial(self._ship, self._base.ship)

    def _ship(self, ship: Callable[..., Any], run: Sequence[int]) -> tuple[Callable[..., Any], Any]:
        read, argument = ship(run)
        first, last = bounds_of(self._base, run[0])[0], bounds_of(self._base, run[-1])[1]
        return partial(_shipped, self._changes(first, last), read), argument

    def _changes(self, first: int, last: int) -> tuple[Change | None, ...]:
        return tuple(change_of(source, first, last) for source in self._sources)


def _viewed(changes: tuple[Change | None, ...], block: Block) -> ViewedBlock:
    return ViewedBlock(block.index, block, changes)


def _shipped(
    changes: tuple[Change | None, ...],
    read: Callable[..., Iterator[Block]],
    argument: Any,
    partitions: Sequence[int],
) -> Iterator[ViewedBlock]:
    """Blocks as `read` gives them on the worker, with what is laid over them."""
    return map(partial(_viewed, changes), read(argument, partitions))
