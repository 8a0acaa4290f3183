"""Unconstrained coordinates of a hidden Markov model: logarithms of its probabilities, then those of the family.

With theta_g the value of a group of tied entries of a table, n_ig of them in row i, and v any vector,

    theta(v) = theta * exp(v + N' lambda),      lambda such that N theta(v) = masses of the rows:

for a table without ties this is a softmax of each row. With D = diag(theta) and C the counts of the groups,

    d energy / d v = C - D N' (N D N')^-1 N C.

Entries that are fixed or zero stay so, as they do in EM. Every coordinate is multiplied by the root of its information
per unit of weight, so that gradient / weight is about a step of EM. How often a state is left or begun with only the
statistics tell, so these units are set by the first that a chart sees; its origin is zero in any units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.chains.model.probability_table import Stochastic, TableGroups
from unveil.core.arrays import Floats
from unveil.core.statistics import Statistics

if TYPE_CHECKING:
    from unveil.chains.model.model import HiddenMarkov, MarkovParams

ENTRY_INFORMATION = 1e-2  # least information of an entry, in that of its row: at the edge there is none
LEAST_INFORMATION = 1e-9  # least information of a coordinate per unit of weight, so that it has a unit
LOG_STEP = 300.0  # by which a logarithm may fall or rise at a step
NEWTON_STEPS = 100  # of Newton's method, which takes three to ten


class TableCoordinates:
    """A chart of a table of probabilities, made around one that obeys its rule."""

    def __init__(self, rule: Stochastic, table: Floats) -> None:
        self.shape, self.table = table.shape, np.atleast_2d(table)
        positive = self.table > 0
        self.moving = rule.moving(self.table.shape) & positive
        allowed = None if rule.allowed is None else np.atleast_2d(rule.allowed)
        still = Stochastic(allowed, self.moving, _of_moving(rule, self.moving))
        self.layout: TableGroups = still.layout(self.table)
        self.group = self.layout.group[self.moving]
        self.extra = np.broadcast_to(
            np.atleast_2d(np.asarray(rule.concentration, dtype=np.float64)) - 1.0, self.table.shape
        )
        self.values = np.bincount(self.group, self.table[self.moving], self.layout.size) / np.maximum(
            self.layout.members, 1.0
        )

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.layout.size

    def at(self, logs: Floats) -> Floats:
        """The table at a vector of changes of logarithms."""
        table = self.table.copy()
        table[self.moving] = self._values(logs)[self.group]
        return table.reshape(self.shape)

    def gradient(self, counts: Floats, logs: Floats) -> Floats:
        """Of counts and the prior's pseudo-counts times logarithms."""
        seen = (np.atleast_2d(counts) + self.extra)[self.moving]
        totals, values = np.bincount(self.group, seen, self.size), self._values(logs)
        members = self.layout.members_of_rows
        return totals - values * (members.T @ self._solve(values, members @ totals))

    def information(self, totals: Floats) -> Floats:
        """Counts of the groups at the origin, given the weight (rows,) of each row of the table."""
        rows = np.broadcast_to(totals[:, None], self.table.shape)[self.moving]
        seen = rows * np.maximum(self.table[self.moving], ENTRY_INFORMATION)
        return np.bincount(self.group, seen, self.size).astype(np.float64)

    def _values(self, logs: Floats) -> Floats:
        """Values of the groups: moved, and brought back to rows that sum to what they must, by Newton's method."""
        members, masses = self.layout.members_of_rows, self.layout.masses
        values: Floats = self.values * np.exp(np.clip(logs, -LOG_STEP, LOG_STEP))
        if self._is_plain:
            return values * (members.T @ self._solve(values, masses))
        for _ in range(NEWTON_STEPS):
            missing = masses - members @ values
            if np.all(np.abs(missing) <= 1e-15):
                break
            change: Floats = members.T @ self._solve(values, missing)
            values *= np.exp(change / max(float(np.abs(change).max()), 1.0))
        return values

    @property
    def _is_plain(self) -> bool:
        """Whether each group is a single entry."""
        return bool(np.all(self.layout.members == 1))

    def _solve(self, values: Floats, right: Floats) -> Floats:
        """(N D N')^+ times a vector."""
        members = self.layout.members_of_rows
        if self._is_plain:
            sums = members @ values
            return np.where(sums > 0, right / np.where(sums > 0, sums, 1.0), 0.0)
        return np.asarray(np.linalg.lstsq((members * values) @ members.T, right, rcond=None)[0], dtype=np.float64)


class MarkovCoordinates:
    """A chart of the parameters of a hidden Markov model, made around some of them."""

    def __init__(self, model: HiddenMarkov, params: MarkovParams) -> None:
        self.model, self.start = model, params
        self.tables = (
            TableCoordinates(model.start_rule, params.start),
            TableCoordinates(model.transition_rule, params.transition),
        )
        self.chart = model.family.coordinates(params.emissions)
        sizes = [table.size for table in self.tables]
        self.cuts = np.cumsum(sizes)
        self.origin = np.zeros(int(self.cuts[-1]) + len(self.chart.origin))
        self._units: Floats | None = None

    def params(self, vector: Floats) -> MarkovParams:
        """Tables by exponentials, and the family's parameters."""
        starts, steps, rest = self._split(vector)
        start, transition = self.tables[0].at(starts), self.tables[1].at(steps)
        return type(self.start)(start, transition, self.chart.params(rest))

    def gradient(self, statistics: Statistics, vector: Floats) -> Floats:
        """Gradient of the energy and the log-prior."""
        if self._units is None:
            self._units = self._suited(statistics)
        starts, steps, rest = self._split(vector)
        parts = (
            self.tables[0].gradient(statistics["starts"], starts),
            self.tables[1].gradient(statistics["transitions"], steps),
            self.chart.gradient(statistics["moments"], rest),
        )
        return np.concatenate(parts) / self._units

    def _suited(self, statistics: Statistics) -> Floats:
        """Roots of the information of each coordinate, per unit of weight."""
        weight = float(statistics["weight"])
        parts = (
            self.tables[0].information(np.array([statistics["starts"].sum() / weight])),
            self.tables[1].information(statistics["transitions"].sum(axis=1) / weight),
            self.chart.information(np.maximum(statistics["moments"][:, 0] / weight, LEAST_INFORMATION)),
        )
        return np.sqrt(np.maximum(np.concatenate(parts), LEAST_INFORMATION))

    def _split(self, vector: Floats) -> tuple[Floats, Floats, Floats]:
        """Changes of the logarithms of both tables, and what is the family's."""
        plain = vector if self._units is None else vector / self._units
        starts, steps, rest = np.split(plain, self.cuts)
        return starts, steps, rest + self.chart.origin


def _of_moving(rule: Stochastic, moving: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Ties among what moves; an entry that stays is tied to nothing."""
    return None if rule.tied is None else np.where(moving, np.broadcast_to(np.atleast_2d(rule.tied), moving.shape), -1)
