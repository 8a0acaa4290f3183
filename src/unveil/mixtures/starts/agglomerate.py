"""Greedy agglomeration: of all pairs of groups, merge the one that costs least, until few enough are left.

Each group remembers its cheapest partner and what merging with it costs. A merge changes only what concerns the two
groups that met, so the rest keep what they know: where the partner was one of the two, the old cost is still a lower
bound (the other partners are no cheaper), and the row is measured again only if that bound comes to be the smallest
of all. So the sequence of merges is that of the plain search through all pairs, memory is O(n), and the time is
that of a few n rows of costs instead of n²/2 pairs in each of n steps.

When groups i and j meet, their counts add up and their scatter about the mean becomes

    W = W_i + W_j + c (m_i - m_j)(m_i - m_j)',    c = n_i n_j / (n_i + n_j)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.numerics.jit import kernel
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

LOWEST = float("-inf")
ROUNDING = 1e-12  # a pivot this small against its diagonal is what rounding leaves of zero


@dataclass
class RowGroups:
    """The groups that are left, in the first `size` places of every array."""

    size: int
    counts: Floats  # (g,), sums of weights
    members: NDArray[np.intp]  # (g,), different rows
    means: Floats  # (g, d)
    traces: Floats  # (g,), of the scatter
    scatters: Floats  # (g, d, d), lower triangles; (g, 0, 0) where the criterion does not ask for them

    @classmethod
    def of_rows(cls, rows: Floats, counts: Floats, labels: NDArray[np.intp], scatters: bool) -> RowGroups:
        """Groups 0 to g - 1 of the rows, by their labels."""
        totals = _sums(labels, counts)
        means = np.stack([_sums(labels, counts * column) for column in rows.T], axis=1) / totals[:, None]
        gaps = rows - means[labels]
        traces = _sums(labels, counts * np.einsum("ij,ij->i", gaps, gaps))
        square = (rows.shape[1],) * 2 if scatters else (0, 0)
        groups = cls(len(totals), totals, np.bincount(labels), means, traces, np.zeros((len(totals), *square)))
        for label in np.flatnonzero(groups.members > 1) if scatters else ():
            here = labels == label
            groups.scatters[label] = (gaps[here] * counts[here, None]).T @ gaps[here]
        return groups

    def gaps(self, i: int) -> tuple[Floats, Floats]:
        """c and m_j - m_i for group i and every j."""
        counts = self.counts[: self.size]
        return counts * (counts[i] / (counts + counts[i])), self.means[: self.size] - self.means[i]

    def merge(self, a: int, b: int) -> None:
        """Group b joins group a; the last group moves to the place of b."""
        count = self.counts[a] + self.counts[b]
        gap = self.means[b] - self.means[a]
        scale = self.counts[a] * (self.counts[b] / count)
        self.traces[a] += self.traces[b] + scale * (gap @ gap)
        if self.scatters.shape[1]:
            self.scatters[a] += self.scatters[b] + scale * np.outer(gap, gap)
        self.means[a] += gap * (self.counts[b] / count)
        self.counts[a] = count
        self.members[a] += self.members[b]
        self.size -= 1
        for array in (self.counts, self.members, self.means, self.traces, self.scatters):
            array[b] = array[self.size]


def _sums(labels: NDArray[np.intp], values: Floats) -> Floats:
    """Sums of the values with each label."""
    return np.bincount(labels, values).astype(np.float64)


class Costs(ABC):
    """What merging costs, as the groups are now."""

    @abstractmethod
    def row(self, i: int) -> Floats:
        """(size,), the cost of merging group i with every group; what it says of i itself is not looked at."""

    def before_merge(self, a: int, b: int) -> float:
        """Take note that a and b are about to meet; known costs may fall by this factor, and no further."""
        return 1.0

    def after_merge(self, a: int, b: int) -> None:  # noqa: B027  (most criteria keep nothing of their own)
        """Take note that b has joined a, and that the last group has moved to b."""


def agglomerate(groups: RowGroups, costs: Costs, n_left: int) -> NDArray[np.intp]:
    """(merges, 2): the groups that met, by their first members' numbers, the smaller number first, which lives on."""
    search = _Search(groups, costs)
    names = np.arange(groups.size)
    merges = []
    while groups.size > n_left:
        a, b = search.cheapest()
        merges.append(sorted((int(names[a]), int(names[b]))))
        search.merge(a, b)
        names[a] = merges[-1][0]
        names[b] = names[groups.size]
    return np.array(merges, dtype=np.intp).reshape(-1, 2)


