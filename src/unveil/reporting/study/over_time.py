"""Regimes: a hidden Markov model over the rows in the order of a column of time.

Chains of one to five states are compared by BIC and the best is examined, as mixtures are. A long table is compared on
its last 20,000 steps, and all steps are then decoded. States are regimes if it matters which step comes after which: a
chain also fits groups that take turns at random, and then the steps are as likely in any other order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.certificate import Certificate
from unveil.reporting.study.modelling import Done, quiet
from unveil.reporting.study.rows import ModelRows
from unveil.reporting.study.settings import Settings
from unveil.selection.outcome import Selection
from unveil.selection.search import select

MOST_STATES = 5
STARTS_EACH = 3
LEAST_STEPS = 20  # fewer are no series
MOST_AHEAD = 24  # steps that are forecast, and no more than a tenth of the series
STEPS_COMPARED = 20_000
SHUFFLES = 5  # orders that the steps are put in, to see what their own is worth


class TimeStudy(NamedTuple):
    """The rows in order of time, and the regimes that they go through."""

    name: str
    order: NDArray[np.intp]  # of the model's rows
    stamps: NDArray[Any]  # of the rows in that order
    rows: ModelRows  # in that order
    selection: Selection
    chain: Any
    states: NDArray[np.intp]
    ahead: Any  # a forecast of the next steps; None where a column has no quantiles, as categories
    compared: int  # steps that chains were compared on
    lasting: bool  # does it matter which step comes after which?

    @property
    def certificate(self) -> Certificate:
        """What the chain was examined for."""
        return self.selection.certificate

    @property
    def n_states(self) -> int:
        """Regimes; one where the order of the steps says nothing."""
        return int(self.chain.n_components) if self.lasting else 1


def time_study(name: str, stamps: NDArray[Any], rows: ModelRows, settings: Settings) -> TimeStudy | None:
    """Regimes over time; nothing for a series that is too short."""
    own = np.asarray(stamps)[rows.places]
    order = np.argsort(own, kind="stable")
    if len(order) < LEAST_STEPS:
        return None
    series = rows.taken(order)
    model, most = _chain(series, settings), max(1, min(MOST_STATES, len(order) // LEAST_STEPS))
    late = series if series.n_rows <= STEPS_COMPARED else series.taken(np.arange(series.n_rows)[-STEPS_COMPARED:])
    done = Done()
    with settings.clock.within(0.5, done.some), quiet():
        outcome = select(model, late.model_input, {"n_components": range(1, most + 1)}, callbacks=[done.one_more])
    chain = outcome.best_estimator_
    with quiet():
        states = np.asarray(chain.predict(series.model_input), dtype=np.intp)
        ahead = _ahead(chain, series)
    lasting = _lasts(chain, late, settings.seed)
    return TimeStudy(name, order, own[order], series, outcome, chain, states, ahead, late.n_rows, lasting)


def _lasts(chain: Any, series: ModelRows, seed: int) -> bool:
    """Whether the order of the steps is worth what the transitions cost by BIC."""
    states, random = int(chain.n_components), np.random.default_rng([seed, 79])
    if states == 1:
        return True
    orders = [random.permutation(series.n_rows) for _ in range(SHUFFLES)]
    other = np.mean([chain.score(series.taken(order).model_input) for order in orders])
    return bool(chain.score(series.model_input) - other > 0.5 * (states - 1) ** 2 * np.log(series.n_rows))


def _chain(series: ModelRows, settings: Settings) -> Any:
    """A chain of the kinds of columns there are."""
    import unveil

    shared: dict[str, Any] = {"n_init": STARTS_EACH, "random_state": settings.seed, "engine": settings.engine}
    if series.of_numbers:
        return unveil.GaussianHMM(**shared)
    return unveil.MixedHMM(families=dict(enumerate(series.kinds)), **shared)


def _ahead(chain: Any, series: ModelRows) -> Any:
    steps = min(MOST_AHEAD, max(1, series.n_rows // 10))
    return None if any(series.levels) else chain.forecast(series.model_input, steps)
