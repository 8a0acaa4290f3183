"""Through the cells of a subject: fits in turns, what they are worth, and the methods that people call afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.cases import OURS
from benchmarks.contenders.interface import Order
from benchmarks.lane import UnavailableError
from benchmarks.ordinary.grid import Cell, Grid
from benchmarks.ordinary.reference import MOST_ROWS, Mark, best_sound, spurious
from benchmarks.ordinary.subjects import Peer, Subject
from benchmarks.ordinary.turns import Contender, Pace, Turns, take_turns
from benchmarks.race import Say
from benchmarks.tasks.base import Arrays

FIT = "fit"


@dataclass
class Outcome:
    """One contender in one cell."""

    seconds: dict[str, float] = field(default_factory=dict)  # by what was timed
    value: float = np.nan
    rand: float = np.nan  # adjusted Rand index with the planted groups
    trouble: str = ""


@dataclass
class Measured:
    """One cell."""

    subject: Subject
    cell: Cell
    ours: Outcome
    peers: dict[str, Outcome]
    mark: Mark | None = None
    spurious: str | None = None  # why the guard takes unveil's fit for an artefact

    def aim(self, peer: str) -> float:
        """The value that unveil should reach: that of the best sound fit, or a peer's where there is none."""
        if self.mark is not None and np.isfinite(self.mark.value):
            return self.mark.value
        return self.peers[peer].value

    def reached(self, peer: str) -> bool:
        """Whether it does, with a sound fit."""
        return self.spurious is None and self.subject.judge.no_worse(self.ours.value, self.aim(peer))


class Seat(NamedTuple):
    """A peer, and its process."""

    peer: Peer
    contender: Contender


@dataclass
class Survey:
    """A subject on its grid."""

    subject: Subject
    cells: list[Measured]
    absent: dict[str, str]  # peers that cannot take part, and why


def survey(subject: Subject, grid: Grid, pace: Pace, say: Say) -> Survey:
    """Run all cells of a subject."""
    cells = list(grid.cells(subject.limits))
    if not cells:
        return Survey(subject, [], {})
    with ExitStack() as stack:
        empty = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="unveil-ordinary-")))
        seats = [Seat(peer, Contender(subject.entry(peer), empty)) for peer in subject.everybody()]
        for seat in seats:
            stack.enter_context(closing(seat.contender))
            seat.contender.ready()
        present = [seat for seat in seats if not seat.contender.absent]
        if seats[0] not in present:
            raise RuntimeError(f"{subject.name} of unveil cannot take part: {seats[0].contender.absent}")
        found = [_measured(subject, cell, methods, present, pace, say) for cell, methods in _with_methods(cells)]
    return Survey(subject, found, {seat.peer.label: seat.contender.absent for seat in seats if seat not in present})


def _with_methods(cells: Sequence[Cell]) -> Iterator[tuple[Cell, bool]]:
    """Cells, and whether methods are timed: once for each shape, since kinds and seeds make no difference to them."""
    seen = set()
    for cell in cells:
        size = (cell.shape, cell.sequences)
        yield cell, size not in seen
        seen.add(size)


def _measured(subject: Subject, cell: Cell, methods: bool, seats: Sequence[Seat], pace: Pace, say: Say) -> Measured:
    """Fits, judgements, methods."""
    say(f"ordinary: {subject.name}, {cell}")
    arrays = subject.data(cell)
    seats = [seat for seat in seats if cell.shape.rows <= seat.peer.most_rows]
    taking = [seat.contender for seat in seats]
    with tempfile.TemporaryDirectory(prefix="unveil-ordinary-") as folder:
        for name, array in arrays.items():
            np.save(Path(folder, f"{name}.npy"), array)
        for contender in taking:
            contender.load(Path(folder))
    fits = take_turns(taking, Order(FIT), pace)
    found = {one.label: _judged(subject, one, arrays, fits[one.label]) for one in taking}
    if methods:
        asked = [seat.contender for seat in seats if seat.peer.answers and not found[seat.peer.label].trouble]
        _time_methods(subject, asked, found, pace)
    measured = Measured(subject, cell, found.pop(OURS.label), found)
    if subject.marked and not measured.ours.trouble:
        measured.spurious = spurious(arrays, fits[OURS.label].answer)
        measured.mark = best_sound(arrays) if cell.shape.rows <= MOST_ROWS else None
    return measured


def _judged(subject: Subject, contender: Contender, arrays: Arrays, turns: Turns) -> Outcome:
    """What the fit is worth, and how its groups agree with those that were planted."""
    outcome = Outcome({FIT: turns.seconds}, trouble=turns.trouble)
    if turns.trouble:
        return outcome
    outcome.value = subject.judge.worth(arrays, turns.answer)
    if "predict" in subject.verbs:
        try:
            labels = contender.do(Order("predict", keep=True))[1]["found"]
            outcome.rand = float(adjusted_rand_score(arrays["labels"], labels))
        except UnavailableError as trouble:
            outcome.trouble = str(trouble)
    return outcome


def _time_methods(subject: Subject, contenders: Sequence[Contender], found: dict[str, Outcome], pace: Pace) -> None:
    """Add the times of methods, on all rows and on one."""
    for verb in subject.verbs:
        for one in (False, True):
            for label, turns in take_turns(contenders, Order(verb, one=one), pace).items():
                found[label].seconds[timed(verb, one)] = turns.seconds


def timed(verb: str, one: bool) -> str:
    """What a time stands for.

    >>> timed("predict", True)
    'predict, one row'
    """
    return f"{verb}, one row" if one else f"{verb}, all rows"
