"""Independent component analysis: x = mean + mixing s, with sources s that are independent and not Gaussian.

Whatever the solver, it asks the rows for the same few means. With sources y = unmixing (whitening (x - shift)) and a
contrast F (minus a log-density, but for a sign), g = F':

    products = E[g(y) y']      slopes = E[g'(y)]      values = E[F(y)]      curvature_ij = E[g'(y_i) y_j²]

They are sums over blocks, one pass each, so rows may be anywhere and are never written down in whitened form. `Passes`
is the one thing that solvers know of data: unmixing in, means out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Engine, Memo, Source
from unveil.core.statistics import Statistics
from unveil.projections.ica.contrasts import (
    ContrastSums,
    contrast_sums,
    cube_block,
    exp_block,
    logcosh_block,
    power_sums,
)


class Contrast(Protocol):
    """How far from Gaussian a source is. Frozen, and picklable where a cluster is to use it."""

    def sums(
        self, block: Block, shift: Floats, basis: Floats, active: int, curved: bool
    ) -> ContrastSums | tuple[Floats, Floats, Floats, Floats]:
        """Products, slopes, values and curvature summed over a block, for the first `active` sources."""


@dataclass(frozen=True)
class LogCosh:
    """F = log cosh(scale y) / scale: robust, and a fair log-density of sources with heavy tails."""

    scale: float = 1.0

    def sums(self, block: Block, shift: Floats, basis: Floats, active: int, curved: bool) -> ContrastSums:
        """Sums over a block."""
        return contrast_sums(logcosh_block, self.scale, block.rows, block.weights, shift, basis, active, curved)


@dataclass(frozen=True)
class ExponentialContrast:
    """F = -exp(-y² / 2): bounded, for tails that are very heavy."""

    def sums(self, block: Block, shift: Floats, basis: Floats, active: int, curved: bool) -> ContrastSums:
        """Sums over a block."""
        return contrast_sums(exp_block, 1.0, block.rows, block.weights, shift, basis, active, curved)


@dataclass(frozen=True)
class Cube:
    """F = y⁴ / 4, the kurtosis: for sources without outliers."""

    def sums(self, block: Block, shift: Floats, basis: Floats, active: int, curved: bool) -> ContrastSums:
        """Sums over a block."""
        return contrast_sums(cube_block, 1.0, block.rows, block.weights, shift, basis, active, curved)


@dataclass(frozen=True)
class Custom:
    """A user's g, as scikit-learn takes it: a function of y that returns g(y) and the mean of g'(y) over rows.

    Where rows have weights the function must return g'(y) itself, in the shape of y. F is not known.
    """

    function: Callable[..., tuple[Any, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def sums(self, block: Block, shift: Floats, basis: Floats, active: int, curved: bool) -> ContrastSums:
        """Sums over a block; F is given as 0, and curvature is never asked for."""
        y = basis @ (block.rows - shift).T
        given = y[0] if active == 1 and len(y) > 1 else y[:active]  # one source at a time comes as a line, as there
        g, slope = self._applied(given)
        slopes = self._slopes(slope, given.shape, block.weights)
        weighted = g if block.weights is None else g * block.weights
        return ContrastSums(np.atleast_2d(weighted) @ y.T, slopes, np.zeros(active), np.zeros((active, 0)))

    def _applied(self, y: Floats) -> tuple[Floats, Floats]:
        """g and what is said of g', if they are what they should be."""
        pair = self.function(y.copy(), **self.arguments)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"fun must return a pair, g(x) and g'(x), got {type(pair).__name__}")
        g, slope = (np.asarray(value, dtype=np.float64) for value in pair)
        if g.shape != y.shape:
            raise ValueError(f"fun must return g(x) in the shape of x, {y.shape}, got {g.shape}")
        if not (np.all(np.isfinite(g)) and np.all(np.isfinite(slope))):
            raise ValueError("fun must return finite numbers, got NaN or infinity")
        return g, slope

    def _slopes(self, slope: Floats, shape: tuple[int, ...], weights: Floats | None) -> Floats:
        if slope.shape == shape:
            return np.atleast_1d(slope.sum(axis=-1) if weights is None else slope @ weights)
        if slope.shape != shape[:-1]:
            raise ValueError(f"fun must return g'(x) of shape {shape}, or its means over rows, got {slope.shape}")
        if weights is not None:
            raise ValueError("fun returns g'(x) averaged over rows, which sample_weight cannot enter; return all of it")
        return np.atleast_1d(slope * shape[-1])


@dataclass(frozen=True)
class ContrastStep:
    """The sums of one block, as engines take it."""

    contrast: Contrast
    shift: Floats
    basis: Floats  # unmixing @ whitening
    active: int
    curved: bool

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """Statistics of one block."""
        sums = self.contrast.sums(block, self.shift, self.basis, self.active, self.curved)
        products, slopes, values, curvature = sums
        weight = len(block.rows) if block.weights is None else block.weights.sum()
        return Statistics(weight=weight, products=products, slopes=slopes, values=values, curvature=curvature), None


@dataclass(frozen=True)
class PowersStep:
    """Sums of the first four powers of the sources of one block, as engines take it."""

    shift: Floats
    basis: Floats

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """Statistics of one block."""
        weight = len(block.rows) if block.weights is None else block.weights.sum()
        return Statistics(weight=weight, powers=power_sums(block.rows, block.weights, self.shift, self.basis)), None


class ContrastMeans(NamedTuple):
    """What a pass finds, each a mean over rows."""

    products: Floats  # (active, sources)
    slopes: Floats  # (active,)
    values: Floats  # (active,)
    curvature: Floats  # (active, sources), or (active, 0)


@dataclass
class Passes:
    """Rows as a solver sees them: an unmixing matrix in, means out; one pass over the rows a call."""

    engine: Engine
    source: Source
    contrast: Contrast
    shift: Floats
    whitening: Floats
    lone: Block | None = None  # all rows, where they are one block that needs no engine
    _memos: Any = field(default=None, init=False)  # the engine's: it knows from them how long a block takes

    def __call__(self, unmixing: Floats, active: int | None = None, curved: bool = False) -> ContrastMeans:
        """Means at `unmixing`; g is applied to the first `active` sources only, all by default."""
        basis = np.ascontiguousarray(unmixing @ self.whitening)
        step = ContrastStep(self.contrast, self.shift, basis, len(basis) if active is None else active, curved)
        if self.lone is not None:
            total, _ = step(self.lone, None)
        else:
            total, self._memos = self.engine.map_reduce(step, self.source, self._memos)
        return ContrastMeans(*(total[name] / float(total["weight"]) for name in ContrastMeans._fields))
