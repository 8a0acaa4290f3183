"""A mixture within each component: states of a chain, or components, that one distribution of a family does not fit.

    p(x | component k) = sum_m share_km p(x | part m of k),      m = 1 ... n_parts

The part is hidden beside the component, and log p(x, part | k) is linear in the statistics of the part, so EM goes as
ever: a row that belongs to k by r belongs to its part m by r times p(m | x, k). Moments of a component are

    (its weight, moments of part 1, moments of part 2, ...),

of which those of a part begin with the weight of the part. The M step of all parts is one of K * n_parts components of
the family, so whatever a structure ties is tied over all parts of all components. Rabiner (1989), section IV; Juang,
Levinson and Sondhi, Maximum likelihood estimation for multivariate mixture observations of Markov chains (1986).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from unveil.core.arrays import Floats
from unveil.core.declared import Declared, RecordOf, shares
from unveil.families.base import Family, Tile
from unveil.families.coordinates import Coordinates
from unveil.families.priors import MILD_ROWS, Dirichlet
from unveil.families.wrapped import as_within

SMALLEST_SHARE = 1e-300  # share of a part that stands for none, where a finite logarithm is wanted
SMALLEST_MOVED_SHARE = 1e-12  # the same where a gradient moves it


@dataclass(frozen=True)
class CompoundParams:
    """Shares of the parts (k, n_parts), and the family's parameters of all parts: those of component 0 come first."""

    weights: Floats
    parts: Any


class CompoundPlan(NamedTuple):
    """What a pass needs of the parameters."""

    inner: Any  # the family's plan of all parts
    log_weights: Floats  # (k, n_parts)