class _Search:
    """For each group its cheapest partner, or at least a lower bound on what that would cost."""

    def __init__(self, groups: RowGroups, costs: Costs) -> None:
        self.groups, self.costs = groups, costs
        self.lowest = np.empty(groups.size)
        self.partner = np.empty(groups.size, np.intp)
        self.exact = np.ones(groups.size, np.bool_)
        for i in range(groups.size if groups.size > 1 else 0):
            self._measure(i)

    def _measure(self, i: int) -> Floats:
        row = self.costs.row(i)
        row[i] = np.inf
        self.partner[i] = best = np.argmin(row)
        self.lowest[i], self.exact[i] = row[best], True
        return row

    def cheapest(self) -> tuple[int, int]:
        """The pair that costs least, the lower place first."""
        while True:
            i = int(np.argmin(self.lowest[: self.groups.size]))
            if self.exact[i]:
                j = int(self.partner[i])
                return min(i, j), max(i, j)
            self._measure(i)

    def merge(self, a: int, b: int) -> None:
        """Merge, and see who minds."""
        factor, last = self.costs.before_merge(a, b), self.groups.size - 1
        self.groups.merge(a, b)
        self.costs.after_merge(a, b)
        for array in (self.lowest, self.partner, self.exact):
            array[b] = array[last]
        lowest, partner, exact = self.lowest[:last], self.partner[:last], self.exact[:last]
        exact &= (partner != a) & (partner != b) & (factor == 1.0)
        partner[partner == last] = b
        lowest *= factor
        if last > 1:
            row = self._measure(a)
            closer = row <= lowest  # also of a bound: nothing else is cheaper then
            closer[a] = False
            lowest[closer], partner[closer], exact[closer] = row[closer], a, True


@kernel
def joint_log_determinants(counts: Any, means: Any, scatters: Any, members: Any, i: int, work: Any, out: Any) -> None:
    """log |W| of group i merged with each other one; -inf where W is singular, as it is up to d members."""
    _join_each(counts, means, scatters, means.shape[1], members, i, work, out)


@kernel
def log_determinant(matrix: Any) -> float:
    """Of a positive matrix by Cholesky, which overwrites its lower triangle; -inf where it is singular."""
    return _log_determinant(matrix, len(matrix))  # type: ignore[no-any-return]


@vector_code()
def _join_each(
    code: Code, counts: Flat, means: Flat, scatters: Flat, columns: Value, members: Flat, i: Value, work: Flat,
    out: Flat,
) -> None:  # fmt: skip
    """What `joint_log_determinants` does, spelled out."""
    square, mean = columns * columns, means.after(i * columns)
    with code.loop(0, out.length) as j:
        out.store(j, code.number(LOWEST))
        known = members[i] + members[j] > columns
        with code.when(j.equals(i).choose(code.truth(False), known)):
            scale, other = counts[i] * (counts[j] / (counts[i] + counts[j])), means.after(j * columns)
            with code.loop(0, columns) as p:
                gap, line = scale * (mean[p] - other[p]), p * columns
                with code.loop(0, p + 1) as q:
                    both = scatters[i * square + line + q] + scatters[j * square + line + q]
                    work.store(line + q, both + gap * (mean[q] - other[q]))
            out.store(j, _log_determinant.spell(code, work, columns))


@vector_code(types.float64)
def _log_determinant(code: Code, matrix: Flat, columns: Value) -> Value:
    """What `log_determinant` does, spelled out."""
    total, regular = Variable(code.number(0.0)), Variable(code.truth(True))
    value, left = Variable(code.number(0.0)), Variable(code.number(0.0))
    with code.loop(0, columns) as p:
        own = matrix.after(p * columns)
        whole = own[p]
        left.set(whole)
        with code.loop(0, p) as q:
            other = matrix.after(q * columns)
            value.set(own[q])
            with code.loop(0, q) as r:
                value.set(value.value - own[r] * other[r])
            value.set(value.value * other[q])  # the diagonal holds reciprocals
            own.store(q, value.value)
            left.set(left.value - value.value * value.value)
        regular.set(regular.value & (left.value > whole * ROUNDING))
        total.set(total.value + left.value.log())
        own.store(p, 1.0 / left.value.root())
    return regular.value.choose(total.value, LOWEST)
