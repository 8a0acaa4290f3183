"""Unconstrained coordinates of a grammar: logits of the rules of each parent, in units that suit.

    share = exp(logit) / sum over the parent of exp(logit),      d energy / d logit = uses - share * uses of the parent

with the pseudo-uses of the Dirichlet prior among the uses. Every coordinate is multiplied by the root of its
information per word, share times the uses of the parent, so that gradient / weight is about a step of EM. Logits have
one number too many for each parent; along it the gradient has no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.statistics import Statistics

if TYPE_CHECKING:
    from unveil.grammar.pcfg.model import GrammarModel, GrammarParams

LEAST_SHARE = 1e-12  # of a rule, so that it has a logarithm and a scale
LEAST_USES = 1e-4  # of a parent per word, so that no coordinate has a scale of nothing


class GrammarCoordinates:
    """A chart of the probabilities of rules, made around some of them. Rules that are ruled out are no part of it."""

    def __init__(self, model: GrammarModel, params: GrammarParams) -> None:
        self.model, self.start = model, params
        free = np.ones(len(model.parents), dtype=bool) if model.free is None else model.free
        self.moving = np.flatnonzero(free & (params.probabilities > 0))
        self.parents = model.parents[self.moving]
        mass = self._sums(params.probabilities[self.moving])
        self.mass = mass[self.parents]
        shares = np.maximum(params.probabilities[self.moving] / self.mass, LEAST_SHARE)
        self.units = np.sqrt(shares * np.maximum(params.uses, LEAST_USES)[self.parents])
        self.origin = self.units * np.log(shares)

    def params(self, vector: Floats) -> GrammarParams:
        """Probabilities by a softmax over the rules of each parent."""
        probabilities = self.start.probabilities.copy()
        probabilities[self.moving] = self.mass * self._shares(vector)
        return type(self.start)(probabilities, self.start.uses)

    def gradient(self, statistics: Statistics, vector: Floats) -> Floats:
        """Gradient of the energy and the log-prior."""
        pulls = (statistics["counts"] + (self.model.concentration - 1.0))[self.moving]
        found: Floats = (pulls - self._sums(pulls)[self.parents] * self._shares(vector)) / self.units
        return found

    def _shares(self, vector: Floats) -> Floats:
        logits = vector / self.units
        highest = np.full(self.model.n_parents, -np.inf)
        np.maximum.at(highest, self.parents, logits)
        positive = np.exp(logits - highest[self.parents])
        found: Floats = positive / self._sums(positive)[self.parents]
        return found

    def _sums(self, values: Floats) -> Floats:
        return np.bincount(self.parents, weights=values, minlength=self.model.n_parents).astype(np.float64)
