"""Snapshots of a climb, for those who ask: where its parameters stood, at a bounded number of its passes.

`snapshots` opens a context in which every climb keeps some of the parameters that it comes through. Restarts are
climbs, and each has its own; what is left in a fit's history are those of the one that won. A climb does not know how
long it will be, so every pass is kept at first, and whenever there is no more room every second of them goes: what is
kept lies an even stride apart, from the start to the end. It is a context variable, as that of `unveil.watch` is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from typing import Any, NamedTuple

MOST_SNAPSHOTS = 60  # as many frames as a slider has room for

_MOST: ContextVar[int] = ContextVar("unveil_snapshots", default=0)


class Snapshot(NamedTuple):
    """Parameters after so many passes, in the model's own frame; after none it is the start.

    Their free energy is that of the record of the next pass, ``history[passes]``; those after the last pass are the
    fit's own, and no pass was made from there.
    """

    passes: int
    params: Any


@contextmanager
def snapshots(most: int = MOST_SNAPSHOTS) -> Iterator[None]:
    """Fits in this context keep snapshots of the climb that wins, ``model.history_.snapshots``.

    Mixtures, K-means, hidden Markov models and all else that is fitted by the EM loop keep them; what is not (kernel
    K-means, K-medoids, principal curves, projections that need no loop) has none. Numbers of a fit are the same with
    and without. Snapshots are pickled with the estimator, and not written to its file.

    Parameters
    ----------
    most : int, default=60
        Snapshots of a climb, at least 2: the start and the end are always there, the others at an even stride.

    Examples
    --------
    >>> import unveil
    >>> with unveil.snapshots(most=3):
    ...     model = unveil.KMeans(2, init=[[0.0], [1.0]], n_init=1).fit([[0.0], [1.0], [5.0], [6.0]])
    >>> [snapshot.passes for snapshot in model.history_.snapshots], model.n_iter_
    ([0, 2, 3], 3)
    """
    if not isinstance(most, Integral) or isinstance(most, bool) or most < 2:
        raise ValueError(f"most must be an integer of at least 2, the start and the end, got {most!r}")
    with at_most(int(most)):
        yield


@contextmanager
def at_most(most: int) -> Iterator[None]:
    """As `snapshots`, unchecked; 0 is none, for fits that nobody asked for."""
    token = _MOST.set(most)
    try:
        yield
    finally:
        _MOST.reset(token)


def most_snapshots() -> int:
    """How many a climb of this context keeps; 0 where nobody asks for any."""
    return _MOST.get()


def are_asked_for() -> bool:
    """Whether climbs of this context keep snapshots."""
    return _MOST.get() > 0


class Album:
    """The snapshots of one climb, as it goes on."""

    def __init__(self, most: int) -> None:
        self.most, self.stride = most, 1
        self.kept: list[Snapshot] = []

    def add(self, passes: int, params: Any) -> None:
        """Where the climb stands before the pass that follows; kept if it is its turn."""
        if passes % self.stride == 0:
            self.kept.append(Snapshot(passes, params))
            while len(self.kept) >= self.most > 1:  # there is to be room for the end
                self.stride *= 2
                self.kept = [one for one in self.kept if one.passes % self.stride == 0]

    def copy(self) -> Album:
        """The same, to be added to by itself."""
        other = Album(self.most)
        other.stride, other.kept = self.stride, list(self.kept)
        return other

    def ended(
        self, passes: int, params: Any, shown: Callable[[Any], Any] = lambda params: params
    ) -> tuple[Snapshot, ...]:
        """All of them, with the end; `shown` makes parameters of what was added."""
        before = (Snapshot(one.passes, shown(one.params)) for one in self.kept if one.passes < passes)
        return (*before, Snapshot(passes, params))


def album() -> Album | None:
    """Room for the snapshots of a climb that begins now; None where nobody asks for them."""
    most = _MOST.get()
    return Album(most) if most else None


def one_after_the_other(first: Sequence[Snapshot], passes: int, second: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    """Those of a climb that took `passes`, and of another that went on from about where it ended."""
    if not first or not second:
        return tuple(second)
    both = [*first[:-1], *(one._replace(passes=passes + one.passes) for one in second)]
    joined = Album(_MOST.get() or max(len(first), len(second)))
    joined.stride = max(_stride(first), _stride(second))
    for one in both[:-1]:
        joined.add(*one)
    return joined.ended(*both[-1])


def _stride(snapshots: Sequence[Snapshot]) -> int:
    """How many passes lie between snapshots."""
    return snapshots[1].passes if len(snapshots) > 2 else 1
