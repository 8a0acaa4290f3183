"""A mixture: each row comes from one of k components, and which one is hidden.

    p(x) = sum_k weight_k p(x | component k)

E step, a tile of rows at a time: logits = eta @ T (log p(x, s) of each component), then the expectation turns them
into responsibilities R in place, then moments = R @ T'. M step: weights are shares of responsibility, and the family
makes its parameters of the moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Block, Expectation, Memo, Model
from unveil.core.statistics import Statistics
from unveil.families.base import Family
from unveil.kernels.em import expect_block
from unveil.kernels.tiles import tile_rows

Floats = NDArray[np.float64]
WORTH_COMPILING = 1 << 23  # rows times statistics times components: a pass of some milliseconds


@dataclass(frozen=True)
class MixtureParams:
    """Mixing weights (k,) and the family's parameters of the components."""

    weights: Floats
    components: Any


class Plan(NamedTuple):
    """What the E step of every block needs."""

    natural: Floats  # (k, statistics), log-weights added to the first column
    own_frames: tuple[tuple[int, Floats], ...]


class Tile(NamedTuple):
    """Some rows of a block with room for their statistics and logits."""

    x: Floats  # (columns, rows), in the frame
    statistics: Floats  # (statistics, rows)
    logits: Floats  # (components, rows)
    weights: Floats | None
    first: int  # number of the first row within the block


