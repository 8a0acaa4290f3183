"""Batch EM that turns to leaps where it is slow, and back before it ends."""

from __future__ import annotations

import numpy as np
import pytest

from unveil import BernoulliMixture, GaussianMixture, KMeans, PoissonMixture
from unveil.core.stopping import GainLeft
from unveil.schedules.adaptive import MANY_PASSES, Adaptive, Pace

RANDOM = np.random.default_rng(4)
OVERLAPPING = np.concatenate([RANDOM.normal(size=(400, 2)), RANDOM.normal(size=(300, 2)) * 1.3 + 1.2])
COUNTS = np.repeat(np.arange(10.0), [162, 267, 271, 185, 111, 61, 27, 8, 3, 1])[:, None]  # deaths in the London Times
TOSSES = (RANDOM.random((600, 6)) < np.where(np.arange(600)[:, None] < 250, 0.35, 0.6)).astype(float)


def test_the_pace_changes_where_many_passes_are_ahead_and_back_when_a_cycle_gains_little() -> None:
    pace, height, number = Pace(), 0.0, 0
    while not pace.leaps:
        number += 1
        height -= 0.99**number * 1e-2
        pace = pace.after(-1e3 - 100.0 * 0.99**number, 0.01)
    assert number == 4  # as soon as a ratio can be told
    assert not pace.is_plain
    for step in range(7):
        pace = pace.after(-900.0 + 1e-5 * step, 0.01)
    assert not pace.leaps
    assert not pace.is_plain  # plain passes have yet to say that it is over
    for step in range(3):
        pace = pace.after(-899.9 + 1e-9 * step, 0.01)
    assert pace.is_plain


@pytest.mark.parametrize(("ratio", "leaps"), [(0.9, True), (0.5, False)])
def test_a_climb_that_lingers_is_doubted_once(ratio: float, leaps: bool) -> None:
    """Gains that fall off slowly may be those near a saddle."""
    pace, height = Pace(), -100.0
    for step in range(30):
        height += 0.01 * ratio**step
        pace = pace.after(height, 0.01)
        if pace.leaps:
            break
    assert pace.leaps is leaps
    assert not replaced_by_plain(pace).after(height + 1e-4, 0.01).leaps


def replaced_by_plain(pace: Pace) -> Pace:
    """After leaps that came to an end."""
    return Pace((pace.objectives[-1],), False, True)


def test_quick_climbs_are_plain() -> None:
    apart = np.concatenate([OVERLAPPING[:300], OVERLAPPING[:300] + 20.0])
    auto, batch = (GaussianMixture(2, random_state=0, schedule=word).fit(apart) for word in ("auto", "batch"))
    assert auto.n_iter_ == batch.n_iter_ < MANY_PASSES
    np.testing.assert_array_equal(auto.means_, batch.means_)


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (PoissonMixture(2, random_state=0), COUNTS),
        (BernoulliMixture(2, random_state=0), TOSSES),
        (GaussianMixture(2, random_state=0), OVERLAPPING),
        (GaussianMixture(2, random_state=0, covariance_type="VEV"), OVERLAPPING),
    ],
    ids=["counts", "tosses", "small table", "general way"],
)
def test_slow_climbs_end_as_high_in_fewer_passes(model: object, rows: np.ndarray) -> None:
    """About 0.01 nats may be left behind; the slowest of these takes thousands of plain passes."""
    settings = {"max_iter": 20_000}
    auto = model.set_params(**settings).fit(rows)  # type: ignore[attr-defined]
    found, passes = auto.history_[-1].objective, auto.history_.passes
    plain = model.set_params(schedule="batch", tol=1e-13).fit(rows)  # type: ignore[attr-defined]
    assert found >= plain.history_[-1].objective - 0.05
    assert passes < plain.history_.passes / 3
    assert np.all(np.diff(auto.history_.column("objective")) >= -1e-9)


def test_leaps_need_a_goal_and_a_model_that_can_leap() -> None:
    assert Adaptive(GainLeft()).name == "auto"
    hard = GaussianMixture(2, random_state=0, expectation="hard").fit(OVERLAPPING)  # as plain batch EM
    assert hard.converged_
    with pytest.raises(ValueError, match="schedule"):
        KMeans(2, schedule="auto").fit(OVERLAPPING)
