"""What becomes of a component to which no row belongs: by name, for the `empty_components` of a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from unveil.core.protocols import Block
from unveil.core.statistics import Statistics
from unveil.mixtures.model.model import Mixture, MixtureParams


@dataclass(frozen=True)
class Keep:
    """It stays as it was; rows may come back to it."""

    sample: Block

    def revive(
        self, model: Mixture, params: MixtureParams, statistics: Statistics, dead: NDArray[np.intp]
    ) -> MixtureParams:
        """Nothing."""
        return params


@dataclass(frozen=True)
class Refuse:
    """It is an error."""

    sample: Block

    def revive(
        self, model: Mixture, params: MixtureParams, statistics: Statistics, dead: NDArray[np.intp]
    ) -> MixtureParams:
        """Raise."""
        raise ValueError(
            f"component {int(dead[0])} has no rows left, and empty_components='error'; 'reseed' gives it new ones, "
            "'keep' leaves it, and fewer n_components may be what the data supports"
        )


@dataclass(frozen=True)
class Reseed:
    """It is moved to the rows of the sample that the mixture explains worst."""

    sample: Block

    def revive(
        self, model: Mixture, params: MixtureParams, statistics: Statistics, dead: NDArray[np.intp]
    ) -> MixtureParams:
        """The M step of statistics in which the dead components own those rows."""
        plan = model.prepare(params)
        density = logsumexp(model.log_joint(plan, self.sample), axis=1)
        counted = np.ones(len(density)) if self.sample.weights is None else self.sample.weights
        order = np.argsort(np.where(counted > 0, density, np.inf), kind="stable")
        each = max(len(density) // (2 * model.n_components), 1)
        given = np.zeros((model.n_components, len(density)))
        for place, component in enumerate(dead):
            given[component, order[place * each : (place + 1) * each]] = 1.0
        found = model.gather_under(plan, self.sample, given)["moments"]
        moments = statistics["moments"].copy()
        moments[dead] = found[dead] * (float(statistics["weight"]) / counted.sum())
        return model.maximise(Statistics(**{**statistics, "moments": moments}), params)


POLICIES: dict[str, Any] = {"reseed": Reseed, "keep": Keep, "error": Refuse}
