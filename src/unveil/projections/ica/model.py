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
from functools import partial
from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Engine, Memo, Source
from unveil.core.statistics import Statistics
from unveil.projections.ica.contrasts import (
    ContrastMoments,
    contrast_sums,
    cube_block,
    exp_block,
    logcosh_block,
    power_sums,
)

BLOCKS = {"logcosh": logcosh_block, "exp": exp_block, "cube": cube_block}


@dataclass(frozen=True)
class Compiled:
    """A contrast of Hyvärinen (1999) by its name; `scale` is for "logcosh" alone.

    "logcosh" is robust, and a fair log-density of sources with heavy tails; "exp" is bounded, for tails that are very
    heavy; "cube", the kurtosis, is for sources without outliers.
    """

    name: str
    scale: float = 1.0

    def sums(self, block: Block, shift: Floats, basis: Floats, active: int, curved: bool) -> ContrastMoments:
        """Products, slopes, values and curvature summed over a block, for the first `active` sources."""
        kernel = BLOCKS[self.name]
        return contrast_sums(kernel, self.scale, block.rows, block.weights, shift, basis, active, curved)


@dataclass(frozen=True)
class Custom:
    """A user's g, as scikit-learn takes it: a function of y that returns g(y) and the mean of g'(y) over rows.

    Where rows have weights the function must return g'(y) itself, in the shape of y. F is not known.
    """

    function: Callable[..., tuple[Any, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def sums(self, block: Block, shift: Floats, basis: Floats, active: int, curved: bool) -> ContrastMoments:
        """Sums over a block; F is given as 0, and curvature is never asked for."""
        y = basis @ (block.rows - shift).T
        given = y[0] if active == 1 and len(y) > 1 else y[:active]  # one source at a time comes as a line, as there
        g, slope = self._applied(given)
        slopes = self._slopes(slope, given.shape, block.weights)
        weighted = g if block.weights is None else g * block.weights
        return ContrastMoments(np.atleast_2d(weighted) @ y.T, slopes, np.zeros(active), np.zeros((active, 0)))

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


Contrast = Compiled | Custom


def contrast_statistics(
    contrast: Contrast, shift: Floats, basis: Floats, active: int, curved: bool, block: Block, memo: Memo
) -> tuple[Statistics, Memo]:
    """The sums of one block; `basis` is unmixing @ whitening."""
    sums = contrast.sums(block, shift, basis, active, curved)
    weight = len(block.rows) if block.weights is None else block.weights.sum()
    return Statistics(weight=weight, **sums._asdict()), None


def power_statistics(shift: Floats, basis: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Sums of the first four powers of the sources of one block."""
    weight = len(block.rows) if block.weights is None else block.weights.sum()
    return Statistics(weight=weight, powers=power_sums(block.rows, block.weights, shift, basis)), None


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

    def __call__(self, unmixing: Floats, active: int | None = None, curved: bool = False) -> ContrastMoments:
        """Means at `unmixing`; g is applied to the first `active` sources only, all by default."""
        basis = np.ascontiguousarray(unmixing @ self.whitening)
        active = len(basis) if active is None else active
        step = partial(contrast_statistics, self.contrast, self.shift, basis, active, curved)
        if self.lone is not None:
            total, _ = step(self.lone, None)
        else:
            total, self._memos = self.engine.map_reduce(step, self.source, self._memos)
        return ContrastMoments(*(total[name] / float(total["weight"]) for name in ContrastMoments._fields))
