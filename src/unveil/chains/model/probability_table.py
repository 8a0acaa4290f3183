"""Tables of probabilities whose rows sum to 1, re-estimated under constraints.

Where a transition from i to j is expected `counts[i, j]` times, the M step of a chain is the concave problem

    maximise  sum of (counts + concentration - 1) log table      subject to   rows of the table sum to 1,

with entries that are not `allowed` at 0, those that are not `free` at their current value, and those `tied` together
equal. With one value theta_g for each group of tied entries, n_ig of them in row i, and b_i what the fixed entries
leave of a row, Lagrange's conditions are

    theta_g = C_g / sum_i lambda_i n_ig,      sum_g n_ig theta_g = b_i.

Where ties stay within a row, or tie whole rows, one multiplier is left for each set of rows, and theta_g is a share:
C_g / n_g over their sum. Where they cross rows in other ways, Newton's method finds the multipliers: of tables and
multipliers at once (Wright, Primal-dual interior-point methods, 1997), since a group that was never seen may be needed
to fill up a row, which no multiplier alone would say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Indices, Mask

TABLE_ROUNDING = 1e-9  # by which a table that is handed in may miss what is asked of it
START_COUNTS = 1.0  # counts that a start adds to each row, shared out evenly: what is 0 once stays 0
NEWTON_STEPS = 200  # of Newton's method, which takes ten to thirty
STEP_REACH = 0.99  # share of the way to the edge that a step may take
VANISHED_PROBABILITY = 1e-13  # a probability that no count asks for is none


@dataclass(frozen=True)
class Stochastic:
    """How a table of probabilities, (m,) or (k, m), is re-estimated from counts.

    Parameters
    ----------
    allowed : array of bool, optional
        Entries that may be above zero; all by default.
    free : array of bool, optional
        Entries that move; the others stay at their current value. All by default.
    tied : array of int, optional
        Entries with the same number from 0 on share one value; -1 is not tied.
    concentration : float or array, default=1.0
        Of a Dirichlet prior on the free entries of each row, at least 1, which is flat.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.chains.model.probability_table import Stochastic, left_right
    >>> counts = np.array([[6.0, 2.0, 5.0], [1.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
    >>> Stochastic(allowed=left_right(3)).maximise(counts, np.full((3, 3), 1 / 3))
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.  , 0.  , 1.  ]])
    """

    allowed: Mask | None = None
    free: Mask | None = None
    tied: Indices | None = None
    concentration: Floats | float = 1.0

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.concentration) >= 1):
            raise ValueError(f"concentration must be at least 1, got {self.concentration!r}")
        shapes = {name: np.shape(getattr(self, name)) for name in ("allowed", "free", "tied") if self._has(name)}
        if len(set(shapes.values())) > 1:
            raise ValueError(f"allowed, free and tied must have one shape, got {shapes}")
        if self.allowed is not None and not np.all(np.any(self.allowed, axis=-1)):
            raise ValueError("allowed must leave each row an entry that may be above zero")
        for name in ("allowed", "free"):
            self._check_ties(name)

    @property
    def plain(self) -> bool:
        """Whether every entry moves as it likes."""
        return self.allowed is None and self.free is None and self.tied is None

    def maximise(self, counts: Floats, current: Floats) -> Floats:
        """The table of greatest expected log-likelihood and log-prior; rows that nothing is known of stay."""
        counts = np.maximum(counts + (np.asarray(self.concentration) - 1.0), 0.0)
        if self.plain:
            return _shares(counts, current)
        seen, now = np.atleast_2d(counts), np.atleast_2d(current)
        moving = self.moving(now.shape)
        base = np.where(moving, 0.0, self._kept(now))
        left = self._left(base, moving)
        if self.tied is None:
            inside = now / np.where(left > 0, left, 1.0)[:, None]
            table = base + left[:, None] * _shares(np.where(moving, seen, 0.0), np.where(moving, inside, 0.0))
            return table.reshape(current.shape)
        layout = self.layout(now)
        values = np.bincount(layout.group[moving], now[moving], layout.size) / layout.members
        totals: Floats = np.bincount(layout.group[moving], seen[moving], layout.size).astype(np.float64)
        table = base.copy()
        table[moving] = solve(layout, totals, values)[layout.group[moving]]
        return table.reshape(current.shape)

    def first(self, counts: Floats, current: Floats | None = None) -> Floats:
        """The table of a start: a count more for each row, shared out evenly, so that nothing is ruled out for good.

        Entries that are not free are taken from `current`; without one there is nothing yet that they could keep to,
        and they move as the others.
        """
        if self.plain and np.isscalar(self.concentration):
            even = np.full(counts.shape[-1:], 1.0 / counts.shape[-1])
            return self.maximise(counts + START_COUNTS * even, even)
        shape = np.atleast_2d(counts).shape
        rule = Stochastic(self.allowed, self.free if current is not None else None, self.tied, self.concentration)
        moving = rule.moving(shape)
        extra = START_COUNTS * moving / np.maximum(moving.sum(axis=1, keepdims=True), 1)
        even = rule._may(shape) / np.maximum(rule._may(shape).sum(axis=1, keepdims=True), 1)
        now = even if current is None else np.atleast_2d(current)
        return rule.maximise(np.atleast_2d(counts) + extra, now).reshape(counts.shape)

    def check(self, table: Floats, name: str) -> None:
        """Raise a ValueError that names what of a table of this `name` is against the constraints."""
        rows = np.atleast_2d(table)
        if not np.all(np.isfinite(rows)) or np.any(rows < 0) or np.any(np.abs(rows.sum(axis=1) - 1.0) > TABLE_ROUNDING):
            raise ValueError(f"{name} must hold probabilities that sum to 1, got {table!r}")
        if np.any(rows[~self._may(rows.shape)] > 0):
            raise ValueError(f"{name} must be 0 where it is not allowed to be above, got {table!r}")
        if self.tied is not None:
            labels = np.atleast_2d(self.tied)
            for label in np.unique(labels[labels >= 0]):
                if np.ptp(rows[labels == label]) > TABLE_ROUNDING:
                    raise ValueError(f"{name} must have equal entries where tied is {label}, got {table!r}")

    def log_prior(self, table: Floats) -> float:
        """Log-density of the Dirichlet prior, over what moves of each row; 0 if it is flat."""
        alpha = np.asarray(self.concentration, dtype=np.float64)
        if np.all(alpha == 1.0):
            return 0.0
        from scipy.special import gammaln, xlogy

        rows = np.atleast_2d(table)
        moving, alpha = self.moving(rows.shape), np.broadcast_to(np.atleast_2d(alpha), rows.shape)
        terms = np.where(moving, xlogy(alpha - 1.0, rows) - gammaln(alpha), 0.0)
        sums = np.where(moving, alpha, 0.0).sum(axis=1)
        return float(terms.sum() + gammaln(sums[sums > 0]).sum())

    def pseudo_counts(self, shape: tuple[int, ...]) -> Floats:
        """What the prior adds to the counts of a (k, m) table, where entries move."""
        alpha = np.broadcast_to(np.atleast_2d(np.asarray(self.concentration, dtype=np.float64)), shape)
        return np.where(self.moving(shape), alpha - 1.0, 0.0)

    def n_free(self, shape: tuple[int, ...]) -> int:
        """Numbers that can be chosen: the groups of entries that move, less the sums they are held to."""
        shape = (1, *shape) if len(shape) == 1 else shape
        moving = self.moving(shape)
        if self.tied is None:
            return int(np.maximum(moving.sum(axis=1) - 1, 0).sum())
        layout = self.layout(np.zeros(shape), masses=False)
        return layout.size - int(np.linalg.matrix_rank(layout.members_of_rows)) if layout.size else 0

    # -- what the constraints say --------------------------------------------------------------------------------------

    def moving(self, shape: tuple[int, ...]) -> Mask:
        """Entries of a (k, m) table that are re-estimated."""
        return self._may(shape) & (True if self.free is None else np.broadcast_to(np.atleast_2d(self.free), shape))

    def layout(self, current: Floats, masses: bool = True) -> TableGroups:
        """Groups of tied entries of a (k, m) table, and what its rows leave for them."""
        moving = self.moving(current.shape)
        group = np.full(current.shape, -1, dtype=np.intp)
        labels = (
            np.full(current.shape, -1) if self.tied is None else np.broadcast_to(np.atleast_2d(self.tied), moving.shape)
        )
        own = np.arange(current.size).reshape(current.shape) + 1 + max(int(labels.max()), 0)
        group[moving] = np.unique(np.where(labels >= 0, labels, own)[moving], return_inverse=True)[1].ravel()
        rows = np.broadcast_to(np.arange(len(current))[:, None], current.shape)
        members = np.zeros((len(current), int(group.max(initial=-1)) + 1))
        np.add.at(members, (rows[moving], group[moving]), 1.0)
        left = self._left(np.where(moving, 0.0, self._kept(current)), moving) if masses else np.ones(len(current))
        return TableGroups(group, members, left)

    def _may(self, shape: tuple[int, ...]) -> Mask:
        return np.ones(shape, np.bool_) if self.allowed is None else np.broadcast_to(np.atleast_2d(self.allowed), shape)

    def _kept(self, current: Floats) -> Floats:
        """The entries that are fixed; what is not allowed is 0, whatever it was."""
        return np.where(self._may(current.shape), current, 0.0)

    @staticmethod
    def _left(base: Floats, moving: Mask) -> Floats:
        """What the fixed entries leave of each row."""
        left = 1.0 - base.sum(axis=1)
        some = moving.any(axis=1)
        if np.any(left < -TABLE_ROUNDING) or np.any(np.abs(left[~some]) > TABLE_ROUNDING):
            row = int(np.argmax(np.where(some, -left, np.abs(left))))
            raise ValueError(
                f"free must leave rows that can sum to 1; the fixed entries of row {row} sum to {1.0 - left[row]:.6g}"
            )
        return np.maximum(left, 0.0)

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None

    def _check_ties(self, name: str) -> None:
        """Entries that are tied must be of one kind."""
        if self.tied is None or not self._has(name):
            return
        labels, mask = np.asarray(self.tied), np.asarray(getattr(self, name))
        split = np.intersect1d(labels[mask & (labels >= 0)], labels[~mask & (labels >= 0)])
        if len(split):
            raise ValueError(
                f"tied and {name} contradict each other: {name} holds for some of the entries tied by {split[0]} only"
            )


class TableGroups(NamedTuple):
    """The groups of tied entries of a table."""

    group: Indices  # (k, m): number of the group of an entry, -1 if it does not move
    members_of_rows: Floats  # (k, groups): entries that a group has in a row
    masses: Floats  # (k,): what the fixed entries leave of a row

    @property
    def size(self) -> int:
        """Number of groups."""
        return self.members_of_rows.shape[1]

    @property
    def members(self) -> Floats:
        """Entries of each group."""
        found: Floats = self.members_of_rows.sum(axis=0)
        return found

    def islands(self) -> Iterator[tuple[Indices, Indices]]:
        """Rows and groups that have nothing to do with the others."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        touching = csr_matrix(self.members_of_rows)
        count, of_row = connected_components(touching @ touching.T, directed=False)
        of_group = of_row[np.argmax(self.members_of_rows > 0, axis=0)] if self.size else np.empty(0, np.intp)
        for island in range(count):
            groups = np.flatnonzero(of_group == island)
            if len(groups):
                yield np.flatnonzero(of_row == island), groups


