"""The search for a start: climbs over a sample, from one kind of start after the other, until the two best agree.

Every climb is ended as soon as little more is expected of it (from how its gains fall off), and is judged by where it
would end, so kinds that are slow to climb and end high are not dropped too soon. The search ends when the two best
climbs are to end at the same height, or when it has cost about as much as the fit that follows. It serves every kind of
chain; what differs is which kinds of start are tried.

Where all is plain, first states are taken from a quick K-means, neighbours that share a state, and so on; a state
without spread of its own climbs without end (Day, 1969), so climbs to one are passed over, unless most end so: then it
is the data that are so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unveil.chains.climbers import Climber, Foreseen, GeneralClimber, ShortClimb, SmallClimber
from unveil.chains.model.model import MarkovParams
from unveil.chains.small import SmallChainClimb, climb_over
from unveil.chains.starts import STARTS, ChainSample, Finish, Kinds, Renamed
from unveil.core.arrays import Floats
from unveil.core.loop import Parts
from unveil.core.protocols import Block
from unveil.engines.threads import Threads
from unveil.expectations import Exact
from unveil.mixtures.starts.search import nearest
from unveil.mixtures.starts.starts import Nearest, Start
from unveil.mixtures.starts.whitening import whitening
from unveil.schedules import Batch

FREE = ("kmeans", "runs", "outlying", "whitened", "runs", "k-means++", "runs", "random")
CODES = ("runs", "runs", "runs", "runs", "runs", "random", "runs", "runs")  # distances tell codes nothing
LABELLED = ("kmeans", "runs", "progress", "runs", "kmeans", "random", "runs", "mixture", "random", "runs", "mixture")
ORDERED = ("progress",) * 4
PLACED = ("kmeans", "random", "random")
CENTRED = {"kmeans", "k-means++", "whitened", "outlying"}
ROUGH = 0.1  # nats for each thousand steps (and at least so much) still to be gained where a climb of the search ends
PATIENCE = 30  # passes that such a climb may take
FULL_PASSES = 32  # over all steps that a search may cost
CODE_STEPS = 30_000  # at least, for codes: the fit itself takes so much less
CODE_CLIMBS = 4  # of codes, unless two agree before: cheap ones, of which one in three ends lower than it could
AGREEING_CLIMBS = 6  # at least, before it counts that two agree: the widest optimum is often met twice before the best
CALL_STEPS = 400  # what Python takes for a pass, in steps
CENTRES_EACH_TRY = 4  # of a K-means: one more try for each so many
LLOYD_PASSES = 10  # of a K-means that is only there to begin with
OUTLYING = 0.5  # of the steps that a state has on average: those that are left to one of their own


class ChainSearch:
    """Climbs over a sample for a fit of `n_rows` steps; `tried` counts them."""

    def __init__(self, sample: ChainSample, kinds: Kinds, finish: Finish | None, n_rows: int) -> None:
        self.sample, self.kinds, self.finish = sample, kinds, finish or _as_it_is
        self.tried = 0
        self.scale = max(sample.source.n_rows / 1000.0, 1.0)
        self.budget = max(FULL_PASSES * n_rows, kinds.least_steps)
        model = sample.model.suited_to(sample.source.n_rows)
        self.pass_steps = sample.source.n_rows + CALL_STEPS + model.family.n_statistics(sample.source.n_columns)
        parts = Parts(model, sample.source, Exact(), Batch(), Threads(), Foreseen(0.0))
        self.general = GeneralClimber(sample, kinds, self.finish, parts)
        run = climb_over(model, parts)
        given = self.general if finish is not None or kinds.follows else None
        self.climber: Climber = (
            SmallClimber(sample, run.table, given) if isinstance(run, SmallChainClimb) else self.general
        )

    def starts(self, seed: int, count: int) -> Iterator[MarkovParams]:
        """Parameters to go on from with all rows, one set for each seed of `count`."""
        for number, one in enumerate(np.random.SeedSequence(seed).spawn(count)):
            yield self._best(np.random.default_rng(one), number)

    def _best(self, random: np.random.Generator, number: int) -> MarkovParams:
        """The best of some climbs."""
        found: list[ShortClimb] = []
        kinds: list[str] = []
        spent = 0.0
        for place, kind in enumerate(self._names(number)):
            self.tried += 1
            height = max((one.expected for one in found if one.sound and not one.spiked), default=-np.inf)
            climb = self._climbed(kind, random, place + number == 0, height - ROUGH * self.scale)
            passes = PATIENCE / 2 if climb is None else climb.passes
            spent += passes * self.pass_steps
            if climb is not None:
                found.append(climb)
                kinds.append(kind)
            agreed = place + 1 >= AGREEING_CLIMBS and self._agree(found, kinds)
            if agreed or (place + 1 >= self.kinds.fewest and spent >= self.budget):
                break
        if not found:  # no climb was plain: the general way takes any
            self.climber = self.general
            return self._best(random, number)
        by_nature = 2 * sum(one.spiked for one in found) > len(found)
        best = max(found, key=lambda one: (one.sound and (by_nature or not one.spiked), one.expected))
        return self.climber.params(best.place)

    def _names(self, number: int) -> tuple[str, ...]:
        """The kinds that are tried, a single one where there is but one optimum; further searches begin elsewhere."""
        names = self.kinds.names
        if self.sample.model.n_components == 1:
            return names[:1]
        return names[number % len(names) :] + names[: number % len(names)]

    def _agree(self, found: Sequence[ShortClimb], kinds: Sequence[str]) -> bool:
        """Whether the two best of those that are sound end at the same height, and began in different ways.

        Kinds that go by distances all begin at about the same place, so that they say nothing of each other.
        """
        pairs = zip(found, kinds, strict=True)
        ends = [(one.expected, kind in CENTRED) for one, kind in pairs if one.sound and not one.spiked]
        best = max((end for end, _ in ends), default=-np.inf)
        near = [centred for end, centred in ends if end >= best - ROUGH * self.scale]
        return len(near) > 1 and not all(near)

    def _climbed(self, kind: str, random: np.random.Generator, opening: bool, target: float) -> ShortClimb | None:
        """A climb from a start; the `opening` one of a series knows the order of the states, if any does."""
        start = self._start(kind, random, opening)
        if self.kinds.renamed and not (kind == "progress" and opening):
            start = Renamed(start, random.permutation(self.sample.model.n_components))
        with np.errstate(all="ignore"):  # a poor start is dropped, not complained of
            rule = Foreseen(ROUGH * self.scale, target)
            return self.climber.climb(self.climber.first(start), rule, PATIENCE)

    def _start(self, kind: str, random: np.random.Generator, opening: bool) -> Start:
        seed = 0 if kind == "progress" and opening else int(random.integers(1, 1 << 31))
        if kind in CENTRED:
            return self._centred(kind, random)
        return STARTS[kind](self.sample, seed, self.finish)

    def _centred(self, kind: str, random: np.random.Generator) -> Start:
        """Of the kinds that go by distances, quick ones: they are only there to be climbed from."""
        points, weights = self.sample.steps.points, self.sample.steps.weights
        if kind in ("kmeans", "k-means++"):
            passes = LLOYD_PASSES if kind == "kmeans" else 0
            return Nearest(rough_centres(points, self.sample.model.n_components, random, passes))
        if kind == "whitened":
            turn = whitening(points, np.ones(len(points)) if weights is None else weights)
            return Nearest(rough_centres(points @ turn, self.sample.model.n_components, random), turn)
        centres = rough_centres(points, self.sample.model.n_components - 1, random)
        away = nearest_squares(points, centres)
        return Outlying(centres, float(np.quantile(away, 1.0 - OUTLYING / self.sample.model.n_components)))


@dataclass(frozen=True)
class Outlying(Start):
    """A state for each centre but the last, which is for what is far from all of them."""

    centres: Floats
    reach: float  # squared distance of a centre within which its steps are

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """One-hot."""
        far = nearest_squares(points, self.centres) > self.reach
        labels = np.where(far, n_components - 1, nearest(points, self.centres))
        return np.equal(labels, np.arange(n_components)[:, None]).astype(np.float64)


def nearest_squares(points: Floats, centres: Floats) -> Floats:
    """Squared distance of each point to the nearest centre."""
    away = points - centres[nearest(points, centres)]
    found: Floats = np.einsum("ij,ij->i", away, away)
    return found


def _as_it_is(params: MarkovParams) -> MarkovParams:
    return params


def rough_centres(points: Floats, count: int, random: np.random.Generator, passes: int = LLOYD_PASSES) -> Floats:
    """Centres by greedy k-means++ and a few passes of Lloyd's: as much of a K-means as climbs that follow can use.

    The more centres there are, the more often one is missed: so the best of several for many.

    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(rough_centres(points, 2, np.random.default_rng(0)).ravel().tolist())
    [0.5, 10.5]
    """
    tries = 1 + count // CENTRES_EACH_TRY if passes else 1
    found = [_settled(points, points[_spread_out(points, count, random)], passes) for _ in range(tries)]
    return found[0] if tries == 1 else min(found, key=lambda centres: float(nearest_squares(points, centres).sum()))


def _settled(points: Floats, centres: Floats, passes: int) -> Floats:
    """Centres after some passes of Lloyd's algorithm."""
    for _ in range(passes):
        taken = np.equal(nearest(points, centres), np.arange(len(centres))[:, None]).astype(np.float64)
        sizes = taken.sum(axis=1)
        moved = np.where(sizes[:, None] > 0, taken @ points / np.maximum(sizes, 1.0)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _spread_out(points: Floats, count: int, random: np.random.Generator) -> list[int]:
    """Numbers of points far from each other, each the best of some that are drawn by squared distance.

    The more centres there are, the more often one of them would be missed.
    """
    squares = np.einsum("ij,ij->i", points, points)
    chosen = [int(random.integers(len(points)))]
    nearby = _squared_distances(points, squares, chosen)[0]
    for _ in range(count - 1):
        reach = np.cumsum(nearby)
        drawn = np.searchsorted(reach, random.random(2 + count // 2) * reach[-1], side="right")
        places = np.minimum(drawn, len(points) - 1).tolist()
        left = np.minimum(nearby, _squared_distances(points, squares, places))
        best = int(np.argmin(left.sum(axis=1)))
        chosen.append(places[best])
        nearby = left[best]
    return chosen


def _squared_distances(points: Floats, squares: Floats, places: list[int]) -> Floats:
    """Of all points to some of them, (places, points)."""
    found: Floats = np.maximum(squares - 2.0 * (points[places] @ points.T) + squares[places][:, None], 0.0)
    return found
