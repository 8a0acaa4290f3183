"""The laws that every model must pass, whatever is hidden in it.

A `Case` is a model with a start and rows that suit it; each law is a function of a case. A test file lists its cases
and calls the laws:

- under Batch the objective never falls;
- statistics of the parts add up to those of the whole, however the rows are cut and in whatever order they come;
- weight 2 equals the row twice, and weight 0 equals no row;
- the number of threads changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.loop import ExpectationStep, Parts, fit
from unveil.core.protocols import Block, Expectation, Model, Schedule
from unveil.core.result import Fit, State
from unveil.core.statistics import Statistics, tree_sum
from unveil.engines import Threads
from unveil.schedules import Batch
from unveil.sources import ArraySource, Sequences

Floats = NDArray[np.float64]
ROUNDING = 1e-10
MEASURED = frozenset({"changed"})  # statistics of the way rather than of the rows: they count rows, not weights


@dataclass(frozen=True)
class Case:
    """A model, a start that suits the rows, and the q it is run with."""

    model: Model
    start: Any
    rows: Floats
    expectation: Expectation


def never(before: State, after: State) -> bool:
    """The stopping rule that never stops."""
    return False


def cut_often(rows: Floats, weights: Floats | None = None, size: int = 32) -> Sequences:
    """Rows in partitions of this size, so that small tables have many: each row is a sequence of its own."""
    return Sequences(ArraySource(rows, weights), np.ones(len(rows), np.intp), enough=size)


def run(
    case: Case,
    rows: Floats | None = None,
    weights: Floats | None = None,
    threads: int = 1,
    passes: int = 6,
    schedule: Schedule | None = None,
    stop: Callable[[State, State], bool] = never,
) -> Fit:
    """The loop, on a case."""
    source = cut_often(case.rows if rows is None else rows, weights)
    parts = Parts(case.model, source, case.expectation, schedule or Batch(), Threads(threads), stop, passes)
    return fit(parts, case.start)


def expect(case: Case, rows: Floats, weights: Floats | None = None, index: int = 0) -> Statistics:
    """Statistics of some rows as one block."""
    step = ExpectationStep(case.model, case.model.prepare(case.start), case.expectation, seed=0, number=0)
    return step(Block(index, 0, np.ascontiguousarray(rows), weights), None)[0]


def same(one: Statistics, other: Statistics) -> None:
    """Equal but for rounding, which is measured against the largest number of each kind."""
    assert set(one) == set(other)
    for name in set(one) - MEASURED:
        scale = max(float(np.max(np.abs(one[name]))), 1.0)
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=ROUNDING * scale, err_msg=name)


def numbers(params: Any) -> dict[str, Any]:
    """All arrays and numbers inside parameters, by name."""
    found: dict[str, Any] = {}
    inside = dict(enumerate(params)) if isinstance(params, tuple) else vars(params)
    for name, value in inside.items():
        deeper = hasattr(value, "__dict__") or isinstance(value, tuple)
        found.update({f"{name}.{key}": item for key, item in numbers(value).items()} if deeper else {str(name): value})
    return found


def alike(one: Any, other: Any, rtol: float = 1e-8) -> None:
    """Parameters equal but for rounding."""
    for name, value in numbers(one).items():
        np.testing.assert_allclose(value, numbers(other)[name], rtol=rtol, atol=rtol, err_msg=name)


# -- the laws ----------------------------------------------------------------------------------------------------------


def the_bound_never_falls(case: Case) -> None:
    outcome = run(case, passes=25)
    objective = outcome.history.column("objective")
    assert np.all(np.isfinite(objective))
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= ROUNDING * np.max(np.abs(objective))


def the_free_energy_is_a_lower_bound(case: Case) -> None:
    history = run(case).history
    assert np.all(history.gap >= -ROUNDING * np.abs(history.log_likelihood))


def parts_add_up_to_the_whole(case: Case, cuts: list[int]) -> None:
    pieces = np.split(np.arange(len(case.rows)), sorted(cuts))
    parts = [expect(case, case.rows[piece], index=i) for i, piece in enumerate(pieces) if len(piece)]
    same(tree_sum(parts), expect(case, case.rows))


def order_is_harmless(case: Case, seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(len(case.rows))
    same(expect(case, case.rows[shuffled]), expect(case, case.rows))
    alike(run(case, case.rows[shuffled]).params, run(case).params)


def weights_equal_repetition(case: Case, times: NDArray[np.int_]) -> None:
    repeated = np.repeat(case.rows, times, axis=0)
    same(expect(case, case.rows, times.astype(np.float64)), expect(case, repeated))
    weighted, plain = run(case, weights=times.astype(np.float64)), run(case, repeated)
    alike(weighted.params, plain.params)
    np.testing.assert_allclose(weighted.history.free_energy, plain.history.free_energy, rtol=1e-9)


def threads_change_no_bit(case: Case, schedule: Schedule | None = None) -> None:
    runs = [run(case, threads=count, schedule=schedule) for count in (1, 2, 5)]
    hashes = [{name: np.asarray(value).tobytes() for name, value in numbers(one.params).items()} for one in runs]
    assert hashes[0] == hashes[1] == hashes[2]
    assert len({one.history.column("objective").tobytes() for one in runs}) == 1


LAWS: tuple[Callable[[Case], None], ...] = (
    the_bound_never_falls,
    the_free_energy_is_a_lower_bound,
    partial(parts_add_up_to_the_whole, cuts=[1, 17, 18, 100]),
    partial(order_is_harmless, seed=3),
    threads_change_no_bit,
)
