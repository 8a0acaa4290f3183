"""A plane through cells that each have a weight of their own: what is hidden are the scores of the rows.

With origin m, components C and scores z, the cost of Gabriel & Zamir (1979)

    sum_ij w_ij (x_ij - m_j - z_i' c_j)^2

is least squares in the scores of each row while the plane stands still, and least squares in the coefficients
b_j = (m_j, c_j) of each column while the scores do. The E step solves for the scores; what the columns need of them are
their normal equations, which add up from block to block; the M step solves those. Neither can raise the cost. It is
factor analysis of known variances 1 / w_ij (Srebro & Jaakkola 2003; Bailey 2012) in the limit where all of them shrink
alike: q is a point, so no expectation is asked. Where weights differ within rows, there may be several local minima.

Taking turns creeps along narrow valleys. The cost at the best scores is a function of the plane alone, its gradient is
that of the cost with the scores held, and the M step is steepest descent in the metric of the normal equations: so
quasi-Newton steps in that metric (`Secants`; Nocedal 1980) cost a pass each, like the others, and need far fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation, Memo, Model, Schedule, Work
from unveil.core.result import State
from unveil.core.statistics import Statistics
from unveil.numerics.lbfgs import Secant, two_loops
from unveil.projections.pca.weighted_kernels import solved, sums_of_cells

SUFFICIENT = 1e-4  # share of the promised fall that a step must bring (Armijo)
ROUNDING = 1e-13  # change of the cost, as a share of it, that means nothing
CURVED = 1e-12  # least curvature along a step, as a share of what it could be, from which anything is learnt


@dataclass(frozen=True)
class CellPlane:
    """Parameters: offset from the frame's origin and slopes of each column, (1 + q, d)."""

    coefficients: Floats


@dataclass(frozen=True)
class CellFactors(Model):
    """The model; see the top of the file. A block's weights may be of cells, (m, d), or of rows, (m,)."""

    shift: Floats  # (d,): origin of the frame, near the middle of the data

    def expect(
        self,
        plan: CellPlane,
        block: Block,
        expectation: Expectation | None = None,
        memo: Memo = None,
        random: Callable[[], np.random.Generator] | None = None,
    ) -> tuple[Statistics, Memo]:
        """Scores of the rows, and the normal equations that they make for the columns."""
        with np.errstate(over="ignore", invalid="ignore"):  # a step may lead out of all numbers, and is then taken back
            sums = sums_of_cells(block.rows, cell_weights(block), self.shift, plan.coefficients)
            sides = sums.sides + applied(sums.systems, plan.coefficients)
        statistics = Statistics(
            weight=sums.systems[0].mean(),  # a row counts by the mean of its cells
            log_likelihood=-sums.cost,
            free_energy=-sums.cost,
            systems=sums.systems,
            sides=sides,
            cost=sums.cost,
            singular_rows=sums.singular,
        )
        return statistics, None

    def maximise(self, statistics: Statistics, params: CellPlane) -> CellPlane:
        """Least squares in each column; where it is singular, the solution next to what was there before."""
        step, _ = solved(statistics["systems"], pull(statistics, params))
        return CellPlane(params.coefficients + step)

    def admissible(self, statistics: Statistics) -> bool:
        """Normal matrices have a diagonal of sums of squares."""
        width = len(statistics["sides"])
        diagonal = np.cumsum(np.arange(width) + 1) - 1
        return super().admissible(statistics) and bool(np.all(statistics["systems"][diagonal] >= 0))

    def events(self, statistics: Statistics, params: CellPlane) -> Mapping[str, int]:
        """Rows and columns whose equations did not determine their solution."""
        _, columns = solved(statistics["systems"], statistics["sides"])
        return {"singular_rows": round(float(statistics["singular_rows"])), "singular_columns": columns}


def cell_weights(block: Block) -> NDArray[Any]:
    """Weights of the cells of a block: its own, or those of its rows, and none where a cell is NaN."""
    if block.weights is not None and block.weights.ndim == 2:
        return block.weights
    there = (~np.isnan(block.rows)).astype(np.float64)
    return there if block.weights is None else there * block.weights[:, None]


def squares(systems: Floats, width: int) -> Floats:
    """Normal matrices (width, width, d) from their lower triangles."""
    rows, columns = np.tril_indices(width)
    full = np.empty((width, width, systems.shape[1]))
    full[rows, columns] = systems
    full[columns, rows] = systems
    return full


def applied(systems: Floats, coefficients: Floats) -> Floats:
    """Normal matrix of each column times its coefficients."""
    return np.einsum("khj,hj->kj", squares(systems, len(coefficients)), coefficients)


def pull(statistics: Statistics, params: CellPlane) -> Floats:
    """Minus half the gradient of the cost, where the statistics were gathered at `params`."""
    return statistics["sides"] - applied(statistics["systems"], params.coefficients)


