"""Unconstrained coordinates of a mixture: logits of the weights, then those of the family, all in units that suit.

    weight_k = exp(logit_k) / sum of exp(logit),      d energy / d logit_k = counts_k - weight_k * counts

with the pseudo-counts of the Dirichlet prior among the counts. Every coordinate is multiplied by the root of its
information at the chart's origin, per row: the matrix of second derivatives of the energy is then about -n times the
unit matrix, and gradient / n is about a step of EM (a natural gradient; Amari 1998). Logits have one number too many;
along it the gradient has no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.statistics import Statistics

if TYPE_CHECKING:
    from unveil.mixtures.model.model import Mixture, MixtureParams

LEAST = 1e-12  # least weight of a component, so that it has a logarithm and a scale


class MixtureCoordinates:
    """A chart of the parameters of a mixture, made around some of them."""

    def __init__(self, model: Mixture, params: MixtureParams) -> None:
        self.model, self.start = model, params
        self.chart = model.family.coordinates(params.components)
        weights = np.maximum(params.weights, LEAST)
        information = np.concatenate([weights, self.chart.information(weights)])
        self.units = np.sqrt(information)
        self.origin = self.units * np.concatenate([np.log(weights), self.chart.origin])

    def params(self, vector: Floats) -> MixtureParams:
        """Weights by a softmax, and the family's parameters."""
        logits, rest = self._split(vector)
        return type(self.start)(_softmax(logits), self.chart.params(rest))

    def gradient(self, statistics: Statistics, vector: Floats) -> Floats:
        """Gradient of the energy and the log-prior."""
        logits, rest = self._split(vector)
        moments = statistics["moments"]
        counts = moments[:, 0] + (self.model.concentration - 1.0)
        weights = counts - counts.sum() * _softmax(logits)
        return np.concatenate([weights, self.chart.gradient(moments, rest)]) / self.units

    def _split(self, vector: Floats) -> tuple[Floats, Floats]:
        """Logits, and what is the family's."""
        plain = vector / self.units
        return plain[: self.model.n_components], plain[self.model.n_components :]


def _softmax(logits: Floats) -> Floats:
    positive = np.exp(logits - logits.max())
    found: Floats = positive / positive.sum()
    return found
