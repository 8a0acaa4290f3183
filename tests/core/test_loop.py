"""The loop, driven by a model written in five minutes: two coins, one of which is tossed ten times for each row."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from tests import laws
from unveil.core.loop import Parts, best_of, fit
from unveil.core.protocols import Block, Expectation, Model
from unveil.core.result import Fit, History, Record, State, Status
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange
from unveil.engines import Dask, Threads
from unveil.expectations import Exact, Hard
from unveil.schedules import Batch, Stepwise
from unveil.sources import ArraySource

TOSSES = 10


@dataclass(frozen=True)
class Coins:
    """The share of rows of each coin, and its chance of heads."""

    shares: NDArray[np.float64]
    heads: NDArray[np.float64]


@dataclass(frozen=True)
class TwoCoins(Model):
    """The five-minute model: a row is the number of heads in ten tosses of one of two coins, and which is hidden."""

    def expect(
        self, plan: Coins, block: Block, expectation: Expectation, memo: Any, random: Callable[[], np.random.Generator]
    ) -> tuple[Statistics, int]:
        x = block.rows[:, 0]
        logits = (
            np.log(plan.shares)[:, None] + np.outer(np.log(plan.heads), x) + np.outer(np.log1p(-plan.heads), TOSSES - x)
        )
        bound = expectation.responsibilities(logits, block.weights, random)
        weight = len(x) if block.weights is None else block.weights.sum()
        sums = Statistics(weight=weight, counts=logits.sum(axis=1), heads=logits @ x, **bound._asdict())
        return sums, (memo or 0) + 1

    def maximise(self, statistics: Statistics, params: Coins) -> Coins:
        counts = statistics["counts"]
        return Coins(counts / counts.sum(), statistics["heads"] / (TOSSES * counts))

    def events(self, statistics: Statistics, params: Coins) -> dict[str, int]:
        return {"tossed": 1, "lost": 0}


START = Coins(np.array([0.5, 0.5]), np.array([0.6, 0.5]))


def tosses(n_rows: int = 3000) -> NDArray[np.float64]:
    random = np.random.default_rng(0)
    return random.binomial(TOSSES, np.where(random.random(n_rows) < 0.35, 0.8, 0.3))[:, None].astype(np.float64)


def parts(**changes: Any) -> Parts:
    plain = Parts(TwoCoins(), ArraySource(tosses()), Exact(), Batch(), Threads(1), BoundChange(1e-10), 500)
    return replace(plain, **changes)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


def test_a_five_minute_model_finds_both_coins() -> None:
    outcome = fit(parts(), START)
    assert outcome.status is Status.CONVERGED
    np.testing.assert_allclose(outcome.params.shares, [0.35, 0.65], atol=0.02)
    np.testing.assert_allclose(outcome.params.heads, [0.8, 0.3], atol=0.02)
    assert outcome.history.largest_fall() <= 1e-9
    assert np.all(np.diff(outcome.history.seconds) >= 0)
    assert outcome.history.events == {"tossed": len(outcome.history)}
    np.testing.assert_allclose(outcome.history.gap, 0.0)


@pytest.mark.parametrize("schedule", [Batch(), Stepwise(batch_rows=512)], ids=["batch", "stepwise"])
@pytest.mark.parametrize("expectation", [Exact(), Hard()], ids=["exact", "hard"])
def test_it_runs_with_every_part_and_every_engine_gives_the_same_bits(
    client: Client, schedule: Any, expectation: Any
) -> None:
    short = laws.cut_often(tosses(), size=256)
    runs = [
        fit(parts(source=short, schedule=schedule, expectation=expectation, engine=engine, max_iter=12), START)
        for engine in (Threads(1), Threads(3), Dask(client))
    ]
    bits = [
        (run.params.shares.tobytes(), run.params.heads.tobytes(), run.history.free_energy.tobytes()) for run in runs
    ]
    assert bits[0] == bits[1] == bits[2]
    assert np.all(runs[0].history.gap >= -1e-9)
    np.testing.assert_allclose(runs[0].params.heads, [0.8, 0.3], atol=0.06)


def test_what_a_block_remembers_comes_back_to_it() -> None:
    outcomes: list[int] = []

    @dataclass(frozen=True)
    class Counting(TwoCoins):
        def expect(self, plan: Any, block: Block, expectation: Any, memo: Any, random: Any) -> Any:
            outcomes.append(memo or 0)
            return super().expect(plan, block, expectation, memo, random)

    fit(parts(model=Counting(), max_iter=4, stop=BoundChange(0.0)), START)
    assert outcomes == [0, 1, 2, 3]


def test_callbacks_see_each_pass_in_order() -> None:
    seen: list[State] = []
    outcome = fit(parts(callbacks=(seen.append, seen.append)), START)
    assert [state.iteration for state in seen[::2]] == list(range(1, len(outcome.history) + 1))
    assert seen[::2] == seen[1::2]
    assert [state.record for state in seen[::2]] == list(outcome.history)
    assert seen[-1].params is outcome.params


def test_the_record_of_a_pass_is_of_the_parameters_that_entered_it() -> None:
    outcome = fit(parts(max_iter=1), START)
    x = tosses()[:, 0]
    likelihoods = [0.5 * p**x * (1 - p) ** (TOSSES - x) for p in START.heads]
    assert outcome.history[0].log_likelihood == pytest.approx(np.log(np.sum(likelihoods, axis=0)).sum())
    assert outcome.history[0].weight == len(x)


def test_no_passes_leave_the_start() -> None:
    outcome = fit(parts(max_iter=0), START)
    assert outcome.params is START
    assert len(outcome.history) == 0
    assert outcome.status is Status.MAX_ITER


def test_the_prior_is_part_of_the_objective_at_the_parameters_that_entered() -> None:
    @dataclass(frozen=True)
    class Believing(TwoCoins):
        def log_prior(self, params: Coins) -> float:
            return -100.0 * float(params.heads[0])

    outcome = fit(parts(model=Believing(), max_iter=2), START)
    first = outcome.history[0]
    assert first.objective == pytest.approx(first.free_energy - 60.0)
    assert outcome.objective == outcome.history[1].objective


# -- stopping ----------------------------------------------------------------------------------------------------------


def state(objective: float, weight: float = 10.0) -> State:
    record = Record(objective, objective, objective, weight, 0.0)
    return State(1, None, Statistics(weight=weight), record)


def test_with_no_tolerance_it_never_stops_early() -> None:
    assert not BoundChange(0.0)(state(-1.0), state(-1.0))
    outcome = fit(parts(stop=BoundChange(0.0), max_iter=40), START)
    assert (len(outcome.history), outcome.status) == (40, Status.MAX_ITER)


def test_it_stops_at_the_first_pass_that_meets_the_rule() -> None:
    objective = fit(parts(stop=BoundChange(1e-4)), START).history.column("objective")
    changes = np.abs(np.diff(objective)) / 3000
    assert np.all(changes[:-1] >= 1e-4)
    assert changes[-1] < 1e-4


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def press(after: int) -> Callable[[State], None]:
    """A callback that presses Ctrl-C at a pass."""

    def callback(state: State) -> None:
        if state.iteration == after:
            raise KeyboardInterrupt

    return callback


@dataclass(frozen=True)
class Interrupted(TwoCoins):
    """Presses Ctrl-C in the E step of a pass."""

    at: int = 1
    passes: list[int] = field(default_factory=list)

    def prepare(self, params: Any) -> Any:
        self.passes.append(1)
        return params

    def expect(self, plan: Any, block: Block, expectation: Any, memo: Any, random: Any) -> Any:
        if len(self.passes) >= self.at:
            raise KeyboardInterrupt
        return super().expect(plan, block, expectation, memo, random)


def test_ctrl_c_in_a_callback_keeps_the_pass_that_was_just_done(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="unveil"):
        outcome = fit(parts(callbacks=(press(after=3),)), START)
    assert outcome.status is Status.INTERRUPTED
    assert len(outcome.history) == 3
    whole = fit(parts(max_iter=3, stop=BoundChange(0.0)), START)
    np.testing.assert_array_equal(outcome.params.heads, whole.params.heads)
    assert "interrupted after 3 passes" in caplog.text


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_within_a_pass_keeps_the_one_before(threads: int) -> None:
    outcome = fit(parts(model=Interrupted(at=4), engine=Threads(threads)), START)
    assert outcome.status is Status.INTERRUPTED
    assert len(outcome.history) == 3
    whole = fit(parts(max_iter=3, stop=BoundChange(0.0)), START)
    np.testing.assert_array_equal(outcome.params.heads, whole.params.heads)


def test_ctrl_c_in_the_first_pass_keeps_the_start() -> None:
    outcome = fit(parts(model=Interrupted(at=1)), START)
    assert outcome.params is START
    assert outcome.status is Status.INTERRUPTED
    assert outcome.objective == -np.inf


def test_other_errors_go_through() -> None:
    def fail(state: State) -> None:
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        fit(parts(callbacks=(fail,)), START)


# -- restarts ----------------------------------------------------------------------------------------------------------


def ended(objective: float, status: Status = Status.CONVERGED, name: str = "") -> Fit:
    record = Record(objective, objective, objective, 1.0, 0.0)
    return Fit(name or objective, Statistics(), History((record,), status=status))


def interrupt() -> Fit:
    raise KeyboardInterrupt


def test_the_best_of_several_starts_is_kept_the_first_of_equals() -> None:
    outcomes = [ended(-3.0), ended(-1.0, name="first"), ended(-1.0, name="second"), ended(-2.0)]
    best = best_of(partial(lambda one: one, outcome) for outcome in outcomes)
    assert best.params == "first"
    assert best.history.restarts == (-3.0, -1.0, -1.0, -2.0)
    assert best.status is Status.CONVERGED


def test_the_status_is_that_of_the_best() -> None:
    best = best_of([lambda: ended(-3.0), lambda: ended(-1.0, Status.MAX_ITER)])
    assert best.status is Status.MAX_ITER


def test_ctrl_c_ends_the_series_and_keeps_the_best_so_far() -> None:
    later: list[str] = []
    runs = [lambda: ended(-1.0), lambda: ended(-2.0, Status.INTERRUPTED), lambda: later.append("ran")]
    best = best_of(runs)  # type: ignore[arg-type]
    assert best.params == -1.0
    assert best.status is Status.INTERRUPTED
    assert best.history.restarts == (-1.0, -2.0)
    assert later == []


def test_ctrl_c_between_runs_keeps_what_there_is() -> None:
    best = best_of([lambda: ended(-1.0), interrupt])
    assert best.params == -1.0
    assert best.status is Status.INTERRUPTED


def test_ctrl_c_before_there_is_anything_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        best_of([interrupt, lambda: ended(-1.0)])


def test_a_start_that_went_wrong_is_never_the_best() -> None:
    best = best_of([lambda: ended(np.nan), lambda: ended(-5.0)])
    assert best.params == -5.0