def size_of(systems: Floats, coefficients: Floats) -> float:
    """Root of the weighted sum of squares of the cells that coefficients stand for."""
    return float(np.sqrt(max(float(np.vdot(coefficients, applied(systems, coefficients))), 0.0)))


@dataclass(frozen=True)
class Still:
    """Stop when a pass moves the fitted cells, all together, by at most `tol` of their size."""

    tol: float

    def __call__(self, before: State, after: State) -> bool:
        """Whether to stop."""
        systems, here = after.statistics["systems"], after.params.coefficients
        return size_of(systems, here - before.params.coefficients) <= self.tol * size_of(systems, here)


class PlanePass(NamedTuple):
    """A plane, and what a pass at it found."""

    params: CellPlane
    statistics: Statistics
    cost: float  # weighted sum of squares off the plane
    pull: Floats
    natural: Floats  # the step to the M step


class SecantPath(NamedTuple):
    """The last point, what the steps to it told of the curvature, and the step that was taken from it."""

    here: PlanePass
    secants: tuple[Secant, ...]  # the change is how much the pull fell
    step: Floats
    taken_back: bool = False


@dataclass(frozen=True)
class Secants(Schedule):
    """Quasi-Newton steps in the metric of the normal equations; one that raises the cost gives way to an M step."""

    memory: int = 12  # steps from which the curvature is learnt

    monotone = True

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """Made for one model."""
        said = f"its metric is that of CellFactors, and this is {type(model).__name__}"
        return None if isinstance(model, CellFactors) else said

    def measured_at(self, entering: CellPlane, state: SecantPath) -> CellPlane:
        """The last point."""
        return state.here.params

    def events(self, state: SecantPath) -> dict[str, int]:
        """Steps that were taken back."""
        return {"taken_back": int(state.taken_back)}

    def sweep(
        self, work: Work, params: CellPlane, state: SecantPath | None
    ) -> tuple[CellPlane, Statistics, SecantPath]:
        """A pass at `params`, and the step from there."""
        here, secants = _look(work, params), tuple[Secant, ...]()
        taken_back = state is not None and not _is_better(here, state)
        if state is not None and taken_back:
            here = _look(work, CellPlane(state.here.params.coefficients + state.here.natural))
        elif state is not None:
            secants = _learnt(state, here)[-self.memory :]
        step = _direction(here, secants)
        after = CellPlane(here.params.coefficients + step)
        return after, here.statistics, SecantPath(here, secants, step, taken_back)


def _look(work: Work, params: CellPlane) -> PlanePass:
    statistics = work.expect(params, None)
    with np.errstate(over="ignore", invalid="ignore"):
        drawn = pull(statistics, params)
    return PlanePass(params, statistics, float(statistics["cost"]), drawn, solved(statistics["systems"], drawn)[0])


def _is_better(there: PlanePass, path: SecantPath) -> bool:
    """Whether a step brought what it promised; where rounding hides the cost, whether the pull has fallen."""
    here, promised = path.here, 2.0 * float(np.vdot(path.here.pull, path.step))
    if there.cost <= here.cost - SUFFICIENT * promised:
        return True
    whole = here.cost + size_of(here.statistics["systems"], here.params.coefficients) ** 2
    hidden = ROUNDING * here.cost + ROUNDING * np.sqrt(here.cost) * np.sqrt(whole) + ROUNDING**2 * whole
    falls = np.vdot(there.pull, there.natural) <= np.vdot(here.pull, here.natural)
    return bool(there.cost <= here.cost + hidden and falls)


def _learnt(path: SecantPath, there: PlanePass) -> tuple[Secant, ...]:
    """The secants with the latest added, if the pull fell along its step."""
    step, fall = there.params.coefficients - path.here.params.coefficients, path.here.pull - there.pull
    systems = there.statistics["systems"]
    across = np.sqrt(max(float(np.vdot(fall, solved(systems, fall)[0])), 0.0))
    bend, could_be = float(np.vdot(step, fall)), size_of(systems, step) * across
    return (*path.secants, Secant(step, fall)) if bend > CURVED * could_be else path.secants


def _direction(here: PlanePass, secants: tuple[Secant, ...]) -> Floats:
    """Inverse curvature times pull; the M step where nothing is known."""
    if not secants:
        return here.natural
    systems, (step, fall) = here.statistics["systems"], secants[-1]
    unit = float(np.vdot(step, fall) / max(np.vdot(fall, solved(systems, fall)[0]), np.finfo(float).tiny))
    direction = two_loops(here.pull, secants, lambda rest: unit * solved(systems, rest)[0])
    return direction if np.vdot(direction, here.pull) > 0 else here.natural