@dataclass(frozen=True)
class Compound(Family):
    """Components that are mixtures of `n_parts` of a `family`.

    Parameters
    ----------
    family : Family
        Of the parts. Its parameters are those of all parts of all components.
    n_parts : int
        Parts of each component.
    concentration : float, default=1.0
        Parameter of a symmetric Dirichlet prior on the shares of the parts of each component; 1 is flat.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.families.compound import Compound, CompoundParams
    >>> from unveil.families.poisson import Poisson, PoissonParams
    >>> family = Compound(Poisson(), 2)
    >>> parts = PoissonParams(np.array([[1.0], [3.0], [8.0], [9.0]]))
    >>> params = CompoundParams(np.array([[0.5, 0.5], [1.0, 0.0]]), parts)
    >>> family.means(params).ravel()
    array([2., 8.])
    >>> family.n_parameters(n_components=2, n_columns=1)
    6
    """

    family: Family
    n_parts: int
    concentration: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.n_parts, int | np.integer) or self.n_parts < 1:
            raise ValueError(f"n_parts must be a positive integer, got {self.n_parts!r}")
        Dirichlet(self.concentration)
        for name in ("framed", "takes_missing", "neutral", "ordered", "missing_compiled"):
            object.__setattr__(self, name, getattr(self.family, name))

    def n_statistics(self, n_columns: int) -> int:
        """The weight, and the statistics of every part."""
        return 1 + self.n_parts * self.family.n_statistics(n_columns)

    framing = as_within(Family.framing)

    def declared(self, n_components: int, n_columns: int) -> Declared:
        """Shares of the parts, and the parts in a row."""
        parts = self.family.declared(n_components * self.n_parts, n_columns)
        return RecordOf(CompoundParams, {"weights": shares(n_components, self.n_parts), "parts": parts})

    # -- E step --------------------------------------------------------------------------------------------------------

    def plan(self, params: CompoundParams) -> CompoundPlan:
        """The plan of the parts, and the logarithms of their shares."""
        with np.errstate(divide="ignore"):
            return CompoundPlan(self.family.plan(params.parts), np.log(params.weights))

    def score(self, plan: CompoundPlan, tile: Tile) -> None:
        """Log of the sum over parts; what each part has of a row is kept for `gather`."""
        k, n_rows = tile.logits.shape
        piece = self._piece(tile, tile.room("posteriors", k * self.n_parts, n_rows))
        self.family.score(plan.inner, piece)
        parts = piece.logits.reshape(k, self.n_parts, n_rows)
        parts += plan.log_weights[:, :, None]
        tile.logits[...] = _share_out(parts)

    def gather(self, plan: CompoundPlan, tile: Tile) -> Floats:
        """Each part by its own share of every row."""
        return self._laid_out(tile, self.family.gather(plan.inner, self._shared(tile)))

    def gather_first(self, tile: Tile) -> Floats:
        """Parts by rank along a fixed direction, among the rows of the tile: slabs of equal weight.

        Good for breaking the tie between parts that are alike; `unveil.families.compound_start.split` finds better.
        """
        room = tile.room("posteriors", len(tile.logits) * self.n_parts, tile.logits.shape[1])
        room[...] = _slabs(self.family.embed(np.ascontiguousarray(tile.x.T)), tile.logits, self.n_parts)
        return self._laid_out(tile, self.family.gather_first(self._shared(tile)))

    def complete(self, plan: CompoundPlan, tile: Tile) -> Floats:
        """The family's own, over all parts."""
        return self.family.complete(plan.inner, self._shared(tile))

    def encode(self, rows: NDArray[Any], n_components: int) -> Any:
        """The family's own."""
        return self.family.encode(rows, n_components * self.n_parts)

    def expect_coded(
        self, plan: CompoundPlan, log_weights: Floats, codes: Any, weights: Floats | None
    ) -> tuple[Floats, float]:
        """Under the posterior, components and their parts are one mixture."""
        flat = (plan.log_weights + log_weights[:, None]).ravel()
        moments, log_likelihood = self.family.expect_coded(plan.inner, flat, codes, weights)
        return self._with_totals(moments), log_likelihood

    def expect_missing(
        self, plan: CompoundPlan, log_weights: Floats, rows: Floats, weights: Floats | None, patterns: Any
    ) -> tuple[Floats, float] | None:
        """Likewise."""
        flat = (plan.log_weights + log_weights[:, None]).ravel()
        found = self.family.expect_missing(plan.inner, flat, rows, weights, patterns)
        return None if found is None else (self._with_totals(found[0]), found[1])

    log_base = as_within(Family.log_base)

    # -- M step --------------------------------------------------------------------------------------------------------

    def natural(self, params: CompoundParams) -> Floats:
        """Those of the parts, the logarithm of the share added to each constant; the weight itself counts nothing."""
        natural = self.family.natural(params.parts).copy()
        natural[:, 0] += np.log(np.maximum(params.weights, SMALLEST_SHARE)).ravel()
        rows = natural.reshape(len(params.weights), -1)
        return np.concatenate([np.zeros((len(rows), 1)), rows], axis=1)

    def maximise(self, moments: Floats, params: CompoundParams) -> CompoundParams:
        """The family's M step of all parts, and shares within each component; no weight, no change."""
        blocks = self.blocks(moments)
        shares = self._shares(blocks, params.weights)
        return CompoundParams(shares, self.family.maximise(blocks, params.parts))

    def first(self, moments: Floats) -> CompoundParams:
        """The same without parameters; a part without weight gets those of its component, and none of the rows."""
        blocks = self.blocks(moments).reshape(len(moments), self.n_parts, -1)
        filled = np.where(blocks[:, :, :1] > 0, blocks, blocks.sum(axis=1, keepdims=True))
        alike = np.full(blocks.shape[:2], 1.0 / self.n_parts)
        parts = self.family.first(filled.reshape(-1, blocks.shape[2]))
        return CompoundParams(self._shares(self.blocks(moments), alike), parts)

    def log_prior(self, params: CompoundParams) -> float:
        """Dirichlet on the shares, where it is not flat, and the family's own."""
        prior = self.family.log_prior(params.parts)
        if self.concentration == 1.0:
            return prior
        return prior + Dirichlet(self.concentration).log_density(np.maximum(params.weights, SMALLEST_SHARE))

    def admissible(self, moments: Floats) -> bool:
        """Every component has weight; parts that have none have nothing."""
        blocks = self.blocks(moments)
        alive = blocks[:, 0] != 0
        sound = super().admissible(moments) and not np.any(blocks[~alive])
        return bool(sound and self.family.admissible(blocks[alive]))

    def lacks(self, moments: Floats) -> str | None:
        """What components lack, or their parts."""
        return super().lacks(moments) or self.family.lacks(self.blocks(moments))

    least_rows = as_within(Family.least_rows)
    gauge_size = as_within(Family.gauge_size)

    def gauge(self, rows: Floats, weights: Floats, n_components: int) -> Floats:
        """That of as many components as there are parts."""
        return self.family.gauge(rows, weights, n_components * self.n_parts)

    def mildly(self, gauge: Floats, strength: float) -> Compound:
        """That of the parts, and some rows shared out among them."""
        shares = 1.0 + strength * MILD_ROWS / self.n_parts if self.concentration == 1.0 else self.concentration
        return replace(self, family=self.family.mildly(gauge, strength), concentration=shares)

    def floored(self, params: CompoundParams) -> int:
        """Parts that had to be kept from degenerating."""
        return self.family.floored(params.parts)

    # -- frames --------------------------------------------------------------------------------------------------------

    def recentre(self, params: CompoundParams) -> CompoundParams:
        """Frames of the parts."""
        return replace(params, parts=self.family.recentre(params.parts))

    def same_frames(self, one: CompoundParams, other: CompoundParams) -> bool:
        """Whether those of the parts are."""
        return self.family.same_frames(one.parts, other.parts)

    def located(self, params: CompoundParams, shift: Floats) -> CompoundParams:
        """The parts move."""
        return replace(params, parts=self.family.located(params.parts, shift))

    def in_frame(self, shift: Floats) -> Compound:
        """The family of the parts."""
        return replace(self, family=self.family.in_frame(shift))

    def settled(self, params: CompoundParams) -> CompoundParams:
        """The parts by the rules of their family."""
        return replace(params, parts=self.family.settled(params.parts))

    def moved(self, moments: Floats, params: CompoundParams, target: CompoundParams, shift: Floats) -> Floats:
        """Part by part."""
        blocks = self.family.moved(self.blocks(moments), params.parts, target.parts, shift)
        return np.concatenate([moments[:, :1], blocks.reshape(len(moments), -1)], axis=1)

    # -- use -----------------------------------------------------------------------------------------------------------

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Those of all parts, and their shares."""
        inner = self.family.n_parameters(n_components * self.n_parts, n_columns)
        return inner + n_components * (self.n_parts - 1)

    def draw(self, params: CompoundParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Rows of parts that are drawn first."""
        parts = random.choice(self.n_parts, count, p=params.weights[component])
        wanted = np.bincount(parts, minlength=self.n_parts)
        first = component * self.n_parts
        drawn = [self.family.draw(params.parts, first + part, int(n), random) for part, n in enumerate(wanted)]
        rows = np.concatenate(drawn)
        rows[np.argsort(parts, kind="stable")] = rows.copy()
        return rows

    def taken(self, params: CompoundParams, components: NDArray[np.intp]) -> CompoundParams:
        """Some components, with all of their parts."""
        components = np.arange(len(params.weights))[components]  # by number, also where a mask is given
        numbers = (components[:, None] * self.n_parts + np.arange(self.n_parts)).ravel()
        return CompoundParams(params.weights[components], self.family.taken(params.parts, numbers))

    def means(self, params: CompoundParams) -> Floats:
        """Those of the parts, weighted."""
        means = self.family.means(params.parts)
        return np.einsum("km,kmj->kj", params.weights, means.reshape(*params.weights.shape, -1))

    def covariances(self, params: CompoundParams) -> Floats:
        """Within the parts, and between them."""
        k, m = params.weights.shape
        inner, means = self.family.covariances(params.parts), self.family.means(params.parts).reshape(k, m, -1)
        away = means - np.einsum("km,kmi->ki", params.weights, means)[:, None]
        between = np.einsum("km,kmi,kmj->kij", params.weights, away, away)
        mixed: Floats = np.einsum("km,kmij->kij", params.weights, inner.reshape(k, m, *inner.shape[1:])) + between
        return mixed

    def distribution(self, params: CompoundParams, column: int, x: Floats) -> Floats:
        """Those of the parts, weighted."""
        parts = self.family.distribution(params.parts, column, x).reshape(*params.weights.shape, -1)
        mixed: Floats = np.einsum("km,kmx->kx", params.weights, parts)
        return mixed

    is_lattice = as_within(Family.is_lattice)
    n_levels = as_within(Family.n_levels)

    def marginal(self, params: CompoundParams, columns: NDArray[np.intp]) -> tuple[Family, CompoundParams]:
        """Of every part."""
        family, parts = self.family.marginal(params.parts, columns)
        return replace(self, family=family), CompoundParams(params.weights, parts)

    def conditional(
        self, params: CompoundParams, columns: NDArray[np.intp], values: Floats
    ) -> tuple[Family, CompoundParams]:
        """Of every part; what is seen tells of the part."""
        marginal, seen = self.marginal(params, columns)
        assert isinstance(marginal, Compound)
        tile = Tile(np.asarray(values, dtype=np.float64)[:, None], np.empty((len(params.weights), 1)))
        marginal.score(marginal.plan(seen), tile)
        weights = tile.scratch["posteriors"].reshape(params.weights.shape)
        family, parts = self.family.conditional(params.parts, columns, values)
        return replace(self, family=family), CompoundParams(weights, parts)

    embed = as_within(Family.embed)
    embedding = as_within(Family.embedding)
    typical = as_within(Family.typical)

    def told_apart(self, params: CompoundParams, weights: Floats) -> tuple[Family, Any, Floats]:
        """Each part by what it has of its component's weight."""
        return self.family.told_apart(params.parts, (weights[:, None] * params.weights).ravel())

    def spiked(self, params: CompoundParams) -> bool:
        """Whether a part is."""
        return self.family.spiked(params.parts)

    def health(self, params: CompoundParams) -> Mapping[str, float]:
        """The family's figures of the parts, and their smallest share."""
        return {**self.family.health(params.parts), "smallest_part": float(params.weights.min())}

    def coordinates(self, params: CompoundParams) -> CompoundCoordinates:
        """Logits of the shares, then those of the parts."""
        return CompoundCoordinates(self, params)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def blocks(self, moments: Floats) -> Floats:
        """Moments of all parts, (k * n_parts, statistics of the family)."""
        return np.ascontiguousarray(moments[:, 1:]).reshape(len(moments) * self.n_parts, -1)

    def _piece(self, tile: Tile, logits: Floats) -> Tile:
        """The tile as the family sees it; what it makes of the rows lives on in the scratch of the whole."""
        return replace(tile, logits=logits, scratch=tile.scratch.setdefault("parts", {}))

    def _shared(self, tile: Tile) -> Tile:
        """The same with what each part has of a row times what its component has."""
        posteriors = tile.scratch["posteriors"]
        shares = tile.room("shares", *posteriors.shape)
        split = (len(tile.logits), self.n_parts, tile.logits.shape[1])
        np.multiply(posteriors.reshape(split), tile.logits[:, None, :], out=shares.reshape(split))
        return self._piece(tile, shares)

    def _laid_out(self, tile: Tile, moments: Floats) -> Floats:
        return np.concatenate([tile.logits.sum(axis=1)[:, None], moments.reshape(len(tile.logits), -1)], axis=1)

    def _with_totals(self, moments: Floats) -> Floats:
        """Moments of components from those of all parts."""
        totals = moments[:, 0].reshape(-1, self.n_parts).sum(axis=1)
        return np.concatenate([totals[:, None], moments.reshape(len(totals), -1)], axis=1)

    def _shares(self, blocks: Floats, previous: Floats) -> Floats:
        """Shares of the parts, with the prior's pseudo-counts; as they were in a component without weight."""
        counts = np.maximum(blocks[:, 0].reshape(previous.shape), 0.0)
        alive = counts.sum(axis=1, keepdims=True) > 0
        raised = counts + (self.concentration - 1.0)
        return np.where(alive, raised / np.where(alive, raised.sum(axis=1, keepdims=True), 1.0), previous)


