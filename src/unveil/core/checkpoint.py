"""What a long run has worked out so far, so that the same run, begun again, goes on where it was.

Everything that is computed here is a function of its inputs alone: data, options, seed. So a computation is known by
the fingerprint of its inputs (`unveil.core.fingerprint`), in whatever order restarts and candidates are worked through,
and there are two things that it may leave in a notebook:

* its outcome (`noted`): computed once, and taken from the notebook afterwards;
* how far it came (`progress`): the state of a loop between two passes, of which only the latest is kept.

What is not in the notebook is computed, so nothing depends on how much of it was saved: the bits are those of a run
that nobody disturbed. Who keeps the notebook in a file is `unveil.storage.checkpoint`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

from unveil.core.fingerprint import Fingerprints
from unveil.core.result import Status

logger = logging.getLogger("unveil")
T = TypeVar("T")

LONG_ENOUGH = 0.05  # seconds of a computation whose outcome is worth a place
SHARE_OF_TIME = 0.05  # that writing may take, whatever was asked for
KINDS = ("task ", "estimator ")
MOST_SAID = 3  # differences that a refusal names

_NOTEBOOK: ContextVar[Notebook | None] = ContextVar("unveil_notebook", default=None)


class CheckpointError(ValueError):
    """The checkpoint is damaged, or is of other work than this."""

    def __init__(self, message: str) -> None:
        super().__init__("".join(letter if letter.isprintable() else " " for letter in message)[:900])


class Note:
    """What is known of one computation: its outcome, or how far it came."""

    def __init__(self, ended: bool, make: Callable[[], Any]) -> None:
        self.ended, self._make = ended, make
        self.used = True  # in this run
        self._made = False
        self._value: Any = None

    @property
    def value(self) -> Any:
        """The outcome or the state, made when it is first asked for."""
        if not self._made:
            self._value, self._made = self._make(), True
        return self._value


@dataclass
class Notebook:
    """The notes of a run. Tasks (whole fits, say) are numbered in order, and each must be what it was."""

    shown: str  # how messages call it
    save: Callable[[Notebook], None]
    every: float
    notes: dict[str, Note] = field(default_factory=dict)
    tasks: list[dict[str, str]] = field(default_factory=list)
    draws: list[dict[str, int]] = field(default_factory=list)  # seeds that chance gave, task by task
    long_enough: float = field(default_factory=lambda: LONG_ENOUGH)
    presses: int = 0  # times that Ctrl-C ended something early

    def __post_init__(self) -> None:
        self.prints = Fingerprints()
        self.begun, self.within, self.owner = 0, False, os.getpid()
        self.failed, self._draws = False, 0
        self._written, self._cost = perf_counter(), 0.0

    # -- tasks ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def task(self, identity: Mapping[str, str]) -> Iterator[None]:
        """Work that is one whole. A CheckpointError if it is not what the task of this number was."""
        number, self.begun = self.begun, self.begun + 1
        if number < len(self.tasks):
            self._compare(self.tasks[number], identity)
        else:
            self.tasks.append(dict(identity))
            self.draws.append({})
        self.within, self._draws = True, 0
        self.prints.forget()
        try:
            yield
        finally:
            self.within = False
        if self.begun >= len(self.tasks) and not self.presses:
            self.notes = {key: note for key, note in self.notes.items() if note.used and note.ended}

    def _compare(self, before: Mapping[str, str], now: Mapping[str, str]) -> None:
        names = [*before, *(name for name in now if name not in before)]
        told = [
            f"{name} was {before.get(name, 'not given')} and is {now.get(name, 'not given')}"
            for name in names
            if before.get(name) != now.get(name)
        ]
        if told:
            told = told[:1] if told[0].startswith(KINDS) else told  # of another kind of work all the rest is another
            more = f", and {len(told) - MOST_SAID} more" if len(told) > MOST_SAID else ""
            raise CheckpointError(
                f"{self.shown}: is the checkpoint of other work: {'; '.join(told[:MOST_SAID])}{more}. "
                "Go on with what it was begun with, or remove the file to begin anew"
            )

    def drawn(self, draw: Callable[[], int]) -> int:
        """A seed that is left to chance, the same when the task is begun again."""
        if not self.within:
            return draw()
        self._draws += 1
        return self.draws[self.begun - 1].setdefault(str(self._draws), draw())

    # -- notes ---------------------------------------------------------------------------------------------------------

    def key(self, kind: str, inputs: tuple[Any, ...]) -> str | None:
        """What a computation is known by; None where an input cannot be told from others."""
        try:
            return self.prints.of(kind, *inputs)
        except (TypeError, RecursionError, OSError) as error:
            logger.debug("checkpoint: %s is not kept: %s", kind, error)
            return None

    def found(self, key: str | None) -> Note | None:
        """What is known of a computation."""
        note = None if key is None else self.notes.get(key)
        if note is not None:
            note.used = True
        return note

    def note(self, key: str, ended: bool, value: Any) -> None:
        """Remember an outcome or a state, and write all to the file if it is time."""
        self.notes[key] = Note(ended, lambda: value)
        now = perf_counter()
        if now - self._written >= max(self.every, self._cost / SHARE_OF_TIME):
            self.write()

    def write(self) -> None:
        """Write all to the file. Where that cannot be done it is said, and the work goes on."""
        began = perf_counter()
        try:
            self.save(self)
            self.failed = False
        except OSError as error:
            if not self.failed:
                logger.warning("%s: the checkpoint cannot be written (%s); the work goes on", self.shown, error)
            self.failed = True
        self._written = perf_counter()
        self._cost = self._written - began


class LoopProgress:
    """How far a loop came. Where there is no notebook, nothing is found and nothing kept."""

    def __init__(self, notebook: Notebook | None, key: str | None) -> None:
        self._notebook = notebook if key is not None else None
        self._key = key or ""
        self._began = perf_counter()
        self._note = None if self._notebook is None else self._notebook.found(key)

    @property
    def wanted(self) -> bool:
        """Whether anybody wants to know."""
        return self._notebook is not None

    @property
    def outcome(self) -> Any:
        """What came of it; None where it has not ended."""
        return self._note.value if self._note is not None and self._note.ended else None

    @property
    def state(self) -> Any:
        """Where it stands; None where it has not begun."""
        return self._note.value if self._note is not None and not self._note.ended else None

    def reached(self, state: Any) -> None:
        """It has come as far as this, and would go on from here. What it is told is not to be written to later."""
        if self._notebook is not None:
            self._notebook.note(self._key, False, state)

    def ended(self, outcome: Any) -> None:
        """It is over, and not because somebody ended it; what took no time is not worth a place."""
        if self._notebook is None:
            return
        if self._note is None and perf_counter() - self._began < self._notebook.long_enough:
            self._notebook.notes.pop(self._key, None)
        else:
            self._notebook.note(self._key, True, outcome)


def notebook() -> Notebook | None:
    """Where this thread notes what it works out; None as a rule."""
    found = _NOTEBOOK.get()
    return found if found is not None and found.owner == os.getpid() else None  # a fork does not write in it


def progress(kind: str, *inputs: Any) -> LoopProgress:
    """How far a loop came that is known by its kind and its inputs."""
    kept = notebook()
    return LoopProgress(kept, None if kept is None else kept.key(kind, inputs))


def noted(kind: str, inputs: tuple[Any, ...], compute: Callable[[], T]) -> T:
    """What `compute` returns, a function of `inputs` alone; from the notebook where it is there.

    What was noted on the way is forgotten then. An outcome that Ctrl-C cut short is not noted.
    """
    kept = notebook()
    key = None if kept is None else kept.key(kind, inputs)
    if kept is None or key is None:
        return compute()
    note = kept.found(key)
    if note is not None:
        return note.value  # type: ignore[no-any-return]
    before, presses, began = set(kept.notes), kept.presses, perf_counter()
    outcome = compute()
    if kept.presses == presses and getattr(outcome, "status", None) is not Status.INTERRUPTED:
        for inner in kept.notes.keys() - before:
            del kept.notes[inner]
        if perf_counter() - began >= kept.long_enough:
            kept.note(key, True, outcome)
    return outcome


def noted_each(
    kind: str, inputs: Sequence[tuple[Any, ...]], tasks: Sequence[Callable[[], T]], run: Callable[[Any], Iterator[T]]
) -> Iterator[T]:
    """What `run` makes of the tasks, in order, each as `noted`; only those are run of which nothing is known."""
    kept = notebook()
    keys = [None if kept is None else kept.key(kind, each) for each in inputs]
    if kept is None:
        yield from run(tasks)
        return
    known = [kept.found(key) for key in keys]
    fresh = iter(run([task for task, note in zip(tasks, known, strict=True) if note is None]))
    for key, note in zip(keys, known, strict=True):
        outcome: Any = next(fresh) if note is None else note.value
        if note is None and key is not None and getattr(outcome, "status", None) is not Status.INTERRUPTED:
            kept.note(key, True, outcome)
        yield outcome


def drawn(draw: Callable[[], int]) -> int:
    """A seed that is left to chance; the one that was drawn before where this work is begun again."""
    kept = notebook()
    return draw() if kept is None else kept.drawn(draw)


def ended_early() -> None:
    """Ctrl-C ended something that would have gone on: the notebook is kept for whoever goes on with it."""
    kept = notebook()
    if kept is not None:
        kept.presses += 1


@contextmanager
def noting_in(kept: Notebook) -> Iterator[None]:
    """What this thread works out is noted in `kept`."""
    token = _NOTEBOOK.set(kept)
    try:
        yield
    finally:
        _NOTEBOOK.reset(token)
