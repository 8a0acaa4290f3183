"""Climbs side by side: the bits of each alone, one read for all, and each ends in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from tests import laws
from tests.counted import Counted
from tests.schedules.overlapping import case_of, clouds
from unveil.core.drive import answer_to, drive, together
from unveil.core.loop import Parts, best_climbing, climbing, fit, is_interrupted
from unveil.core.protocols import Ask, Block, Schedule, Work
from unveil.core.result import Fit, State, Status
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange
from unveil.engines import Dask, Threads
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.mixtures.empty import Reseed
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import LBFGS, Ascent, Batch, Gradient, Incremental, Squarem, Stepwise
from unveil.schedules.reseeding import Reseeding
from unveil.sources import ArraySource, with_weights

CASE = case_of(clouds(600))
SOURCE = laws.cut_often(CASE.rows)
HOLES = np.where(np.random.default_rng(1).random(CASE.rows.shape) < 0.1, np.nan, CASE.rows)
SAMPLE = Block(0, 0, CASE.rows[:100])
SCHEDULES: dict[str, Schedule] = {
    "batch": Batch(),
    "incremental": Incremental(100),
    "stepwise": Stepwise(0.7, 100),
    "gradient": Gradient(2),
    "ascent": Ascent(),
    "lbfgs": LBFGS(3),
    "squarem": Squarem(Incremental(100)),
    "reseeding": Reseeding(Batch(), Reseed(SAMPLE)),
}
EXPECTATIONS = {"hard": Hard(), "sampled": Sampled(2), "sparse": Sparse(1, 2), "annealed": Annealed(0.5, 3)}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


def parts(**changes: Any) -> Parts:
    plain = Parts(CASE.model, SOURCE, Exact(), Batch(), Threads(1), BoundChange(1e-5), 8)
    return replace(plain, **changes)


def several(**changes: Any) -> list[Parts]:
    """Three, each with a seed and an end of its own."""
    return [parts(seed=number, max_iter=4 + 2 * number, **changes) for number in range(3)]


def starts() -> list[MixtureParams]:
    """One for each of three."""
    return [replace(CASE.start, weights=np.array([share, 1.0 - share])) for share in (0.5, 0.3, 0.05)]


def bits(outcome: Fit) -> Any:
    """All but the time."""
    params = {name: np.asarray(value).tobytes() for name, value in laws.numbers(outcome.params).items()}
    columns = [outcome.history.column(name).tobytes() for name in ("objective", "log_likelihood", "weight")]
    counts = outcome.history.passes, dict(outcome.history.events), outcome.status
    return params, columns, counts, {name: value.tobytes() for name, value in outcome.statistics.items()}


def side_by_side(each: list[Parts]) -> list[Fit]:
    return drive(together(climbing(one, start) for one, start in zip(each, starts(), strict=True)))


def one_by_one(each: list[Parts]) -> list[Fit]:
    return [fit(one, start) for one, start in zip(each, starts(), strict=True)]


# -- the same bits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_schedule_has_the_bits_of_a_climb_alone(name: str, threads: int) -> None:
    given = several(schedule=SCHEDULES[name], engine=Threads(threads))
    assert list(map(bits, side_by_side(given))) == list(map(bits, one_by_one(given)))


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_every_expectation_draws_and_remembers_for_itself(name: str) -> None:
    given = several(expectation=EXPECTATIONS[name], engine=Threads(2))
    assert list(map(bits, side_by_side(given))) == list(map(bits, one_by_one(given)))


def test_different_schedules_get_along() -> None:
    given = [parts(schedule=schedule) for schedule in (Batch(), Stepwise(0.7, 100), Incremental(64))]
    assert list(map(bits, side_by_side(given))) == list(map(bits, one_by_one(given)))


@pytest.mark.parametrize("expectation", [Exact(), Sparse(1, 2)], ids=["exact", "sparse"])
def test_a_cluster_has_them_too(client: Client, expectation: Any) -> None:
    given, alone = several(expectation=expectation, engine=Dask(client)), several(expectation=expectation)
    assert list(map(bits, side_by_side(given))) == list(map(bits, one_by_one(alone)))


def test_missing_cells_are_looked_for_once_and_change_nothing() -> None:
    others = (CASE.model, CASE.model, replace(CASE.model, concentration=2.0))
    given = [replace(one, model=own) for one, own in zip(several(source=laws.cut_often(HOLES)), others, strict=True)]
    looked = []
    model = type(CASE.model)
    original = model._patterns

    def counting(self: Mixture, block: Block) -> Any:
        looked.append(block.index)
        return original(self, block)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "_patterns", counting)
        found = side_by_side(given)
    assert len(looked) == len(set(looked))
    assert list(map(bits, found)) == list(map(bits, one_by_one(given)))


# -- one read ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["batch", "stepwise", "incremental"])
def test_a_pass_is_read_once_for_all(name: str) -> None:
    source = Counted(laws.cut_often(CASE.rows))
    found = side_by_side(several(source=source, schedule=SCHEDULES[name]))
    assert [one.history.passes for one in found] == [4, 6, 8]
    assert source.reads == 8


@pytest.mark.parametrize("engine", ["threads", "dask"])
def test_weights_are_ways_to_see_the_same_rows(client: Client, engine: str) -> None:
    rows = np.repeat(CASE.rows, 60, axis=0)  # three partitions
    weights = np.random.default_rng(0).integers(0, 3, (3, len(rows))).astype(np.float64)
    source = Counted(ArraySource(rows))
    on: Any = Threads(2) if engine == "threads" else Dask(client)
    given = [parts(source=with_weights(source, own), engine=on, max_iter=4) for own in weights]
    found = side_by_side(given)
    assert source.reads == (4 if engine == "threads" else 1)  # a cluster keeps the rows
    alone = [parts(source=with_weights(ArraySource(rows), own), max_iter=4) for own in weights]
    assert list(map(bits, found)) == list(map(bits, one_by_one(alone)))


def test_who_remembers_nothing_may_ask_along() -> None:
    source = Counted(laws.cut_often(CASE.rows))

    @dataclass(frozen=True)
    class Rows:
        def __call__(self, block: Block, memo: Any) -> tuple[Statistics, Any]:
            assert memo is None
            return Statistics(count=len(block.rows)), "not to be kept"

    ask = Ask(Threads(1), source, Rows())  # type: ignore[arg-type]
    climb = climbing(parts(source=source, expectation=Sparse(1, 2)), starts()[0])
    outcome, counted = drive(together([climb, answer_to(ask)]))
    assert source.reads == outcome.history.passes
    assert float(counted["count"]) == 600
    assert bits(outcome) == bits(fit(parts(expectation=Sparse(1, 2)), starts()[0]))


# -- each ends in its own way ------------------------------------------------------------------------------------------


class Plain(Schedule):
    """A schedule as one would write it in five minutes, which calls for its passes."""

    monotone = True

    def sweep(self, work: Work, params: Any, state: Any) -> tuple[Any, Statistics, Any]:
        params = work.model.recentre(params)
        statistics = work.expect(params)
        return work.model.maximise(statistics, params), statistics, state


def test_a_schedule_that_calls_for_its_passes_runs_beside_others() -> None:
    given = [parts(schedule=schedule) for schedule in (Plain(), Batch(), Squarem(Batch()))]
    found = side_by_side(given)
    assert list(map(bits, found)) == list(map(bits, one_by_one(given)))
    assert bits(found[0]) == bits(fit(parts(), starts()[0]))


@dataclass(frozen=True)
class Failing(Mixture):
    """A mixture whose E step fails at a pass."""

    def prepare(self, params: Any) -> Any:
        return params.weights[0] < 0.04, super().prepare(params)

    def expect(self, plan: Any, *rest: Any) -> Any:
        if plan[0]:
            raise np.linalg.LinAlgError("not positive definite")
        return super().expect(plan[1], *rest)


def test_an_error_is_that_of_the_climb_that_made_it() -> None:
    model = Failing(CASE.model.family, 2, CASE.model.shift, False)
    failing, others = parts(model=model), parts()
    start = replace(CASE.start, weights=np.array([0.01, 0.99]))

    def attempted() -> Any:
        try:
            return (yield from climbing(failing, start))
        except np.linalg.LinAlgError as error:
            return str(error)

    found = drive(together([climbing(others, starts()[0]), attempted(), climbing(failing, starts()[1])]))
    assert found[1] == "not positive definite"
    assert bits(found[0]) == bits(fit(others, starts()[0]))
    assert bits(found[2]) == bits(fit(others, starts()[1]))
    with pytest.raises(np.linalg.LinAlgError):
        drive(together([climbing(others, starts()[0]), climbing(failing, start)]))


def press(after: int) -> Callable[[State], None]:
    """A callback that presses Ctrl-C at a pass."""

    def callback(state: State) -> None:
        if state.iteration == after:
            raise KeyboardInterrupt

    return callback


def test_ctrl_c_in_one_ends_all_and_keeps_what_each_reached(caplog: pytest.LogCaptureFixture) -> None:
    given = [parts(), parts(callbacks=(press(3),)), parts()]
    best = drive(best_climbing([climbing(one, start) for one, start in zip(given, starts(), strict=True)]))
    assert best.status is Status.INTERRUPTED
    assert len(best.history.restarts) == 3
    assert len(best.history) == 3
    assert [record.message for record in caplog.records] == ["interrupted after 3 passes; keeping the best so far"]


def test_ctrl_c_within_a_pass_keeps_the_one_before() -> None:
    class Pressed(Counted):
        def read(self, partitions: Any = None) -> Any:
            if self.reads == 2:
                raise KeyboardInterrupt
            return super().read(partitions)

    source = Pressed(laws.cut_often(CASE.rows))
    found = drive(together((climbing(parts(source=source), one) for one in starts()), is_interrupted))
    assert [(len(one.history), one.status) for one in found] == [(2, Status.INTERRUPTED)] * 3


def test_states_tell_climbs_apart() -> None:
    seen: list[State] = []
    side_by_side([parts(callbacks=(seen.append,)) for _ in range(3)])
    numbers = [state.climb for state in seen]
    assert len(set(numbers)) == 3
    for number in set(numbers):
        own = [state.iteration for state in seen if state.climb == number]
        assert own == list(range(1, len(own) + 1))
