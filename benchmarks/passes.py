"""How many passes over the data a schedule needs, against batch EM from the same start. Nothing is timed.

Batch EM runs until it stands still; the log-likelihood per row that it ends at, less a given tolerance, is the target.
Counted are the passes of each schedule, batch EM too, until the parameters that it holds are that good: every E step
counts, those of leaps taken back and of line searches as well (``history_.passes``). How good parameters are is found
by fits that end after 1, 2, 3 ... sweeps, each scored on all rows. What a schedule believes on its way is not asked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unveil.core.protocols import Schedule
from unveil.schedules import Batch

Floats = NDArray[np.float64]

HEAD = (
    "case",
    "schedule",
    "passes",
    "batch EM's",
    "ratio",
    "log-likelihood per row",
    "batch EM's end",
    "asked",
    "reached",
)
LIMIT = 50_000  # passes of batch EM


class Problem(NamedTuple):
    """Rows, and an estimator that knows where to start."""

    rows: Floats
    estimator: Any

    def fitted(self, schedule: Schedule, sweeps: int, tol: float = 0.0) -> Any:
        """The estimator after so many sweeps."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a fit stops at its limit is meant
            return clone(self.estimator).set_params(schedule=schedule, max_iter=sweeps, tol=tol).fit(self.rows)


class Reached(NamedTuple):
    """Passes that were needed, and the log-likelihood per row after them."""

    passes: int
    height: float
    enough: bool = True  # or given up?


class Goal(NamedTuple):
    """Where batch EM ended, and what counts as the same."""

    end: Reached
    near: Reached
    within: float


class Climber(NamedTuple):
    """A schedule, and the share of batch EM's passes that it is asked to stay within, if any."""

    label: str
    schedule: Schedule
    share: float | None = None


@dataclass(frozen=True)
class Climb:
    """A problem, and who climbs."""

    name: str
    problem: Callable[[], Problem]
    climbers: tuple[Climber, ...]
    within: float  # of batch EM's end, per row
    tol: float  # at which batch EM stands still
    patience: float = 1.0  # share of batch EM's passes after which a schedule is given up

    def rows(self) -> Iterator[list[str]]:
        """Rows of the table, one per schedule."""
        problem = self.problem()
        goal = batch_goal(problem, self.tol, self.within)
        for climber in self.climbers:
            limit = int(self.patience * goal.near.passes)
            reached = climb(problem, climber.schedule, goal.end.height - self.within, limit)
            yield _row(self.name, climber, reached, goal)


def batch_goal(problem: Problem, tol: float, within: float) -> Goal:
    """The end of batch EM, and how soon it was near it.

    Its history says that: the log-likelihood of a pass is exact, and that of the parameters after all passes before.
    """
    model = problem.fitted(Batch(), LIMIT, tol)
    height = float(model.score(problem.rows))
    heights = np.append(model.history_.log_likelihood / len(problem.rows), height)
    passes = int(np.argmax(heights >= height - within))
    return Goal(Reached(model.history_.passes, height), Reached(passes, float(heights[passes])), within)


def climb(problem: Problem, schedule: Schedule, target: float, limit: int) -> Reached:
    """The first number of passes after which the target is met; given up beyond `limit`."""
    reached = Reached(0, -np.inf, False)
    for sweeps in range(1, limit + 1):
        model = problem.fitted(schedule, sweeps)
        height, passes = float(model.score(problem.rows)), int(model.history_.passes)
        if passes > limit:
            break
        reached = Reached(passes, height, height >= target)
        if reached.enough:
            break
    return reached


def _row(name: str, climber: Climber, reached: Reached, goal: Goal) -> list[str]:
    passes = str(reached.passes) if reached.enough else f"over {reached.passes}"
    ratio = f"{reached.passes / goal.near.passes:.2f}" if reached.enough else ""
    asked = "" if climber.share is None else f"at most {climber.share:g}"
    verdict = "" if climber.share is None else "yes" if _kept(climber.share, reached, goal) else "no"
    end = f"{goal.end.height:.9f} after {goal.end.passes}"
    case = f"{name}, within {goal.within:g}"
    return [case, climber.label, passes, str(goal.near.passes), ratio, f"{reached.height:.9f}", end, asked, verdict]


def _kept(share: float, reached: Reached, goal: Goal) -> bool:
    """Whether the goal was met within a share of batch EM's passes."""
    return reached.enough and reached.passes <= share * goal.near.passes