class CompoundCoordinates(Coordinates):
    """Logits of the shares, component by component, and the coordinates of all parts."""

    def __init__(self, family: Compound, params: CompoundParams) -> None:
        self.family, self.shape = family, params.weights.shape
        self.weights = np.maximum(params.weights, SMALLEST_MOVED_SHARE)
        self.chart: Coordinates = family.family.coordinates(params.parts)
        self.origin = np.concatenate([np.log(self.weights).ravel(), self.chart.origin])

    def params(self, vector: Floats) -> CompoundParams:
        """Shares by a softmax, and parts."""
        logits, rest = self._cut(vector)
        return CompoundParams(softmax(logits, axis=1), self.chart.params(rest))

    def gradient(self, moments: Floats, vector: Floats) -> Floats:
        """Counts less what was expected, the prior's pseudo-counts included; and that of the parts."""
        logits, rest = self._cut(vector)
        blocks = self.family.blocks(moments)
        counts = blocks[:, 0].reshape(self.shape) + (self.family.concentration - 1.0)
        slopes = counts - counts.sum(axis=1, keepdims=True) * softmax(logits, axis=1)
        return np.concatenate([slopes.ravel(), self.chart.gradient(blocks, rest)])

    def information(self, counts: Floats) -> Floats:
        """Weights of the parts, and what the parts carry under them."""
        parts = (counts[:, None] * self.weights).ravel()
        return np.concatenate([parts, self.chart.information(parts)])

    def _cut(self, vector: Floats) -> tuple[Floats, Floats]:
        return vector[: self.weights.size].reshape(self.shape), vector[self.weights.size :]


