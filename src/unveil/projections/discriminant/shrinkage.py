"""Covariances of labelled rows: as they are, pulled towards a sphere, or by an estimator that the user brings.

A covariance C of d columns is shrunk to (1 - s) C + s (tr C / d) I, which is well-conditioned for s > 0. Ledoit & Wolf
(2004) give the s that minimises the expected squared error, from the fourth moments of rows x about their mean, here
scaled to unit variance:

    s = min(b, a) / a,    a = |C - (tr C / d) I|^2,    b = (1 / n^2) sum |x x' - C|^2

The sum over rows is sum |x|^4 - n |C|^2, and |x| needs mean and variances: one more pass, of a number per class.

With class priors p_k the covariance within classes is sum p_k C_k, each C_k over its own number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unveil.core.arrays import Floats
from unveil.core.protocols import Engine, Memo, Source
from unveil.core.statistics import Statistics
from unveil.numerics.jit import kernel
from unveil.projections.discriminant.scatter import ClassScatter


@dataclass(frozen=True)
class Empirical:
    """Scatter over weight, shrunk by a fixed amount; `amount` 0 leaves it as it is."""

    amount: float = 0.0

    def within(self, scatter: ClassScatter, priors: Floats) -> Floats:
        """Classes by their priors; with priors in proportion to weights that is all scatter over all weight."""
        if scatter.apart is None:
            return shrunk(scatter.within / scatter.weight, self.amount)
        shares = np.divide(priors, scatter.weights, out=np.zeros_like(priors), where=scatter.weights > 0)
        return shrunk(np.tensordot(shares, scatter.apart, 1), self.amount)

    def total(self, scatter: ClassScatter) -> Floats:
        """About the mean of all rows."""
        return shrunk((scatter.within + scatter.between) / scatter.weight, self.amount)


@dataclass(frozen=True)
class LedoitWolf:
    """Every class shrunk by its own amount, in columns of unit variance."""

    quartics: Floats  # (classes,): sum of |x|^4 over the rows of a class
    total_quartic: float

    def of(self, kept: NDArray[np.bool_]) -> LedoitWolf:
        """For some of the classes."""
        return LedoitWolf(self.quartics[kept], self.total_quartic)

    def within(self, scatter: ClassScatter, priors: Floats) -> Floats:
        """Shrunk classes by their priors."""
        classes = zip(priors, _apart(scatter), scatter.weights, self.quartics, strict=True)
        return np.asarray(sum(prior * ledoit_wolf(*of_class) for prior, *of_class in classes))

    def total(self, scatter: ClassScatter) -> Floats:
        """All rows, shrunk by an amount of their own."""
        return ledoit_wolf(scatter.within + scatter.between, scatter.weight, self.total_quartic)


@dataclass(frozen=True)
class Foreign:
    """The ``covariance_`` of a scikit-learn estimator, fitted to the rows of each class."""

    estimator: Any
    rows: NDArray[Any]
    codes: NDArray[Any]

    def within(self, scatter: ClassScatter, priors: Floats) -> Floats:
        """Estimates of the classes by their priors."""
        return np.asarray(sum(prior * self._fitted(self.rows[self.codes == k]) for k, prior in enumerate(priors)))

    def total(self, scatter: ClassScatter) -> Floats:
        """The estimate of all rows."""
        return self._fitted(self.rows)

    def _fitted(self, rows: NDArray[Any]) -> Floats:
        estimator, wanted = clone(self.estimator, safe=False), (rows.shape[1], rows.shape[1])
        estimator.fit(rows)  # what it returns is its own affair
        name = f"covariance_estimator {type(estimator).__name__}"
        if not hasattr(estimator, "covariance_"):
            raise ValueError(f"{name} does not have a covariance_ attribute")
        covariance = np.atleast_2d(estimator.covariance_)
        if covariance.shape != wanted:
            raise ValueError(f"{name} must set covariance_ of shape {wanted}, got {covariance.shape}")
        return covariance


Covariances = Empirical | LedoitWolf | Foreign


def shrunk(covariance: Floats, amount: float) -> Floats:
    """(1 - amount) C + amount (tr C / d) I; amount 1 is a sphere."""
    sphere = np.trace(covariance) / len(covariance)
    return (1.0 - amount) * covariance + amount * sphere * np.eye(len(covariance))


def ledoit_wolf(scatter: Floats, weight: float, quartic: float) -> Floats:
    """The shrunk covariance of rows with this scatter, given their sum of |x|^4 at unit variances."""
    if weight == 0:
        return np.zeros_like(scatter)
    scales = scales_of(scatter / weight)
    unit = scatter / weight / np.outer(scales, scales)
    return shrunk(unit, ledoit_wolf_amount(unit, weight, quartic)) * np.outer(scales, scales)


def ledoit_wolf_amount(unit: Floats, weight: float, quartic: float) -> float:
    """s of the formula above, in columns of unit variance."""
    n_columns = len(unit)
    if n_columns == 1:
        return 0.0  # one column is a sphere already
    squares, mean = float(np.sum(unit**2)), float(np.trace(unit)) / n_columns
    spread = squares - n_columns * mean**2
    noise = min((quartic / weight - squares) / weight, spread)
    return noise / spread if noise != 0 else 0.0


def scales_of(covariance: Floats) -> Floats:
    """Standard deviations; 1 where there is none, so that dividing by it is harmless."""
    deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return np.where(deviations > 0, deviations, 1.0)


@kernel
def add_quartics(
    rows: NDArray[np.floating],
    codes: NDArray[np.intp],
    weights: Floats,
    frame: Floats,
    centres: Floats,
    scales: Floats,
    out: Floats,
) -> None:
    """Add to out[k], over rows of class k: weight (sum over columns of ((x - frame - centre) / scale)^2)^2."""
    for r in range(rows.shape[0]):
        k = codes[r]
        row, centre, scale = rows[r], centres[k], scales[k]
        square = 0.0
        for c in range(row.shape[0]):
            value = ((np.float64(row[c]) - frame[c]) - centre[c]) / scale[c]
            square += value * value
        out[k] += weights[r] * square * square


def _quartics(
    frame: Floats, of_classes: tuple[Floats, Floats], of_all: tuple[Floats, Floats], block: Any, memo: Memo
) -> tuple[Statistics, Memo]:
    """Sum of |x|^4 over each class about its mean, and over all rows about theirs; means come with their scales."""
    codes = block.codes.astype(np.intp)
    weights = np.ones(len(codes)) if block.weights is None else block.weights
    classes, total = np.zeros(len(of_classes[0])), np.zeros(1)
    add_quartics(block.rows, codes, weights, frame, *of_classes, classes)
    add_quartics(block.rows, np.zeros_like(codes), weights, frame, *of_all, total)
    return Statistics(classes=classes, total=total), None


def by_ledoit_wolf(engine: Engine, source: Source, scatter: ClassScatter) -> LedoitWolf:
    """The second pass."""
    weights = np.maximum(scatter.weights, np.finfo(float).tiny)
    scales = np.stack([scales_of(of_class / weight) for of_class, weight in zip(_apart(scatter), weights, strict=True)])
    total = scales_of((scatter.within + scatter.between) / scatter.weight)[None]
    step = partial(_quartics, scatter.frame, (scatter.centres, scales), (scatter.middle[None], total))
    sums, _ = engine.map_reduce(step, source, None)
    return LedoitWolf(sums["classes"], float(sums["total"][0]))


def _apart(scatter: ClassScatter) -> Floats:
    if scatter.apart is None:
        raise ValueError("Ledoit-Wolf shrinkage needs the scatter of each class apart")
    return scatter.apart
