"""The search for independent components: from the words of `ICA` to a contrast and a solver, and to where it ends.

Solvers are `unveil.projections.ica.quasi_newton` and `unveil.projections.ica.fixed_point`. A large table is searched on
a sample of its rows first: the error of a sample of n rows is about n^(-1/2), so that a search on it may end where its
gradient is a share of that, and the passes over all rows start near their end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from unveil.core.arrays import Floats
from unveil.core.result import Status
from unveil.core.stopping import GAIN_PER_ROW, LEAST_ROWS
from unveil.engines.threads import Threads
from unveil.estimation.input import SAMPLE_CELLS, SAMPLE_ROWS, sample_of
from unveil.projections.ica.fixed_point import UnmixingOutcome, deflation, orthogonalised, parallel
from unveil.projections.ica.model import Compiled, Contrast, Custom, Passes
from unveil.projections.ica.quasi_newton import (
    FEW_SOURCES,
    FreeUnmixing,
    OrthogonalUnmixing,
    UnmixingGeometry,
    UnmixingSearch,
    quasi_newton,
)
from unveil.projections.passes import lone_block
from unveil.sources.array import ArraySource

if TYPE_CHECKING:
    from unveil.projections.ica.ica import ICA

ROWS_PER_SAMPLED = 10  # a first search runs on one row in so many
ENOUGH_ROWS = 1 << 13  # rows that it runs on at least
MOST_LEAPS = 6  # from a start that was drawn: by then they have come near, or never will
SETTLED_GRADIENT = 0.1  # it ends where its gradient is this share of the error that a sample of its size has

GAIN_SHARE = 0.01  # of what other models may leave behind: a step is Newton's, and the last but one leaves hardly less
FINEST = 1e-7  # gradient, or turn of a vector, that is the end whatever there is to gain

FIXED_POINTS: dict[str, Callable[..., UnmixingOutcome]] = {"parallel": parallel, "deflation": deflation}


class SolverFrame(NamedTuple):
    """Coordinates that the solver works in, z = matrix (x - shift)."""

    shift: Floats
    matrix: Floats  # (count, columns)
    back: Floats  # (columns, count), its inverse
    covariance: Floats  # of z
    mean: Floats  # of the rows
    weight: float  # sum of their weights


def geometry_of(settings: ICA) -> UnmixingGeometry | None:
    """Which matrices "picard" searches; None for FastICA."""
    if settings.algorithm == "picard":
        wanted = bool(settings.whiten) if settings.orthogonal == "auto" else settings.orthogonal
        return OrthogonalUnmixing() if wanted else FreeUnmixing()
    for name in ("orthogonal", "extended"):
        if not getattr(settings, name):
            raise ValueError(f"{name}=False needs algorithm='picard', got {settings.algorithm!r}")
    return None


def contrast_of(settings: ICA) -> Contrast:
    """The contrast that `fun` and `fun_args` name, if the algorithm can take it."""
    fun, arguments = settings.fun, {} if settings.fun_args is None else settings.fun_args
    if callable(fun):
        if settings.algorithm == "picard":
            raise ValueError("fun must be 'logcosh', 'exp' or 'cube' with algorithm='picard', got a callable")
        return Custom(fun, arguments)
    unknown = sorted(map(repr, arguments.keys() - ({"alpha"} if fun == "logcosh" else set())))
    if unknown:
        raise ValueError(f"fun_args has {unknown[0]}, which fun={fun!r} does not take")
    if isinstance(geometry_of(settings), FreeUnmixing) and fun == ("cube" if settings.extended else "exp"):
        made = f"fun={fun!r} with extended={bool(settings.extended)}"
        raise ValueError(f"{made} makes no density that adds up to 1: with 'picard' it needs orthogonal=True")
    alpha = arguments.get("alpha", 1.0)
    if not isinstance(alpha, Real) or not 1.0 <= float(alpha) <= 2.0:
        raise ValueError(f"alpha must be in [1,2], got {alpha!r}")
    return Compiled(fun, float(alpha))


def solved(settings: ICA, evaluate: Passes, frame: SolverFrame, geometry: UnmixingGeometry | None) -> UnmixingOutcome:
    """Run the solver, from a sample first where that saves time."""
    start, given = start_of(settings, frame), settings.w_init is not None
    tol, enough = goal_of(settings, frame.weight)
    if geometry is None:
        return FIXED_POINTS[settings.algorithm](evaluate, start, tol, settings.max_iter)
    rotates = isinstance(geometry, OrthogonalUnmixing)
    begin = orthogonalised(start) if rotates or not given else start
    exact = OrthogonalUnmixing(exact=True) if rotates and len(start) <= FEW_SOURCES else geometry
    search = partial(UnmixingSearch, covariance=frame.covariance)
    solve = partial(quasi_newton, extended=settings.extended, max_iter=settings.max_iter)
    few = None if given else sampled(evaluate, len(start), settings.random_state)
    leaps = MOST_LEAPS if rotates and settings.extended and not given else 0  # they do not choose between tails either
    if few is None:
        return solve(search(evaluate, exact), begin, tol=tol, leaps=leaps, enough=enough)
    rough = solve(search(few, exact), begin, tol=SETTLED_GRADIENT / few.source.n_rows**0.5, leaps=leaps)
    if rough.status is Status.INTERRUPTED:
        return rough
    try:  # many rows are near enough to independent sources for the approximate Hessian
        return solve(search(evaluate, geometry), rough.unmixing, tol=tol, enough=enough)
    except KeyboardInterrupt:  # before the first pass was over
        return rough._replace(status=Status.INTERRUPTED)


def goal_of(settings: ICA, weight: float) -> tuple[float, float]:
    """The gradient, or turn, to stop at, and the gain in nats per row that is not worth another step."""
    if settings.tol != "auto":
        return float(settings.tol), 0.0
    return FINEST, GAIN_SHARE * GAIN_PER_ROW * max(1.0, LEAST_ROWS / weight)


def sampled(evaluate: Passes, count: int, random_state: Any) -> Passes | None:
    """Passes over some of the rows, held in memory; None where that would save no time."""
    source, engine = evaluate.source, evaluate.engine
    most = min(SAMPLE_ROWS, SAMPLE_CELLS // source.n_columns)
    size = min(max(source.n_rows // ROWS_PER_SAMPLED, ENOUGH_ROWS, 16 * count**2), most)
    if size < max(ENOUGH_ROWS, 4 * count**2) or 4 * size > source.n_rows:
        return None
    random = check_random_state(random_state)
    if isinstance(random_state, Integral):
        random.normal(size=(count, count))  # the start was drawn first
    rows, weights = sample_of(source, int(random.randint(2**31 - 1)), 1, size, engine=engine)
    if weights is not None and not weights.any():
        return None
    local, table = engine if isinstance(engine, Threads) else Threads(), ArraySource(rows, weights)
    return replace(evaluate, engine=local, source=table, lone=lone_block(local, table))


def start_of(settings: ICA, frame: SolverFrame) -> Floats:
    """The matrix to start from, in the coordinates of the frame."""
    count, seed = len(frame.matrix), settings.random_state
    if settings.w_init is None:
        if isinstance(seed, Integral):
            return _drawn(int(seed), count)
        return np.asarray(check_random_state(seed).normal(size=(count, count)))
    given = np.array(settings.w_init, dtype=np.float64)
    if given.shape != (count, count):
        raise ValueError(f"w_init must have the shape ({count}, {count}), got {given.shape}")
    if not np.all(np.isfinite(given)):
        raise ValueError("w_init must hold finite numbers, got NaN or infinity")
    if np.linalg.matrix_rank(given) < count:
        raise ValueError("w_init must be invertible, got a matrix whose rows are linearly dependent")
    return given if settings.whiten else given @ frame.back


@lru_cache(maxsize=256)
def _drawn(seed: int, count: int) -> Floats:
    """The start that a seed leads to: to make a generator of it takes as long as a few passes over a small table."""
    start = np.asarray(check_random_state(seed).normal(size=(count, count)))
    start.flags.writeable = False
    return start
