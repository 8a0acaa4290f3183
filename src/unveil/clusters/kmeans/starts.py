"""Where K-means starts: centres by name, by a function, or as given.

Most starts are drawn from a sample of the rows: all of them, or 65,536 of a larger table (more where clusters are
many). Careful seeding looks at every row once or more for each centre; on a sample it costs little beside the passes
that follow, and seeds are not the answer, only where the search for it begins. k-means|| looks at all rows, wherever
they are, in a few passes.

Where nobody says how many starts there are to be, k-means++ is `refined`: the best of several short runs, which on
tables of more than one partition goes on to its end on 8,192 rows. Few passes over all rows are then left to make.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from unveil.clusters.assignment.direct import NOTHING, is_direct
from unveil.clusters.kmeans.descent import descend
from unveil.clusters.kmeans.geometry import RowGeometry, Sample, Seeding, is_lone, lone_block
from unveil.clusters.kmeans.short_runs import ROWS_EACH, one_of_each, short_runs
from unveil.clusters.kmeans.variance import mean_variance
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.core.arrays import Floats
from unveil.core.checkpoint import noted
from unveil.core.once import cached_property
from unveil.core.partition import count_of
from unveil.core.protocols import Block, Engine, Source
from unveil.engines.threads import Threads
from unveil.estimation.input import refuse_nonfinite
from unveil.estimation.picking import picked
from unveil.estimation.registry import lookup
from unveil.sources.array import ArraySource

RUNG_ROWS = 1 << 13  # of a larger table, that are climbed before all of them: a pass is a tenth of a millisecond
RUNG_TOL, RUNG_PASSES = 1e-4, 300  # of the climb over these


@final
@dataclass(frozen=True)
class StartGround:
    """What a start may look at. What takes a pass over the rows is found when it is asked for."""

    geometry: RowGeometry
    source: Source
    engine: Engine
    seed: int
    n_clusters: int

    @cached_property
    def shift(self) -> Floats:
        """Origin of the frame."""
        return self.geometry.shift(self.source)

    @cached_property
    def sample(self) -> Sample:
        """Rows, as the geometry draws from them, and their weights."""
        return self.geometry.sample(self.source, self.seed, self.n_clusters, self.engine)

    @cached_property
    def rung(self) -> Block:
        """All rows of one partition, or some of a larger table: what is climbed first. For tables of numbers."""
        if is_lone(self.source):
            return lone_block(self.source)
        return scattered_rows(self.source, max(RUNG_ROWS, ROWS_EACH * self.n_clusters), self.seed, self.engine)

    @cached_property
    def refined(self) -> Floats | None:
        """The best of several short runs, at the end of a climb if that was over some of the rows only.

        None where rows or clusters are so many that this would take long, or rows are not numbers alone.
        """
        if not self.geometry.single_moves:
            return None
        if not is_direct(len(self.rung.rows), self.source.n_columns, self.n_clusters):
            return None
        rows, weights = self.rung.rows, NOTHING if self.rung.weights is None else self.rung.weights
        best = short_runs(rows, self.shift, weights, self.n_clusters, np.random.default_rng(self.seed))
        if best is None or len(rows) == self.source.n_rows:
            return best
        tol = RUNG_TOL * mean_variance(self.geometry.spread(self.rung, self.shift))
        return np.asarray(descend(rows, self.shift, weights, best[None], tol, RUNG_PASSES).centres[0])

    @cached_property
    def variance(self) -> float:
        """Mean variance of the columns, which tolerances are a share of."""
        return self.geometry.variance(self.source, self.engine, self.shift)


class SeededStart(NamedTuple):
    """A start that a word names."""

    seeding: str  # what makes the seeding, imported when it is asked for
    refined: bool = False  # is it the best of several short runs where nobody says how many starts?
    streamed: bool = False  # does it find centres by passes over all the rows, not among those of the sample?
    auto: int = 1  # starts where nobody says how many

    def centres(self, word: str, ground: StartGround, times: int) -> Iterator[Floats]:
        """First centres in the frame, `times` over; each start has a seed of its own."""
        seeds = map(int, np.random.SeedSequence(ground.seed).generate_state(times))
        seeding = lookup(self.seeding)()
        if self.streamed:
            _refuse_unscanned(word, ground)
            for seed in seeds:
                place = ground.source, ground.engine, ground.shift, ground.n_clusters, seed
                yield noted("seeding", (seeding, place[0], *place[2:]), partial(seeding, *place))
            return
        shared = Seeding(seeding, share_of(ground.engine))
        for seed in seeds:
            random = np.random.default_rng(seed)
            yield ground.geometry.draw(shared, ground.sample, ground.shift, ground.n_clusters, random)


STARTS = {
    "k-means++": SeededStart("unveil.clusters.seeding.plusplus:PlusPlus", refined=True),
    "plain-k-means++": SeededStart("unveil.clusters.kmeans.starts:plain_plus_plus"),
    "furthest-first": SeededStart("unveil.clusters.seeding.furthest:Furthest"),
    "random": SeededStart("unveil.clusters.seeding.random:RandomRows", auto=10),
    "k-means||": SeededStart("unveil.clusters.seeding.scalable:Scalable", streamed=True),
}


def times_of(init: Any, n_init: Any) -> int:
    """How many starts there are, for any `n_init`."""
    auto = STARTS[init].auto if isinstance(init, str) else 10 if callable(init) else 1
    return auto if isinstance(n_init, str) else int(n_init)


def is_refined(init: Any, n_init: Any) -> bool:
    """Whether a start is the best of several short runs, where these are soon done."""
    return isinstance(init, str) and STARTS[init].refined and isinstance(n_init, str)


def starts(init: Any, n_init: Any, ground: StartGround) -> Iterator[Floats]:
    """First centres in the frame, one set per start, by a word, a function or an array of centres."""
    times = times_of(init, n_init)
    if isinstance(init, str):
        best = ground.refined if is_refined(init, n_init) else None
        return STARTS[init].centres(init, ground, times) if best is None else iter([best])
    return _called(init, ground, times) if callable(init) else _given(init, ground, times)


def in_units(init: Any, exponent: int) -> Any:
    """`init` for rows that are divided by 2**exponent."""
    if isinstance(init, str):
        return init
    if not callable(init):
        return np.ldexp(np.asarray(init, dtype=np.float64), -exponent)

    def begun(rows: Any, n_clusters: int, random_state: Any) -> Any:
        back = rows * 2.0**exponent  # in the units that the user knows
        return np.ldexp(np.asarray(init(back, n_clusters, random_state=random_state), dtype=np.float64), -exponent)

    return begun


def _called(function: Callable[..., Any], ground: StartGround, times: int) -> Iterator[Floats]:
    """Centres that a function of the user gives, as scikit-learn calls it: one random state for all calls."""
    random, rows = check_random_state(ground.seed), ground.geometry.shown(ground.sample[0])
    for _ in range(times):
        yield framed(function(rows, ground.n_clusters, random_state=random), ground)


def _given(centres: Any, ground: StartGround, times: int) -> Iterator[Floats]:
    """Centres as given: one start, and no other."""
    if times != 1:
        only = f"init gives the centres, so there is one start, not n_init={times}"
        warnings.warn(f"KMeans: {only}", RuntimeWarning, stacklevel=2)
    yield framed(centres, ground)


def _refuse_unscanned(word: str, ground: StartGround) -> None:
    """An error if passes over the rows find no centres."""
    if ground.geometry.unscanned is not None:
        raise ValueError(f"init={word!r} cannot look at {ground.geometry.unscanned}; 'k-means++' can")
    if not np.isfinite(ground.variance):  # its draws would never come to an end
        refuse_nonfinite(ground.source)
        raise ValueError(f"init={word!r} takes X whose squares do not overflow; scale X")


def framed(centres: Any, ground: StartGround) -> Floats:
    """Centres as given, checked and brought into the frame."""
    given = centres.toarray() if issparse(centres) else centres  # as rows of a sparse table are
    checked, wanted = check_array(given, dtype=np.float64, input_name="init"), (ground.n_clusters, len(ground.shift))
    if checked.shape != wanted:
        raise ValueError(f"init must have shape (n_clusters, n_features) = {wanted}, got {checked.shape}")
    return np.ascontiguousarray(checked - ground.shift)


def plain_plus_plus() -> PlusPlus:
    """k-means++ as it was first described: one candidate at each step."""
    return PlusPlus(trials=1)


def scattered_rows(source: Source, size: int, seed: int, engine: Engine | None = None) -> Block:
    """Rows at random, all over a table, and their weights; all, if there are no more."""
    chosen = one_of_each(source.n_rows, min(size, source.n_rows), np.random.default_rng(seed))
    if isinstance(source, ArraySource):
        rows, weights = source.rows[chosen], None if source.weights is None else source.weights[chosen]
    else:
        rows, weights = picked(source, chosen, engine)
    if not np.all(np.isfinite(rows)):
        refuse_nonfinite(source)
    return Block(0, 0, rows, weights)


def at_hand(source: Source) -> Source:
    """A source of one partition that is read once, wherever and however it is kept; a larger one as it is."""
    if count_of(source) > 1 or (isinstance(source, ArraySource) and source.rows.flags.c_contiguous):
        return source
    (block,) = source.read()
    return ArraySource(block.rows, block.weights, source.names) if isinstance(block.rows, np.ndarray) else source


def share_of(engine: Engine) -> Callable[..., Iterable[Any]]:
    """`map` on the threads of an engine, for work on a sample, which is in this process wherever the rows are."""
    return engine.share if isinstance(engine, Threads) else Threads().share
