"""Where K-means starts: centres by name, by a function, or as given.

Most starts are drawn from a sample of the rows: all of them, or 65,536 of a larger table (more where clusters are
many). Careful seeding looks at every row once or more for each centre; on a sample it costs little beside the passes
that follow, and seeds are not the answer, only where the search for it begins. k-means|| looks at all rows, wherever
they are, in a few passes.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from unveil.clusters.kmeans.geometry import RowGeometry, Sample, Seeding
from unveil.clusters.kmeans.variance import variance_of
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.core.arrays import Floats
from unveil.core.protocols import Engine, Source
from unveil.engines.threads import Threads
from unveil.estimation.input import refuse_nonfinite
from unveil.estimation.registry import lookup

SEEDINGS = {
    "random": "unveil.clusters.seeding.random:RandomRows",
    "k-means++": "unveil.clusters.seeding.plusplus:PlusPlus",
    "plain-k-means++": "unveil.clusters.kmeans.starts:plain_plus_plus",
    "furthest-first": "unveil.clusters.seeding.furthest:Furthest",
    "k-means||": "unveil.clusters.seeding.scalable:Scalable",
}
"""What makes the seeding that a word names, imported when it is asked for."""


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
        return self.geometry.sample(self.source, self.seed, self.n_clusters)

    @cached_property
    def variance(self) -> float:
        """Mean variance of the columns, which tolerances are a share of."""
        return variance_of(self.geometry.spread, self.source, self.engine, self.shift)


class CentreStart(ABC):
    """Gives first centres, as often as asked for."""

    auto: int = 1  # starts where nobody says how many

    @abstractmethod
    def centres(self, ground: StartGround, times: int) -> Iterator[Floats]:
        """First centres in the frame, `times` over."""


@final
@dataclass(frozen=True)
class SampledStart(CentreStart):
    """Rows of the sample, chosen by a seeding."""

    word: str
    auto: int = 1

    def centres(self, ground: StartGround, times: int) -> Iterator[Floats]:
        """Each start has a seed of its own."""
        seeding = Seeding(lookup(SEEDINGS[self.word])(), share_of(ground.engine))
        for seed in _seeds(ground, times):
            random = np.random.default_rng(seed)
            yield ground.geometry.draw(seeding, ground.sample, ground.shift, ground.n_clusters, random)


@final
@dataclass(frozen=True)
class Streamed(CentreStart):
    """Centres that a seeding finds by passes over all the rows."""

    word: str

    def centres(self, ground: StartGround, times: int) -> Iterator[Floats]:
        """Each start has a seed of its own."""
        if ground.geometry.unscanned is not None:
            raise ValueError(f"init={self.word!r} cannot look at {ground.geometry.unscanned}; 'k-means++' can")
        if not np.isfinite(ground.variance):  # its draws would never come to an end
            refuse_nonfinite(ground.source)
            raise ValueError(f"init={self.word!r} takes X whose squares do not overflow; scale X")
        seeding = lookup(SEEDINGS[self.word])()
        for seed in _seeds(ground, times):
            yield seeding(ground.source, ground.engine, ground.shift, ground.n_clusters, seed)


@final
@dataclass(frozen=True)
class Called(CentreStart):
    """Centres that a function of the user gives, as scikit-learn calls it; it is shown the sample."""

    function: Callable[..., Any]
    auto: int = 10

    def centres(self, ground: StartGround, times: int) -> Iterator[Floats]:
        """One random state for all calls."""
        random, rows = check_random_state(ground.seed), ground.geometry.shown(ground.sample[0])
        for _ in range(times):
            yield framed(self.function(rows, ground.n_clusters, random_state=random), ground)


@final
@dataclass(frozen=True)
class GivenCentres(CentreStart):
    """Centres as given: one start, and no other."""

    array: Any

    def centres(self, ground: StartGround, times: int) -> Iterator[Floats]:
        """Once."""
        if times != 1:
            only = f"init gives the centres, so there is one start, not n_init={times}"
            warnings.warn(f"KMeans: {only}", RuntimeWarning, stacklevel=2)
        yield framed(self.array, ground)


STARTS: dict[str, CentreStart] = {
    "k-means++": SampledStart("k-means++"),
    "plain-k-means++": SampledStart("plain-k-means++"),
    "furthest-first": SampledStart("furthest-first"),
    "random": SampledStart("random", auto=10),
    "k-means||": Streamed("k-means||"),
}


def start_of(init: Any) -> CentreStart:
    """The start that a word, a function or an array of centres stands for."""
    return STARTS[init] if isinstance(init, str) else Called(init) if callable(init) else GivenCentres(init)


def times_of(init: Any, n_init: Any) -> int:
    """How many starts there are, for any `n_init`."""
    return start_of(init).auto if isinstance(n_init, str) else int(n_init)


def starts(init: Any, n_init: Any, ground: StartGround) -> Iterator[Floats]:
    """First centres in the frame, one set per start."""
    return start_of(init).centres(ground, times_of(init, n_init))


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


def share_of(engine: Engine) -> Callable[..., Iterable[Any]]:
    """`map` on the threads of an engine, for work on a sample, which is in this process wherever the rows are."""
    return engine.share if isinstance(engine, Threads) else Threads().share


def _seeds(ground: StartGround, times: int) -> Iterator[int]:
    return map(int, np.random.SeedSequence(ground.seed).generate_state(times))
