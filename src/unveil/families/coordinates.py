"""Unconstrained coordinates of the parameters of each family.

Schedules that follow a gradient move a vector of any real numbers; a chart says which parameters it stands for. By
Fisher's identity the gradient of the log-likelihood is that of the expected complete one, which is linear in the
moments, so a chart needs no rows:

    Gaussian      whitened means; log-volumes, log-shapes and turns, or a triangular factor (`elliptical`, `orbits`)
    Student       the same, and log degrees of freedom
    Bernoulli     log-odds               d energy = yes - weight * p
    Poisson       log-rates              d energy = sum of counts - weight * rate
    exponential   log-rates              d energy = weight - sum of times * rate
    categorical   log-probabilities      d energy = count of the level - p * counts of the column
    a product     those of its parts, one after the other

A chart also says how much information its coordinates carry, which sets the length of a step: in coordinates scaled
by its root, a step along the gradient is about as long as that of EM.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from unveil.core.arrays import Floats
from unveil.families.base import Family
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams

LOG_DEPTH = 28.0  # logarithm of how far below its column a rate or a probability may fall: about that of the M step
SMALLEST_PROBABILITY = 1e-300  # stands for a probability of 0, which has no logarithm
LEAST_INFORMATION = 1e-2  # least information of a coordinate, in that of a good one: at the edge there is none


class Coordinates(ABC):
    """A chart of the parameters of a family, made around some of them.

    One of one's own needs `origin`, `params` and `gradient`.
    """

    origin: Floats  # the vector of the parameters around which the chart was made

    @abstractmethod
    def params(self, vector: Floats) -> Any:
        """Parameters at a vector."""

    @abstractmethod
    def gradient(self, moments: Floats, vector: Floats) -> Floats:
        """Gradient in `vector` of natural parameters times `moments`, plus that of the family's log-prior."""

    def information(self, counts: Floats) -> Floats:
        """Fisher information of each coordinate at the origin, roughly, given the weight of each component."""
        return np.full(len(self.origin), counts.sum())


class _Logarithms(Coordinates):
    """Logarithms, of odds or rates or probabilities, kept between bounds beyond which nothing changes."""

    def __init__(self, logs: Floats, lowest: Floats | float, highest: Floats | float) -> None:
        self.shape = logs.shape
        self.lowest, self.highest = np.minimum(lowest, logs), np.maximum(highest, logs)
        self.origin = logs.ravel()

    def logs(self, vector: Floats) -> Floats:
        """Between the bounds, (k, n)."""
        return np.clip(vector.reshape(self.shape), self.lowest, self.highest)

    def gradient(self, moments: Floats, vector: Floats) -> Floats:
        """Zero where it leads past a bound."""
        here, slopes = vector.reshape(self.shape), self.slopes(moments, vector)
        below = (here < self.lowest) | ((here == self.lowest) & (slopes < 0))
        above = (here > self.highest) | ((here == self.highest) & (slopes > 0))
        return np.where(below | above, 0.0, slopes).ravel()

    @abstractmethod
    def slopes(self, moments: Floats, vector: Floats) -> Floats:
        """The gradient as if there were no bounds, (k, n)."""


class BernoulliCoordinates(_Logarithms):
    """Log-odds."""

    def __init__(self, family: Bernoulli, params: BernoulliParams) -> None:
        super().__init__(logit(params.probabilities), -LOG_DEPTH, LOG_DEPTH)
        self.family = family

    def params(self, vector: Floats) -> BernoulliParams:
        """Probabilities."""
        return BernoulliParams(expit(self.logs(vector)))

    def slopes(self, moments: Floats, vector: Floats) -> Floats:
        """Yes less what was expected, the prior's pseudo-rows included."""
        found = self.family.ratios(moments)
        return found.above - found.below * expit(self.logs(vector))

    def information(self, counts: Floats) -> Floats:
        """weight p (1 - p)."""
        chances = expit(self.logs(self.origin))
        return (counts[:, None] * np.maximum(chances * (1.0 - chances), LEAST_INFORMATION)).ravel()


class PoissonCoordinates(_Logarithms):
    """Logarithms of rates."""

    def __init__(self, family: Poisson, params: PoissonParams) -> None:
        self.family, self.typical = family, params.rates.mean(axis=0)
        super().__init__(np.log(params.rates), np.log(self.typical) - LOG_DEPTH, np.inf)

    def params(self, vector: Floats) -> PoissonParams:
        """Rates."""
        return PoissonParams(np.exp(self.logs(vector)))

    def slopes(self, moments: Floats, vector: Floats) -> Floats:
        """Counts less what was expected, the prior's pseudo-rows included."""
        counts, weights = self.family.with_prior(moments)
        return counts - weights * np.exp(self.logs(vector))

    def information(self, counts: Floats) -> Floats:
        """weight * rate."""
        rates = np.exp(self.logs(self.origin))
        return (counts[:, None] * np.maximum(rates, LEAST_INFORMATION * self.typical)).ravel()


