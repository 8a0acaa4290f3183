"""What becomes of a component to which no row belongs: by name, for the `empty_components` of a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import logsumexp

from unveil.core.arrays import Indices
from unveil.core.protocols import Block, Work
from unveil.core.statistics import Statistics
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules.reseeding import MOST_REVIVALS


@final
@dataclass(frozen=True)
class Refuse:
    """It is an error."""

    sample: Block
    event: ClassVar[str] = "reseeded"
    most: ClassVar[float] = 1
    at_once: ClassVar[bool] = True

    def revive(
        self, work: Work, params: MixtureParams, statistics: Statistics, dead: Indices
    ) -> tuple[MixtureParams, int]:
        """Raise."""
        raise ValueError(
            f"component {int(dead[0])} has no rows left, and empty_components='error'; 'reseed' gives it new ones, "
            "'keep' leaves it, and fewer n_components may be what the data supports"
        )


@final
@dataclass(frozen=True)
class Reseed:
    """It is moved to the rows of the sample that the mixture explains worst."""

    sample: Block
    event: ClassVar[str] = "reseeded"
    most: ClassVar[float] = MOST_REVIVALS
    at_once: ClassVar[bool] = True

    def revive(
        self, work: Work, params: MixtureParams, statistics: Statistics, dead: Indices
    ) -> tuple[MixtureParams, int]:
        """The M step of statistics in which the dead components own those rows."""
        model: Mixture = work.model  # type: ignore[assignment]
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
        return model.maximise(Statistics(**{**statistics, "moments": moments}), params), len(dead)


POLICIES: dict[str, Any] = {"reseed": Reseed, "keep": None, "error": Refuse}
"""Kept as they are, components need no policy: rows may come back to them."""
