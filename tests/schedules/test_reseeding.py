"""Dead components get a second life, are counted, and what is recorded is measured where the fit goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.core.loop import Parts, fit
from unveil.core.protocols import Block, Params
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange
from unveil.engines import Threads
from unveil.expectations import Exact, Hard, Sampled
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.mixtures.empty import Refuse, Reseed
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Batch, Incremental, Squarem, Stepwise
from unveil.schedules.reseeding import MOST_REVIVALS, Reseeding
from unveil.sources import ArraySource

random = np.random.default_rng(0)
ROWS = np.concatenate([random.normal(size=(150, 2)), random.normal(size=(150, 2)) + 9])
MODEL = Mixture(Gaussian(Full(), 1e-6), 3, np.zeros(2), False)
FAR = MixtureParams(
    np.full(3, 1 / 3),
    GaussianParams(np.array([[0.0, 0.0], [9.0, 9.0], [500.0, 500.0]]), np.tile(np.eye(2), (3, 1, 1)), np.zeros((3, 2))),
)


@dataclass(frozen=True)
class Leave:
    """A policy that mends nothing, so that what is dead stays dead."""

    event = "reseeded"
    most = MOST_REVIVALS
    at_once = True

    def revive(self, work: Any, params: Params, statistics: Statistics, dead: NDArray[np.intp]) -> tuple[Params, int]:
        return params, len(dead)


def climbed(schedule: Any, policy: Any, expectation: Any = None, passes: int = 60) -> Fit:
    parts = Parts(
        MODEL,
        ArraySource(ROWS),
        expectation or Exact(),
        Reseeding(schedule, policy),
        Threads(1),
        BoundChange(1e-8),
        passes,
    )
    return fit(parts, FAR)


@pytest.mark.parametrize("schedule", [Batch(), Incremental(), Stepwise(), Squarem()])
def test_a_dead_component_lives_again_and_is_counted_once(schedule: Any) -> None:
    outcome = climbed(schedule, Reseed(Block(0, 0, ROWS)))
    assert outcome.history.events["reseeded"] == 1
    assert "empty" not in outcome.history.events
    assert len(MODEL.dead(outcome.statistics)) == 0
    assert np.all(outcome.params.components.means < 20)


def test_the_hard_expectation_too() -> None:
    outcome = climbed(Batch(), Reseed(Block(0, 0, ROWS)), Hard())
    assert outcome.history.events["reseeded"] >= 1
    assert len(MODEL.dead(outcome.statistics)) == 0


def test_what_is_recorded_was_measured_at_the_revived_parameters() -> None:
    outcome = climbed(Batch(), Reseed(Block(0, 0, ROWS)), passes=1)
    plan = MODEL.prepare(outcome.entered)
    again, _ = MODEL.expect(plan, Block(0, 0, ROWS), Exact(), None, np.random.default_rng)
    assert float(again["free_energy"]) == pytest.approx(outcome.history[0].free_energy, rel=1e-12)
    assert outcome.history.passes == 2  # one that found it dead, one at the new place
    assert len(outcome.history) == 1


def test_what_cannot_be_revived_is_given_up_and_said() -> None:
    outcome = climbed(Batch(), Leave(), passes=5)
    assert outcome.history.events["reseeded"] == MOST_REVIVALS
    assert outcome.history.events["empty"] == len(outcome.history)
    assert np.all(np.isfinite(outcome.history.free_energy))


def test_to_refuse_is_an_error() -> None:
    with pytest.raises(ValueError, match="component 2 has no rows left"):
        climbed(Batch(), Refuse(Block(0, 0, ROWS)))


def test_nothing_happens_where_nothing_dies() -> None:
    alive = MixtureParams(
        FAR.weights, GaussianParams(ROWS[[0, 100, 200]], FAR.components.covariances, np.zeros((3, 2)))
    )
    source, stop = ArraySource(ROWS), BoundChange(1e-8)
    plain = fit(Parts(MODEL, source, Exact(), Batch(), Threads(1), stop, 20), alive)
    wrapped = Reseeding(Batch(), Reseed(Block(0, 0, ROWS)))
    kept = fit(Parts(MODEL, source, Exact(), wrapped, Threads(1), stop, 20), alive)
    assert kept.history.free_energy.tobytes() == plain.history.free_energy.tobytes()
    assert kept.history.events == plain.history.events


def test_it_passes_for_the_schedule_within() -> None:
    wrapped = Reseeding(Stepwise(), Leave())
    assert (wrapped.name, wrapped.monotone) == ("Stepwise", False)
    assert Reseeding(Squarem(), Leave()).refuse(MODEL, Sampled()) == Squarem().refuse(MODEL, Sampled())