class ExponentialCoordinates(_Logarithms):
    """Logarithms of rates."""

    def __init__(self, family: Exponential, params: ExponentialParams) -> None:
        self.family = family
        super().__init__(np.log(params.rates), -np.inf, LOG_DEPTH - np.log(np.mean(1.0 / params.rates, axis=0)))

    def params(self, vector: Floats) -> ExponentialParams:
        """Rates."""
        return ExponentialParams(np.exp(self.logs(vector)))

    def slopes(self, moments: Floats, vector: Floats) -> Floats:
        """Weight less times in units of their mean, the prior's pseudo-rows included."""
        times, weights = self.family.with_prior(moments)
        return weights - times * np.exp(self.logs(vector))

    def information(self, counts: Floats) -> Floats:
        """The weight."""
        return np.broadcast_to(counts[:, None], self.shape).ravel()


class CategoricalCoordinates(_Logarithms):
    """Logarithms of probabilities, up to a constant for each column, along which the gradient has no part."""

    def __init__(self, family: Categorical, params: CategoricalParams) -> None:
        super().__init__(np.log(np.maximum(params.probabilities, SMALLEST_PROBABILITY)), -LOG_DEPTH, LOG_DEPTH)
        ends = np.cumsum(family.levels, dtype=np.intp)
        self.levels, self.firsts = family.levels, ends - np.array(family.levels, dtype=np.intp)
        self.extra = family.pseudo_counts

    def params(self, vector: Floats) -> CategoricalParams:
        """Probabilities, by a softmax of each column."""
        logs = self.logs(vector)
        positive = np.exp(logs - self._each(np.maximum.reduceat(logs, self.firsts, axis=1)))
        return CategoricalParams(positive / self._each(np.add.reduceat(positive, self.firsts, axis=1)))

    def slopes(self, moments: Floats, vector: Floats) -> Floats:
        """Counts of the levels less what was expected, the prior's pseudo-rows included."""
        counts = moments[:, 1:] + self.extra
        total = self._each(np.add.reduceat(counts, self.firsts, axis=1))
        return counts - total * self.params(vector).probabilities

    def information(self, counts: Floats) -> Floats:
        """weight * p."""
        return (counts[:, None] * np.maximum(self.params(self.origin).probabilities, LEAST_INFORMATION)).ravel()

    def _each(self, columns: Floats) -> Floats:
        """What belongs to columns (k, d), once for each of their levels."""
        return np.repeat(columns, self.levels, axis=1)


class ProductCoordinates(Coordinates):
    """The parts' coordinates, one after the other."""

    def __init__(self, family: Product, params: ProductParams) -> None:
        self.start = params
        self.charts: list[Coordinates] = [
            part.coordinates(one) for (part, _), one in zip(family.parts, params.parts, strict=True)
        ]
        self.origin = np.concatenate([chart.origin for chart in self.charts])
        self.vectors = np.cumsum([len(chart.origin) for chart in self.charts])[:-1]
        self.moments = np.cumsum([part.n_statistics(len(columns)) for part, columns in family.parts])[:-1]

    def params(self, vector: Floats) -> ProductParams:
        """Those of each part."""
        pieces = np.split(vector, self.vectors)
        parts = tuple(chart.params(piece) for chart, piece in zip(self.charts, pieces, strict=True))
        return replace(self.start, parts=parts)

    def gradient(self, moments: Floats, vector: Floats) -> Floats:
        """Those of each part, from its own moments."""
        pieces, sums = np.split(vector, self.vectors), np.split(moments, self.moments, axis=1)
        found = [chart.gradient(own, piece) for chart, own, piece in zip(self.charts, sums, pieces, strict=True)]
        return np.concatenate(found)

    def information(self, counts: Floats) -> Floats:
        """Those of each part."""
        return np.concatenate([chart.information(counts) for chart in self.charts])


def uncharted(family: Family) -> str | None:
    """The name of a family without coordinates, this one or one that it is made of; None when all have them."""
    if type(family).coordinates is Family.coordinates:
        return type(family).__name__
    parts = [part for part, _ in family.parts] if isinstance(family, Product) else [getattr(family, "family", None)]
    inner = (part for part in parts if isinstance(part, Family))
    return next((name for part in inner if (name := uncharted(part)) is not None), None)
