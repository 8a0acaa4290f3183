"""One read, many climbs: whoever needs a pass over the rows asks for it, and all that ask are answered at once.

A climb is a generator. It yields what it asks for, one or several passes (`Ask`), and is sent what came of each.
`together` runs several side by side as one; `drive` answers. Of all that ask for the same partitions of the same rows,
each block is read once and dispatched once (`unveil.core.shared_pass`), and each has the bits it would have had alone.
A climb that is driven by itself costs nothing more: its step goes to the engine as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

from unveil.core.protocols import Answer, Ask, Asking, Block, Engine, Source
from unveil.core.shared_pass import Failed, SharedStep, StepOfOne, Views, base_of

T = TypeVar("T")


def answer_to(ask: Ask) -> Asking[Any]:
    """Ask for one pass; what came of it, or an error."""
    (answer,) = yield (ask,)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def together(climbs: Iterable[Asking[T]], final: Callable[[T], bool] = lambda outcome: False) -> Asking[list[T]]:
    """Several climbs side by side, as one that asks for what all of them ask for; their outcomes, in order.

    An outcome that is `final` (somebody pressed Ctrl-C) ends the others as Ctrl-C does. An error ends them all.
    """
    going = dict(enumerate(climbs))
    outcomes: dict[int, T] = {}
    sent: dict[int, Any] = dict.fromkeys(going)
    try:
        while going:
            asks, pressed = _asked(going, sent, outcomes, final)
            if pressed:
                asks, _ = _asked(going, {place: _interrupts(each) for place, each in asks.items()}, outcomes, final)
            if asks:
                answers = iter((yield tuple(chain.from_iterable(asks.values()))))
                sent = {place: list(islice(answers, len(each))) for place, each in asks.items()}
    finally:
        for climb in going.values():
            climb.close()
    return [outcomes[place] for place in sorted(outcomes)]


def _asked(
    going: dict[int, Asking[T]], sent: dict[int, Any], outcomes: dict[int, T], final: Callable[[T], bool]
) -> tuple[dict[int, tuple[Ask, ...]], bool]:
    """What each climb asks for next, once it was sent what it waited for, and whether there was a final outcome.

    One that asks no more has an outcome. After a final one, those whose turn it is are told of Ctrl-C instead.
    """
    asks: dict[int, tuple[Ask, ...]] = {}
    pressed = False
    for place, climb in list(going.items()):
        try:
            asks[place] = climb.send(_interrupts(sent[place]) if pressed and sent[place] else sent[place])
        except StopIteration as end:
            outcomes[place] = end.value
            del going[place]
            pressed = pressed or final(end.value)
    return asks, pressed


def _interrupts(waiting: Sequence[Any]) -> list[Any]:
    """Ctrl-C in place of all that is waited for."""
    return [KeyboardInterrupt()] * len(waiting)


def drive(climb: Asking[T]) -> T:
    """The outcome of a climb, or of several `together`, all of whose asks are answered.

    Ctrl-C during a pass is what came of it for all that asked: a climb keeps what it reached.
    """
    return Driver().run(climb)


class Driver:
    """Answers asks, and holds what blocks remember from one pass to the next."""

    def __init__(self) -> None:
        self._places: list[_Place] = []
        self._latest: _Place | None = None  # asked for by itself

    def run(self, climb: Asking[T]) -> T:
        """The outcome of a climb."""
        answers: Any = None
        while True:
            try:
                asks = climb.send(answers)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answers = self.answers(asks)

    def answers(self, asks: Sequence[Ask]) -> list[Answer]:
        """What came of each."""
        if len(asks) == 1:
            place = self._latest
            if place is None or not place.is_that_of(asks[0]):
                place = self._latest = self._place(asks[0])
            return place.answers(asks, asks)
        found: dict[int, Answer] = {}
        for place, numbers in self._groups(asks):
            chosen = [asks[number] for number in numbers]
            found.update(zip(numbers, place.answers(chosen, asks), strict=True))
        return [found[number] for number in range(len(asks))]

    def _groups(self, asks: Sequence[Ask]) -> Iterable[tuple[_Place, list[int]]]:
        """Numbers of the asks that one pass answers: for the same partitions of the same rows on the same engine."""
        groups: dict[Any, tuple[_Place, list[int]]] = {}
        for number, ask in enumerate(asks):
            place = self._place(ask)
            wanted = None if ask.partitions is None else tuple(ask.partitions)
            groups.setdefault((id(place), wanted), (place, []))[1].append(number)
        return groups.values()

    def _place(self, ask: Ask) -> _Place:
        """Where the rows of an ask are."""
        base = base_of(ask.source)
        for place in self._places:
            if place.base is base and _same(place.engine, ask.engine):
                return place
        self._places.append(_Place(ask.engine, base))
        return self._places[-1]


def _same(one: Any, other: Any) -> bool:
    """Whether work for one engine may as well be done by the other: they are equal, and do not change."""
    return one is other or (getattr(one, "__hash__", None) is not None and bool(one == other))


class _Place:
    """Rows and an engine, and what the blocks remember."""

    def __init__(self, engine: Engine, base: Any) -> None:
        self.engine, self.base = engine, base
        self._kept: Any = None  # memos, as the engine has them
        self._sources: list[Source] = []  # over the base, as they were asked for
        self._open: Any = None  # what is read
        self._alone = 0  # the owner that has asked so far, as long as it is but one
        self._shared = False

    def is_that_of(self, ask: Ask) -> bool:
        """Whether an ask is for the very source that was opened here."""
        return ask.engine is self.engine and len(self._sources) == 1 and self._sources[0] is ask.source

    def answers(self, asks: Sequence[Ask], every: Sequence[Ask]) -> list[Answer]:
        """What comes of asks for the same partitions, among all that are asked at the time."""
        try:
            if self._is_alone(asks):
                return [self._answer(asks[0])]
            return self._answer_all(asks, frozenset(ask.owner for ask in every))
        except (Exception, KeyboardInterrupt) as error:
            return [error] * len(asks)

    def _is_alone(self, asks: Sequence[Ask]) -> bool:
        """Whether one climb is all there ever was, so that its steps are run as they are."""
        owner, source = asks[0].owner, asks[0].source
        if self._shared or len(asks) > 1 or (owner and self._alone not in (0, owner)):
            return False
        return not self._sources or (len(self._sources) == 1 and self._sources[0] is source)

    def _answer(self, ask: Ask) -> Answer:
        """A pass of its own."""
        if self._open is None:
            self._sources, self._open = [ask.source], rereadable(ask.source)
        kept = self._kept if ask.owner else None
        statistics, kept = self.engine.map_reduce(ask.step, self._open, kept, ask.partitions)
        if ask.owner:
            self._alone, self._kept = ask.owner, kept
        return statistics

    def _answer_all(self, asks: Sequence[Ask], going: frozenset[int]) -> list[Answer]:
        """One pass for all."""
        self._shared = True
        views = self._views([ask.source for ask in asks])
        steps = tuple(StepOfOne(ask.step, ask.owner, view) for ask, view in zip(asks, views, strict=True))
        step: Any = SharedStep(steps, going, self._alone)
        found, self._kept = self.engine.map_reduce(step, self._open, self._kept, asks[0].partitions)
        return [each.error if isinstance(each, Failed) else each for each in found]  # type: ignore[attr-defined]

    def _views(self, sources: Sequence[Source]) -> list[int]:
        """The number of the view that each source is; all of them are open then."""
        known = {id(source): number for number, source in enumerate(self._sources)}
        fresh = {id(source): source for source in sources if id(source) not in known}
        if fresh:
            self._sources += fresh.values()
            only = len(self._sources) == 1
            self._open = rereadable(sources[0]) if only else Views(rereadable(self.base), self._sources)
            known = {id(source): number for number, source in enumerate(self._sources)}
        return [known[id(source)] for source in sources]


# -- reading -----------------------------------------------------------------------------------------------------------


def rereadable(source: Any) -> Any:
    """A source of which the same partition may be asked for several times in a row."""
    return source if getattr(source, "random_access", False) else LastPartition(source)


class LastPartition:
    """A source that keeps the partition it read last, for schedules that take it piece by piece."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._last: Block | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_source":
            raise AttributeError(name)
        return getattr(self._source, name)

    def read(self, partitions: Sequence[int] | None = None) -> Iterable[Block]:
        """Blocks of the source; a single one is read once however often it is asked for in a row."""
        if partitions is None or len(partitions) != 1:
            return self._source.read(partitions)
        if self._last is None or self._last.index != partitions[0]:
            (self._last,) = self._source.read(partitions)
        return iter([self._last])