@dataclass(frozen=True)
class Mixture(Model):
    """A mixture of `n_components` of a `family`; `shift` (d,) is taken off every row before anything else."""

    family: Family
    n_components: int
    shift: Floats
    compiled: bool = True  # whether the E step may be one compiled piece

    def suited_to(self, n_rows: int) -> Mixture:
        """This model for a table of `n_rows`: compiling the E step takes seconds that a small one never gives back."""
        work = n_rows * self.n_components * self.family.n_statistics(len(self.shift))
        return replace(self, compiled=work >= WORTH_COMPILING)

    def prepare(self, params: MixtureParams) -> Plan:
        """Natural parameters with the log-weights in the constant term."""
        natural = self.family.natural(params.components)
        with np.errstate(divide="ignore"):
            natural[:, 0] += np.log(params.weights)
        return Plan(natural, self.family.own_frames(params.components))

    def expect(
        self, plan: Plan, block: Block, expectation: Expectation, memo: Memo, random: Callable[[], np.random.Generator]
    ) -> tuple[Statistics, Memo]:
        """Responsibilities of a block, summed up as moments."""
        sums = self.family.sums
        plain = not plan.own_frames and getattr(expectation, "posterior", False)
        if self.compiled and sums is not None and plain:
            weights = np.empty(0) if block.weights is None else np.ascontiguousarray(block.weights)
            moments, bound = expect_block(_readable(block.rows), weights, self.shift, plan.natural, sums)
            return self._statistics(block, moments, bound, bound), memo
        return self._expect_by_tiles(plan, block, expectation, random), memo

    def _expect_by_tiles(
        self, plan: Plan, block: Block, expectation: Expectation, random: Callable[[], np.random.Generator]
    ) -> Statistics:
        """The same in the open: for components with their own frames, and for parts that are not compiled."""
        moments = np.zeros_like(plan.natural)
        log_likelihood = free_energy = 0.0
        for tile in self._tiles(block):
            self._score(plan, tile)
            bound = expectation.responsibilities(tile.logits, tile.weights, random)
            log_likelihood += bound.log_likelihood
            free_energy += bound.free_energy
            self._gather(plan, tile, moments)
        return self._statistics(block, moments, log_likelihood, free_energy)

    def gather(self, block: Block, responsibilities: Floats) -> Statistics:
        """Statistics of a block whose responsibilities (components, rows) are given: a start."""
        moments = np.zeros((self.n_components, self.family.n_statistics(block.rows.shape[1])))
        for tile in self._tiles(block):
            given = responsibilities[:, tile.first : tile.first + tile.x.shape[1]]
            np.multiply(given, 1.0 if tile.weights is None else tile.weights, out=tile.logits)
            self.family.statistics(tile.x, tile.statistics)
            self._gather(Plan(moments, ()), tile, moments)
        return self._statistics(block, moments, 0.0, 0.0)

    def log_joint(self, plan: Plan, block: Block) -> Floats:
        """log p(x, s) of every row, (rows, components)."""
        out = np.empty((len(block.rows), self.n_components))
        for tile in self._tiles(block):
            self._score(plan, tile)
            out[tile.first : tile.first + tile.x.shape[1]] = tile.logits.T
        return out

    def maximise(self, statistics: Statistics, params: MixtureParams) -> MixtureParams:
        """Shares of responsibility, and the family's own M step."""
        moments = statistics["moments"]
        return MixtureParams(_shares(moments[:, 0]), self.family.maximise(moments, params.components))

    def first(self, statistics: Statistics) -> MixtureParams:
        """Parameters from the statistics of a start."""
        return MixtureParams(_shares(statistics["moments"][:, 0]), self.family.first(statistics["moments"]))

    def recentre(self, params: MixtureParams) -> MixtureParams:
        """Frames of their own for narrow components."""
        return MixtureParams(params.weights, self.family.recentre(params.components))

    def events(self, statistics: Statistics, params: MixtureParams) -> Mapping[str, int]:
        """Components that no row belongs to, and components kept from degenerating."""
        empty = int(np.count_nonzero(statistics["moments"][:, 0] <= 0))
        return {"empty": empty, "floored": self.family.floored(params.components)}

    def _framed(self, rows: NDArray[Any]) -> Floats:
        """The rows in the frame, in float64."""
        return np.ascontiguousarray(rows - self.shift)

    def _tiles(self, block: Block) -> Iterator[Tile]:
        n_rows, n_columns = block.rows.shape
        tall = self.family.n_statistics(n_columns)
        size = min(tile_rows(tall + self.n_components), n_rows)
        x, statistics, logits = (np.empty((height, size)) for height in (n_columns, tall, self.n_components))
        for first in range(0, n_rows, size):
            last = min(first + size, n_rows)
            if last - first < size:  # the last tile is shorter; fresh buffers keep every row of it contiguous
                x, statistics, logits = (np.empty((len(old), last - first)) for old in (x, statistics, logits))
            x[...] = self._framed(block.rows[first:last]).T
            yield Tile(x, statistics, logits, None if block.weights is None else block.weights[first:last], first)

    def _score(self, plan: Plan, tile: Tile) -> None:
        """Write log p(x, s) to the tile's logits, and T to its statistics."""
        for component, origin in plan.own_frames:
            self.family.statistics(tile.x - origin[:, None], tile.statistics)
            np.matmul(plan.natural[component], tile.statistics, out=tile.logits[component])
        own = {component: tile.logits[component].copy() for component, _ in plan.own_frames}
        self.family.statistics(tile.x, tile.statistics)
        np.matmul(plan.natural, tile.statistics, out=tile.logits)
        for component, line in own.items():
            tile.logits[component] = line

    def _gather(self, plan: Plan, tile: Tile, moments: Floats) -> None:
        """Add R @ T' to the moments."""
        moments_here = tile.logits @ tile.statistics.T
        for component, origin in plan.own_frames:
            self.family.statistics(tile.x - origin[:, None], tile.statistics)
            moments_here[component] = tile.statistics @ tile.logits[component]
        moments += moments_here

    @staticmethod
    def _statistics(block: Block, moments: Floats, log_likelihood: float, free_energy: float) -> Statistics:
        weight = len(block.rows) if block.weights is None else block.weights.sum()
        return Statistics(weight=weight, log_likelihood=log_likelihood, free_energy=free_energy, moments=moments)


def _shares(counts: Floats) -> Floats:
    """Counts over their sum."""
    return counts / counts.sum()


def _readable(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows as one type for the compiler, whether or not they could be written to."""
    view = np.ascontiguousarray(rows).view()
    view.flags.writeable = False
    return view
