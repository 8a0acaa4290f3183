"""The five parts that a fit is assembled from, and what each owes the others.

For data x, hidden s, parameters and any distribution q over s, the free energy

    F(q, parameters) = E_q[log p(x, s | parameters)] + H(q) = log p(x | parameters) - KL(q || p(s | x, parameters))

is what every iterative model here climbs. A *model* says what is hidden and how it is scored, an *expectation*
picks q, a *schedule* says when the parameters move, an *engine* says where the work runs, and a *source* where the
rows are. No part knows which of the others it is working with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from unveil.core.arrays import Array, Floats, Indices
from unveil.core.statistics import Statistics

Params = Any  # a frozen dataclass that belongs to its model
Memo = Any  # what a block remembers for itself between passes; only its model and expectation look inside
Random = Callable[[], np.random.Generator]  # the random stream of a block, made when it is first asked for
T = TypeVar("T")


class Block(NamedTuple):
    """The rows of one partition."""

    index: int  # type: ignore[assignment]  # number of the partition
    start: int  # number of its first row in the table
    rows: Array  # (m, d), float32 or float64, not to be written to
    weights: Floats | None = None  # (m,), or None when every row counts once
    lengths: Indices | None = None  # of the sequences that fill the block, where rows are steps of such
    sequence_weights: Floats | None = None  # how often each sequence counts; None when each does once
    marks: tuple[Any, ...] | None = None  # what else the source knows of each sequence: brackets of a sentence, say
    codes: Array | None = None  # the number of each row's class, where the source has labels


class Piece(NamedTuple):
    """One of several equal pieces of a partition, for mini-batches smaller than it."""

    number: int
    of: int  # a power of two

    def bounds(self, n_rows: int) -> tuple[int, int]:
        """First row of the piece within a partition of `n_rows`, and the row after its last."""
        return n_rows * self.number // self.of, n_rows * (self.number + 1) // self.of

    def cut(self, block: Block) -> Block:
        """The rows of the piece."""
        first, last = self.bounds(len(block.rows))
        weights = None if block.weights is None else block.weights[first:last]
        return Block(block.index, block.start + first, block.rows[first:last], weights)


class Source(Protocol):
    """Where the rows are. Partitions follow `unveil.core.partition`, whatever the storage."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells: float32 or float64."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Column names, where the storage has them."""

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks in increasing order of partition; all of them by default. May be called again and again."""


class Bound(NamedTuple):
    """What an expectation reports of a tile: sums over its rows, weights included."""

    log_likelihood: float
    free_energy: float


class Expectation(ABC):
    """Picks q given the joint log-probabilities of a tile. Frozen; what changes from pass to pass is asked of `at`.

    Where s is not one of a few values but a path or a tree, there is no table of joint log-probabilities to hand over:
    such a model goes by what the expectation says of itself (`posterior`, `best`, `draws`, `power`, `active`).
    """

    posterior: bool = False  # is q the posterior itself? Models may have a faster way to it
    best: bool = False  # is all of q on the likeliest s?
    draws: int = 0  # is q made of so many draws from the posterior?
    power: float = 1.0  # is q proportional to a power of p(x, s)?
    monotone: bool = True  # does a new pass never lower the free energy?
    steady: bool = True  # does one pass at the same parameters give the same q as another? Not so when it is drawn
    active: int | None = None  # length of the lists that q is kept to between refreshes
    refresh: int = 1  # passes between refreshes of those lists

    def at(self, passes: int) -> Expectation:
        """The expectation of a pass, given how many came before."""
        return self

    def settled(self, passes: int) -> bool:
        """Whether it will stay as it is after so many passes; no fit has converged before."""
        return True

    @abstractmethod
    def responsibilities(self, logits: Floats, weights: Floats | None, random: Random) -> Bound:
        """Overwrite `logits` (components, rows), log p(x, s), with q(s) times the row's weight."""


class Request(NamedTuple):
    """An E step of a block, as a model is asked for several at once."""

    model: Any
    plan: Any
    block: Block
    expectation: Expectation
    memo: Memo
    random: Random


class Model(ABC):
    """What is hidden and how it is scored. Frozen and stateless; parameters travel beside it.

    A model of your own needs `expect` and `maximise`; the statistics must hold the scalars ``weight`` (the sum of
    row weights), ``log_likelihood`` and ``free_energy``, each summed over the block, at the parameters given.
    """

    smooth: bool = True  # do statistics move smoothly with the parameters, so that they can be extrapolated?
    recalls: bool = True  # may they tell of the pass before, by what blocks remember? To resume, it is made again then

    def prepare(self, params: Params) -> Any:
        """What the E step of every block needs, computed once a pass (Cholesky factors, say)."""
        return params

    @abstractmethod
    def expect(
        self, plan: Any, block: Block, expectation: Expectation, memo: Memo, random: Random
    ) -> tuple[Statistics, Memo]:
        """E step of one block."""

    def expect_many(self, requests: Sequence[Request]) -> list[tuple[Statistics, Memo]]:
        """E steps of one block for several climbs of models of this class: each with the bits it would have alone.

        Blocks may be several views of one, such as the same rows with other weights. A class whose models can share
        work overrides this; what they remember must then not be written to.
        """
        return [one.model.expect(one.plan, one.block, one.expectation, one.memo, one.random) for one in requests]

    @abstractmethod
    def maximise(self, statistics: Statistics, params: Params) -> Params:
        """M step."""

    def recentre(self, params: Params) -> Params:
        """Move the points about which moments are taken. Schedules call it where no older statistics live on."""
        return params

    def same_frames(self, one: Params, other: Params) -> bool:
        """Whether statistics under both parameters are about the same points, so that they add."""
        return True

    def log_prior(self, params: Params) -> float:
        """Log-density of the prior, added to the free energy that is monitored."""
        return 0.0

    def energy(self, statistics: Statistics, params: Params) -> float:
        """E_q[log p(x, s | params)] of statistics gathered under any q: what incremental and generalized EM climb."""
        raise TypeError(f"{type(self).__name__} has no energy, which incremental and generalized EM need")

    def admissible(self, statistics: Statistics) -> bool:
        """Could these be the statistics of real rows? What acceleration extrapolates must be."""
        return all(bool(np.all(np.isfinite(value))) for value in statistics.values())

    def dead(self, statistics: Statistics) -> Indices:
        """Numbers of the hidden values to which no row belongs any more."""
        return np.empty(0, dtype=np.intp)

    def coordinates(self, params: Params) -> Chart:
        """Unconstrained coordinates around `params`, for schedules that follow a gradient."""
        raise TypeError(f"{type(self).__name__} has no unconstrained coordinates, which gradient schedules need")

    def events(self, statistics: Statistics, params: Params) -> Mapping[str, int]:
        """What had to be mended in this M step: ``{"floored": 1}``. The certificate adds these up."""
        return {}