def solve(layout: TableGroups, counts: Floats, current: Floats) -> Floats:
    """Values of the groups (groups,) of greatest likelihood, given their counts; islands without counts stay."""
    values = current.copy()
    for rows, groups in layout.islands():
        members, masses = layout.members_of_rows[np.ix_(rows, groups)], layout.masses[rows]
        if not counts[groups].sum() > 0:
            continue
        if np.all(members == members[0]):
            if np.ptp(masses) > TABLE_ROUNDING:
                raise ValueError(
                    "tied and free contradict each other: rows "
                    f"{rows.tolist()} share all that moves, and their fixed entries leave {masses.tolist()}"
                )
            values[groups] = masses[0] * counts[groups] / counts[groups].sum() / members[0]
        else:
            values[groups] = _crossing(members, masses, counts[groups], current[groups], rows)
    return values


def _crossing(members: Floats, masses: Floats, counts: Floats, current: Floats, rows: Indices) -> Floats:
    """Values of groups that cross rows, by Newton's method on values, multipliers and their products.

    value * slack = count, slack = members' multipliers, members values = masses. What has no count is held off zero by
    a small product that goes to zero with the steps.
    """
    counts = counts / counts.sum()
    values = np.maximum(current, 1e-3 * masses.mean() / members.sum(axis=1).max())
    pull = np.where(counts > 0, 0.0, values)
    slack = (counts + pull) / values
    multipliers = np.linalg.lstsq(members.T, slack, rcond=None)[0]
    shrink = 1.0
    for _ in range(NEWTON_STEPS):
        shrink = max(0.1 * shrink, 1e-30)
        missing = masses - members @ values
        products = counts + shrink * pull - values * slack
        off = members.T @ multipliers - slack
        if max(np.abs(missing).max(), np.abs(products).max(), np.abs(off).max() * values.max()) < 1e-15:
            break
        system = (members * (values / slack)) @ members.T
        step = np.linalg.lstsq(system, members @ ((products - values * off) / slack) - missing, rcond=1e-15)[0]
        of_slack = members.T @ step + off
        of_values = (products - values * of_slack) / slack
        length = min(1.0, STEP_REACH * _room(values, of_values), STEP_REACH * _room(slack, of_slack))
        values, slack = values + length * of_values, slack + length * of_slack
        multipliers = multipliers + length * step
    values = np.where((counts > 0) | (values > VANISHED_PROBABILITY), values, 0.0)
    for _ in range(3):  # to the last digit: the nearest table, in units of its entries
        system = (members * values) @ members.T
        values = values * (1.0 + members.T @ np.linalg.lstsq(system, masses - members @ values, rcond=None)[0])
    if np.abs(members @ values - masses).max() > TABLE_ROUNDING or values.min() < 0:
        raise ValueError(f"tied, free and allowed contradict each other: no values of rows {rows.tolist()} sum to 1")
    found: Floats = values
    return found


def _room(place: Floats, step: Floats) -> float:
    """How many steps lead to the edge, which is zero."""
    falling = step < 0
    return float(np.min(-place[falling] / step[falling], initial=np.inf))


def _shares(counts: Floats, current: Floats) -> Floats:
    """Counts over their sums; a row without counts stays."""
    totals = counts.sum(axis=-1, keepdims=True)
    found: Floats = np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), current)
    return found


def left_right(k: int, skip: int = 1) -> Mask:
    """Steps to the same state and up to `skip` states on.

    >>> left_right(3).astype(int).tolist()
    [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    """
    ahead = np.arange(k)[None, :] - np.arange(k)[:, None]
    return (ahead >= 0) & (ahead <= skip)


def banded(k: int, width: int) -> Mask:
    """Steps to states at most `width` away.

    >>> banded(3, 1).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    return np.abs(np.arange(k)[None, :] - np.arange(k)[:, None]) <= width
