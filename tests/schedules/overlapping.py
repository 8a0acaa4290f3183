"""Two clouds that overlap so much that EM crawls, with an offset and units as far apart as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests import laws
from unveil.core.loop import Parts, fit
from unveil.core.result import Fit
from unveil.core.stopping import BoundChange
from unveil.engines import Threads
from unveil.expectations import Exact
from unveil.families.base import Family
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.sources import ArraySource

Floats = NDArray[np.float64]
UNITS, OFFSET = np.array([1.0, 1e3]), np.array([1e5, -10.0])


def clouds(n_rows: int = 600, apart: float = 2.0) -> Floats:
    random = np.random.default_rng(3)
    side = random.integers(2, size=n_rows)
    rows = random.normal(size=(n_rows, 2)) * np.where(side, 1.0, 0.8)[:, None] + np.outer(side, [apart, 0.0])
    return rows * UNITS + OFFSET


def case_of(
    rows: Floats, family: Family | None = None, expectation: Any = None, concentration: float = 1.0
) -> laws.Case:
    """A start that puts most of each row where its first column says."""
    model = Mixture(family or Gaussian(Full(), 0.0), 2, rows.mean(axis=0), False, concentration)
    right = np.where(rows[:, 0] > np.median(rows[:, 0]), 0.8, 0.2)
    block = next(iter(ArraySource(rows).read()))
    start = model.first(model.gather(block, np.stack([1.0 - right, right])))
    return laws.Case(model, start, rows, expectation or Exact())


def answers(expectation: Any = None) -> laws.Case:
    random = np.random.default_rng(8)
    chances = np.array([[0.9, 0.8, 0.2, 0.1, 0.5], [0.3, 0.4, 0.6, 0.6, 0.2]])
    rows = (random.random((400, 5)) < chances[random.integers(2, size=400)]).astype(np.float64)
    start = MixtureParams(np.array([0.6, 0.4]), BernoulliParams(0.25 + 0.5 * chances))
    return laws.Case(Mixture(Bernoulli(), 2, np.zeros(5), False), start, rows, expectation or Exact())


def settled(case: laws.Case, schedule: Any, tol: float = 1e-12, sweeps: int = 5000) -> Fit:
    """Until nothing moves."""
    source = laws.cut_often(case.rows)
    return fit(Parts(case.model, source, case.expectation, schedule, Threads(1), BoundChange(tol), sweeps), case.start)


def never_falls(outcome: Fit) -> bool:
    """But for rounding."""
    objective = outcome.history.column("objective")
    return bool(np.all(np.diff(objective) >= -1e-12 * np.abs(objective[:-1])))


def reached(case: laws.Case, outcome: Fit) -> float:
    """The log-likelihood at the parameters where a fit ended."""
    return float(laws.expect(laws.Case(case.model, outcome.params, case.rows, Exact()), case.rows)["log_likelihood"])