class Chart(Protocol):
    """A chart of the parameters: vectors of any real numbers, and the parameters they stand for."""

    @property
    def origin(self) -> Floats:
        """The vector of the parameters around which the chart was made."""

    def params(self, vector: Floats) -> Params:
        """Parameters at a vector."""

    def gradient(self, statistics: Statistics, vector: Floats) -> Floats:
        """Gradient of ``energy(statistics, params(vector)) + log_prior(params(vector))`` in `vector`.

        By Fisher's identity this is the gradient of the log-likelihood (plus prior) where the statistics were gathered
        at the same parameters under the exact posterior.
        """


Step = Callable[[Block, Memo], tuple[Statistics, Memo]]


class Engine(Protocol):
    """Where the work runs."""

    def map_reduce(
        self, step: Step, source: Source, memos: Any, partitions: Sequence[int] | None = None
    ) -> tuple[Statistics, Any]:
        """Apply `step` to each block and add the statistics in tree order.

        `memos` is None at first and then whatever the last call returned; only the engine looks inside.
        """

    def map(self, function: Callable[[Block], Any], source: Source) -> Iterable[Any]:
        """`function` of each block, in order."""


class Ask(NamedTuple):
    """A pass over the rows that somebody waits for."""

    engine: Engine
    source: Source
    step: Step
    partitions: Sequence[int] | None = None  # all by default
    owner: int = 0  # whose memos the blocks are handed; 0 where nothing is to be remembered


Answer = Any  # statistics, added in tree order; or the error that there was instead
Asking = Generator[tuple[Ask, ...], Sequence[Answer], T]
"""What is run by `unveil.core.drive`: yields what it asks for, is sent what came of each, and returns an outcome."""


def at_once(function: Callable[..., T], *arguments: Any) -> Asking[T]:
    """A call, as something that asks for nothing."""
    yield from ()
    return function(*arguments)


class Work(NamedTuple):
    """What a schedule is handed: a model on a source, with the E step of some partitions as one call."""

    model: Model
    source: Source
    expect: Callable[..., Statistics]  # (parameters, partitions or None for all, a piece of them or None for the whole)
    passes: Callable[..., Asking[Statistics]] | None = None  # the same, to be asked for

    def ask(
        self, params: Params, partitions: Sequence[int] | None = None, piece: Piece | None = None
    ) -> Asking[Statistics]:
        """The E step as ``yield from work.ask(...)`` gets it: along with what others ask for at the time."""
        given = (params, partitions) if piece is None else (params, partitions, piece)
        return at_once(self.expect, *given) if self.passes is None else self.passes(*given)


class Schedule(ABC):
    """When and how far the parameters move.

    One of your own has a `sweep`, or a `sweeping`, which is the same as a generator: its climbs then share their passes
    with others that are run at the same time.
    """

    monotone: bool  # does theory promise that the free energy never falls?
    statistical: bool = False  # are the new parameters the M step of the statistics that a sweep returns?
    whole_pass: bool = False  # are these statistics those of one pass over all rows, at `measured_at`?

    def sweep(self, work: Work, params: Params, state: Any) -> tuple[Params, Statistics, Any]:
        """One pass over the data: new parameters, the statistics of the pass, and the schedule's own state."""
        sweeping = self.sweeping(work._replace(passes=None), params, state)
        try:
            next(sweeping)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        raise RuntimeError(f"the sweep of {self.name} asks for passes by other ways than its work")

    def sweeping(self, work: Work, params: Params, state: Any) -> Asking[tuple[Params, Statistics, Any]]:
        """The same, with ``yield from work.ask(...)`` in place of ``work.expect(...)``."""
        return at_once(self.sweep, work, params, state)

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """Why this schedule cannot drive `model` under `expectation`; None if it can."""
        return None

    def measured_at(self, entering: Params, state: Any) -> Params:
        """The parameters to which the free energy of the last sweep belongs: those that entered it, as a rule."""
        return entering

    def settled(self, state: Any) -> bool:
        """Whether the gains of the last sweeps tell how far the end is; no fit has converged before."""
        return True

    def ending(self, params: Params, state: Any) -> Params:
        """The parameters to end with after the last sweep: its own, as a rule."""
        return params

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return type(self).__name__

    def events(self, state: Any) -> Mapping[str, int]:
        """What had to be mended in the last sweep: ``{"taken_back": 1}``."""
        return {}