def _share_out(parts: Floats) -> Floats:
    """Logs of sums over parts (k, rows) of log-densities (k, parts, rows), which become posteriors of the parts."""
    peaks = parts.max(axis=1)
    peaks[np.isneginf(peaks)] = 0.0  # a row that no part can have made
    parts -= peaks[:, None]
    np.exp(parts, out=parts)
    totals = parts.sum(axis=1)
    parts /= np.where(totals > 0, totals, 1.0)[:, None]
    with np.errstate(divide="ignore"):
        return np.asarray(peaks + np.log(totals))


def _slabs(points: Floats, shares: Floats, n_parts: int) -> Floats:
    """Indicators (k * parts, rows): the rows of each component cut into slabs of equal weight along one direction."""
    spread = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    order = np.argsort(scaled @ np.random.default_rng(0).normal(size=points.shape[1]), kind="stable")
    found = np.zeros((len(shares), n_parts, len(points)))
    for indicators, share in zip(found, shares, strict=True):
        ends = np.cumsum(share[order])
        middles = (ends - 0.5 * share[order]) / (ends[-1] if ends[-1] > 0 else 1.0)
        indicators[np.minimum((middles * n_parts).astype(np.intp), n_parts - 1), order] = 1.0
    return found.reshape(-1, len(points))
