"""Independent component analysis: x = mean + mixing s, with sources s that are independent and not Gaussian.

Whatever the solver, it asks the rows for the same few means. With sources y = unmixing (whitening (x - shift)) and a
contrast F (minus a log-density, but for a sign), g = F':

    products = E[g(y) y']      slopes = E[g'(y)]      values = E[F(y)]      curvature_ij = E[g'(y_i) y_j²]

They are sums over blocks, one pass each, so rows may be anywhere. Where a table is small, blocks remember their white
rows, so that a pass is a rotation; a large one is never written down in whitened form. `Passes` is the one thing that
solvers know of data: unmixing in, means out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.checkpoint import noted
from unveil.core.protocols import Block, Engine, Memo, Source, Step
from unveil.core.statistics import Statistics
from unveil.projections.ica.contrasts import (
    CUBE,
    EXP,
    LOGCOSH,
    ContrastMoments,
    Curvature,
    SourcesOf,
    contrast_sums,
    power_sums,
)
from unveil.projections.lines import centred

KEPT_CELLS = 1 << 22  # cells of a table up to which its white rows may be held in memory too: 32 megabytes
CONTRASTS = {"logcosh": LOGCOSH, "exp": EXP, "cube": CUBE}


@dataclass(frozen=True)
class Compiled:
    """A contrast of Hyvärinen (1999) by its name; `scale` is for "logcosh" alone.

    "logcosh" is robust, and a fair log-density of sources with heavy tails; "exp" is bounded, for tails that are very
    heavy; "cube", the kurtosis, is for sources without outliers.
    """

    name: str
    scale: float = 1.0

    def sums(self, sources: SourcesOf, weights: Floats | None, active: int, curvature: Curvature) -> ContrastMoments:
        """Products, slopes, values and curvature summed over a block, for the first `active` sources."""
        return contrast_sums(CONTRASTS[self.name], self.scale, sources, weights, active, curvature)


@dataclass(frozen=True)
class Custom:
    """A user's g, as scikit-learn takes it: a function of y that returns g(y) and the mean of g'(y) over rows.

    Where rows have weights the function must return g'(y) itself, in the shape of y. F is not known.
    """

    function: Callable[..., tuple[Any, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def sums(self, sources: SourcesOf, weights: Floats | None, active: int, curvature: Curvature) -> ContrastMoments:
        """Sums over a block; F is given as 0, and curvature is never asked for."""
        y = sources(0, sources.shape[1])
        given = y[0] if active == 1 and len(y) > 1 else y[:active]  # one source at a time comes as a line, as there
        g, slope = self._applied(given)
        slopes = self._slopes(slope, given.shape, weights)
        weighted = g if weights is None else g * weights
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


class WhiteFrame(NamedTuple):
    """Coordinates that solvers work in, z = matrix (x - shift)."""

    shift: Floats
    matrix: Floats  # (count, columns)
    kept: bool  # may blocks remember them?

    def sources(self, unmixing: Floats, block: Block, memo: Memo) -> tuple[SourcesOf, Memo]:
        """Sources of the rows of a block, and its white rows, if they are to be remembered."""
        if not self.kept:
            return SourcesOf(np.ascontiguousarray(unmixing @ self.matrix), block.rows, self.shift), None
        white = self.matrix @ centred(block.rows, self.shift).T if memo is None else memo
        return SourcesOf(np.ascontiguousarray(unmixing), white, None), white


def contrast_statistics(
    contrast: Contrast, frame: WhiteFrame, unmixing: Floats, active: int, curvature: Curvature, block: Block, memo: Memo
) -> tuple[Statistics, Memo]:
    """The sums of one block, and its white rows."""
    sums, white = contrast_moments(contrast, frame, unmixing, active, curvature, block, memo)
    return Statistics(weight=weight_of(block), **sums._asdict()), white


def contrast_moments(
    contrast: Contrast, frame: WhiteFrame, unmixing: Floats, active: int, curvature: Curvature, block: Block, memo: Memo
) -> tuple[ContrastMoments, Memo]:
    """The same without a name."""
    sources, white = frame.sources(unmixing, block, memo)
    return contrast.sums(sources, block.weights, active, curvature), white


def power_statistics(frame: WhiteFrame, unmixing: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Sums of the first four powers of the sources of one block."""
    sources, white = frame.sources(unmixing, block, memo)
    return Statistics(weight=weight_of(block), powers=power_sums(sources, block.weights)), white


def weight_of(block: Block) -> float:
    """Sum of the weights of its rows."""
    return float(len(block.rows) if block.weights is None else block.weights.sum())


@dataclass
class Passes:
    """Rows as a solver sees them: an unmixing matrix in, means out; one pass over the rows a call."""

    engine: Engine
    source: Source
    contrast: Contrast
    shift: Floats
    whitening: Floats
    lone: Block | None = None  # all rows, where they are one block that needs no engine
    _frame: WhiteFrame = field(init=False)
    _memos: Any = field(default=None, init=False)  # the engine's, or the white rows of the one block

    def __post_init__(self) -> None:
        kept = self.source.n_rows * self.source.n_columns <= KEPT_CELLS
        self._frame = WhiteFrame(self.shift, self.whitening, kept)

    def __call__(
        self, unmixing: Floats, active: int | None = None, curvature: Curvature = Curvature.NONE
    ) -> ContrastMoments:
        """Means at `unmixing`; g is applied to the first `active` sources only, all by default."""
        active = len(unmixing) if active is None else active
        rows = self.source if self.lone is None else self.lone
        inputs = self.contrast, self._frame, rows, unmixing, active, curvature
        return noted("unmixing", inputs, partial(self._means, unmixing, active, curvature))

    def _means(self, unmixing: Floats, active: int, curvature: Curvature) -> ContrastMoments:
        """The same, computed."""
        asked = self.contrast, self._frame, unmixing, active, curvature
        if self.lone is None:
            total = self._total(partial(contrast_statistics, *asked))
            weight, sums = float(total["weight"]), ContrastMoments(*(total[each] for each in ContrastMoments._fields))
        else:
            weight = weight_of(self.lone)
            sums, self._memos = contrast_moments(*asked, self.lone, self._memos)
        return ContrastMoments(*[each / weight for each in sums])

    def powers(self, unmixing: Floats) -> Floats:
        """Sums of the first four powers of every source at `unmixing`, (4, sources)."""
        return self._total(partial(power_statistics, self._frame, unmixing))["powers"]

    def _total(self, step: Step) -> Statistics:
        if self.lone is None:
            total, self._memos = self.engine.map_reduce(step, self.source, self._memos)
        else:
            total, self._memos = step(self.lone, self._memos)
        return total
