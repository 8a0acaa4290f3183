"""A table of numbers, codes and rates with cells missing anywhere: parameters as one vector, passes in compiled calls.

What `unveil.families.kernels.cells` computes, in the words of families. Rows are laid out once (by what numbers they
lack, where these go with each other), so that a pass makes nothing anew. Vectors and sums, one after the other:

    vector   weights (k,), means (k, d), spread (k, d, d) or (k, d), probabilities (k, levels), means of rates (k, q)
    sums     the same, with codes that are missing as a last level; rates seen (k, q), numbers seen (k, d) if need be
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.families.kernels.cells import expect_rows, maximise_rows
from unveil.families.kernels.missing import Ordered, cut_at_tiles, tile_of
from unveil.families.small.cell_kinds import CellKind, CodeCells, NumberCells, RateCells
from unveil.families.small.table import LEAST_SPREAD, GaussianTable
from unveil.numerics.missing_patterns import find_patterns

if TYPE_CHECKING:
    from unveil.families.base import Family

LOWEST_PROBABILITY = 1e-12  # as `unveil.families.independent` has it
MOST_PROFILES = 512  # of columns of codes that are looked up together: a component's fit in a cache of the first level
ROWS_OF_A_PROFILE = 8  # at least, on average, so that they cost little against the rows


class CellGroups(NamedTuple):
    """Groups of columns by what they are, each with its columns."""

    numbers: tuple[tuple[NumberCells, tuple[int, ...]], ...]
    codes: tuple[tuple[CodeCells, tuple[int, ...]], ...]
    rates: tuple[tuple[RateCells, tuple[int, ...]], ...]
    order: tuple[tuple[int, int], ...]  # of each of the family's groups: which of the three, and its place there


def cell_groups(family: Family, n_columns: int) -> CellGroups | None:
    """The groups of a family; None where one is of another kind, or numbers are of more than one."""
    found: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    order = []
    for own, columns in family.groups(n_columns):
        kind: CellKind | None = own.cell_kind(len(columns))
        if kind is None:
            return None
        which = (NumberCells, CodeCells, RateCells).index(type(kind))
        order.append((which, len(found[which])))
        found[which].append((kind, columns))
    numbers, codes, rates = map(tuple, found)
    return CellGroups(numbers, codes, rates, tuple(order)) if len(numbers) < 2 else None


@dataclass(frozen=True, eq=False)
class CellRows:
    """Rows laid out: nothing of it depends on parameters, structures or weights."""

    x: Floats  # (d, n) numbers in the frame, 0 where missing
    there: Floats  # (d, n)
    order: NDArray[np.intp]  # numbers of the rows in this order
    patterns: Ordered
    profiles: NDArray[np.int32]  # (p, n), codes of several columns at once
    members: NDArray[np.int32]  # (profiles, columns), the levels that each is made of; the last where there is none
    starts: NDArray[np.intp]  # (c + 1,) first level of each column, and the end
    values: Floats  # (q, n), 0 where missing
    counted: Floats  # (q, n)
    waiting: NDArray[np.bool_]  # (q,)
    log_base: Floats | None  # (n,), in the order of the table
    shift: Floats  # what was taken off the rows

    @classmethod
    def of(cls, family: Family, groups: CellGroups, rows: Floats, shift: Floats) -> CellRows | None:
        """Of rows (rows, columns) in the frame; None where one is infinite."""
        if np.isinf(rows).any():
            return None
        numbers = rows[:, [column for _, columns in groups.numbers for column in columns]]
        found = find_patterns(numbers) if numbers.shape[1] else find_patterns(np.zeros((len(rows), 1)))
        order, none = found.order, sum(sum(kind.levels) for kind, _ in groups.codes)
        ordered = np.ascontiguousarray(numbers[order].T)
        patterns = Ordered(ordered.T, np.empty(0), order, found.bounds, found.columns, found.missing)
        first, codes = 0, [np.empty((0, len(rows)), np.int32)]
        for kind, columns in groups.codes:
            codes.append(kind.places(rows[:, list(columns)][order], first, none))
            first += sum(kind.levels)
        levels = [size for kind, _ in groups.codes for size in kind.levels]
        rates = np.ascontiguousarray(rows[order][:, [column for _, columns in groups.rates for column in columns]].T)
        waiting = [kind.waiting for kind, columns in groups.rates for _ in columns]
        return cls(
            np.nan_to_num(ordered),
            (~np.isnan(ordered)).astype(np.float64),
            order,
            patterns,
            *together(np.concatenate(codes), none),
            np.concatenate([[0], np.cumsum(levels)]).astype(np.intp),
            np.nan_to_num(rates),
            (~np.isnan(rates)).astype(np.float64),
            np.array(waiting, dtype=np.bool_),
            family.log_base(np.ascontiguousarray(rows.T)),
            shift,
        )

    def layout(self, k: int, matrices: bool) -> tuple[Any, ...]:
        """Arrays for a pass of so many components, and the rows of a tile: what is written to comes after."""
        d = len(self.x)
        size, cells = tile_of(self.patterns, k)
        cuts, columns, missing = cut_at_tiles(self.patterns, size)
        numbers, codes = (self.x, self.there, cuts, columns, missing), (self.profiles, self.members)
        return (numbers, codes, (self.values, self.counted, self.waiting)), size, cells if matrices and d else 0


def together(codes: NDArray[np.int32], none: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Columns of codes, as many at a time as have few profiles in common: a look-up for all of them at once."""
    most = min(MOST_PROFILES, max(codes.shape[1] // ROWS_OF_A_PROFILE, 1))
    found: list[tuple[NDArray[np.int32], NDArray[np.intp]]] = []
    for column in codes:
        levels, own = np.unique(column, return_inverse=True)
        if found:
            members, places = found[-1]
            pairs, joint = np.unique(places * len(levels) + own, return_inverse=True)
            if len(pairs) <= most:
                found[-1] = np.column_stack([members[pairs // len(levels)], levels[pairs % len(levels)]]), joint
                continue
        found.append((levels[:, None], own))
    if not found:
        return np.empty((0, codes.shape[1]), np.int32), np.empty((0, 0), np.int32)
    widest = max(members.shape[1] for members, _ in found)
    wide = [np.pad(own, ((0, 0), (0, widest - own.shape[1])), constant_values=none) for own, _ in found]
    firsts = np.cumsum([0, *map(len, wide[:-1])])
    profiles = np.stack([places + first for (_, places), first in zip(found, firsts, strict=True)])
    return profiles.astype(np.int32), np.concatenate(wide).astype(np.int32)


def room_for(k: int, d: int, size: int, cells: int, levels: int) -> tuple[Any, ...]:
    """Scratch: y of each component, logits, scores, share times y, row numbers, products; and the number of levels."""
    tall = tuple(np.empty(height * size) for height in (k * d, k, d, d + 1))
    work = (np.empty((d, d)), np.empty((d, d)), np.empty((d, d)), np.empty(cells))
    return *tall, np.empty(size, np.intp), np.empty((d + 1, d)), work, np.zeros((k, d + 1, d)), levels


class CellTable:
    """Laid out rows, as a family sees them."""

    def __init__(self, family: Family, groups: CellGroups, rows: CellRows, weights: Floats | None) -> None:
        self.family, self.groups, self.rows = family, groups, rows
        n = len(rows.order)
        self.weights = np.ones(n) if weights is None else np.ascontiguousarray(weights[rows.order], dtype=np.float64)
        self.d, self.q, self.levels = len(rows.x), len(rows.values), int(rows.starts[-1])
        small = groups.numbers[0][0].family.structure.small if groups.numbers else None
        self.matrices = small is not None and small.matrices
        self.shared = small is not None and small.shared
        self.reg_covar = groups.numbers[0][0].family.reg_covar if groups.numbers else 0.0
        self._layouts: dict[int, Any] = {}

    @classmethod
    def of(cls, family: Family, rows: Floats, weights: Floats | None, shift: Floats) -> CellTable | None:
        """Of rows (rows, columns) in the frame that `shift` was taken off; None for columns of another kind."""
        groups = cell_groups(family, rows.shape[1])
        laid = None if groups is None else CellRows.of(family, groups, rows, shift)
        return None if groups is None or laid is None else cls(family, groups, laid, weights)

    def like(self, family: Family, shift: Floats, weights: Floats | None) -> CellTable | None:
        """The same rows as another family sees them; None where it takes columns for something else."""
        groups = cell_groups(family, self.d + len(self.rows.starts) - 1 + self.q)
        alike = groups is not None and _nature(groups) == _nature(self.groups)
        if groups is None or not alike or not np.array_equal(shift, self.rows.shift):
            return None
        return CellTable(family, groups, self.rows, weights)

    @cached_property
    def weight(self) -> float:
        """Of all rows."""
        return float(self.weights.sum())

    @cached_property
    def base(self) -> float:
        """Weighted sum of log h."""
        return 0.0 if self.rows.log_base is None else float(self.rows.log_base[self.rows.order] @ self.weights)

    @cached_property
    def floor(self) -> Floats:
        """(d,), the smallest variances that a pass goes by."""
        seen = np.maximum(self.rows.there @ self.weights, 1e-300)
        means = self.rows.x @ self.weights / seen
        return LEAST_SPREAD * self.d * (self.rows.there * (self.rows.x - means[:, None]) ** 2 @ self.weights) / seen

    @cached_property
    def least(self) -> Floats:
        """(q,), the smallest means of rates."""
        seen = np.maximum(self.rows.counted @ self.weights, 1e-300)
        means = self.rows.values @ self.weights / seen
        shares = [kind.family.least_mean for kind, columns in self.groups.rates for _ in columns]
        return np.array(shares, dtype=np.float64) * np.where(means > 0, means, 1.0)

    # -- passes --------------------------------------------------------------------------------------------------------

    def sweep(self, vector: Floats, fresh: Floats, sums: Floats) -> float:
        """Log-likelihood at `vector`, its M step, and the sums of the pass; NaN where the general way takes over."""
        bound, k, rows = self.expect(vector, sums), self.n_components(vector), self.rows
        done = maximise_rows(
            vector, sums, k, self.d, rows.starts, self.q, self.least, self.matrices, self.shared, self.reg_covar,
            LOWEST_PROBABILITY, fresh,
        )  # fmt: skip
        return bound + self.base if done else np.nan

    def expect(self, vector: Floats, sums: Floats) -> float:
        """Log-likelihood at `vector`, base measure aside, and the sums."""
        k = self.n_components(vector)
        if k not in self._layouts:
            self._layouts[k] = self.rows.layout(k, self.matrices)
        rows, size, cells = self._layouts[k]
        room = room_for(k, self.d, size, cells, self.levels)
        found = expect_rows(rows, self.weights, vector, k, self.matrices, self.floor, room, sums)
        return float(found)

    # -- vectors -------------------------------------------------------------------------------------------------------

    @property
    def _size(self) -> int:
        return self.d * self.d if self.matrices else self.d

    def n_components(self, vector: Floats) -> int:
        """How many components a vector holds."""
        return len(vector) // (1 + self.d + self._size + self.levels + self.q)

    def empty_sums(self, vector: Floats) -> Floats:
        """Room for the sums of a pass."""
        k = self.n_components(vector)
        return np.zeros(len(vector) + k * (1 + self.q) + (0 if self.matrices else k * self.d))

    def vector(self, weights: Floats, params: Any) -> Floats:
        """Weights and parameters, one after the other."""
        k, parts = len(weights), self._parts(params)
        pieces = [weights]
        for kind, _ in self.groups.numbers:
            own = parts[0][0]
            pieces += [own.means.ravel(), kind.family.structure.written_out(own.covariances, k, self.d).ravel()]
        codes = [one.table(own) for (one, _), own in zip(self.groups.codes, parts[1], strict=True)]
        rates = [each.table(own) for (each, _), own in zip(self.groups.rates, parts[2], strict=True)]
        pieces += [np.concatenate(tables, axis=1).ravel() for tables in (codes, rates) if tables]
        return np.concatenate(pieces)

    def _parts(self, params: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Parameters of the groups, by what they are."""
        found: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for (which, _), own in zip(self.groups.order, self.family.parted(params), strict=True):
            found[which].append(own)
        return found

    def split(self, vector: Floats, more: int = 0) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Weights (k,), means (k, d), spread (k, size), levels (k, levels + more) and rates (k, q), as views."""
        k = self.n_components(vector) if not more else self._sums_components(vector)
        widths = (1, self.d, self._size, self.levels + more, self.q)
        ends = np.cumsum([k * width for width in widths])
        weights, *tables = np.split(vector[: ends[-1]], ends[:-1])
        return weights, *(table.reshape(k, -1) for table in tables)  # type: ignore[return-value]

    def _sums_components(self, sums: Floats) -> int:
        each = 1 + self.d + self._size + self.levels + 1 + 2 * self.q + (0 if self.matrices else self.d)
        return len(sums) // each

    def params(self, vector: Floats, like: Any = None) -> tuple[Floats, Any]:
        """The way back; moments are about the frame's origin, or about those of `like`."""
        weights, means, spread, table, rates = self.split(vector)
        parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for kind, _ in self.groups.numbers:
            rows = GaussianTable(kind.family, self.rows.x, self.weights, self.floor)
            plain = np.concatenate([weights, means.ravel(), spread.ravel()])
            parts[0].append(rows.params(plain, None if like is None else self._parts(like)[0][0])[1])
        for kind, place in _side_by_side(self.groups.codes):
            parts[1].append(kind.params(table[:, place], LOWEST_PROBABILITY))
        for kind, place in _side_by_side(self.groups.rates):
            parts[2].append(kind.params(rates[:, place]))
        return weights.copy(), self.family.joined([parts[which][place] for which, place in self.groups.order])

    def moments(self, vector: Floats, sums: Floats, params: Any) -> Floats:
        """The sums of a pass at `vector` as the family's statistics, missing cells by their expectation."""
        counts, firsts, seconds, table, rates = self.split(sums, 1)
        _, means, spread, chances, rate_means = self.split(vector)
        parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for kind, _ in self.groups.numbers:
            if not self.matrices:
                seen = sums[len(sums) - firsts.size :].reshape(firsts.shape)
                seconds = seconds + (counts[:, None] - seen) * spread
            rows = GaussianTable(kind.family, self.rows.x, self.weights, self.floor)
            plain = np.concatenate([counts, firsts.ravel(), seconds.ravel()])
            entered = np.concatenate([counts, means.ravel(), spread.ravel()])
            parts[0].append(rows.moments(entered, plain, self._parts(params)[0][0]))
        whole = self._whole(counts, table[:, :-1], chances)
        for kind, place in _side_by_side(self.groups.codes):
            parts[1].append(kind.moments(counts, whole[:, place]))
        begin = counts.size + firsts.size + seconds.size + table.size + rates.size
        seen_rates = sums[begin : begin + rates.size].reshape(rates.shape)
        filled = rates + (counts[:, None] - seen_rates) * rate_means
        for _, place in _side_by_side(self.groups.rates):
            parts[2].append(np.concatenate([counts[:, None], filled[:, place]], axis=1))
        return np.concatenate([parts[which][place] for which, place in self.groups.order], axis=1)

    def _whole(self, counts: Floats, seen: Floats, chances: Floats) -> Floats:
        """Weights of levels, what is missing in a column by the probabilities there."""
        starts = self.rows.starts
        if len(starts) < 2:
            return seen
        totals = np.add.reduceat(seen, starts[:-1], axis=1)
        owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        found: Floats = seen + np.maximum(counts[:, None] - totals, 0.0)[:, owners] * chances
        return found

    # -- leaps ---------------------------------------------------------------------------------------------------------

    def raw_moments(self, vector: Floats) -> Floats:
        """(k, statistics): weights, and weights times raw moments and means, whose M step `vector` is."""
        weights, means, spread, table, rates = self.split(vector)
        seconds = spread - self._added() + self._squares(means)
        return weights[:, None] * np.concatenate([np.ones((len(weights), 1)), means, seconds, table, rates], axis=1)

    def m_step(self, moments: Floats) -> Floats | None:
        """The vector whose raw moments these are; None where they could not be those of rows."""
        weights = moments[:, 0].copy()
        if not weights.min() > 0.0:
            return None
        ends = np.cumsum([self.d, self._size, self.levels])
        means, seconds, table, rates = np.split(moments[:, 1:] / weights[:, None], ends, axis=1)
        spread = seconds - self._squares(means)
        if self.shared and self.d:
            mean = weights @ spread / weights.sum() if self.matrices else spread.mean(axis=1, keepdims=True)
            spread = np.broadcast_to(mean, spread.shape)
        table = np.maximum(table, LOWEST_PROBABILITY)
        if table.size:
            owners = np.repeat(np.arange(len(self.rows.starts) - 1), np.diff(self.rows.starts))
            table = table / np.add.reduceat(table, self.rows.starts[:-1], axis=1)[:, owners]
        rates = np.maximum(rates, self.least)
        pieces = (weights / weights.sum(), means, spread + self._added(), table, rates)
        return np.concatenate([piece.ravel() for piece in pieces])

    def is_proper(self, vector: Floats) -> bool:
        """Whether all covariances of a vector are such."""
        spread = self.split(vector)[2]
        if not self.matrices:
            return bool(spread.min(initial=1.0) > 0.0)
        try:
            np.linalg.cholesky(spread.reshape(-1, self.d, self.d))
        except np.linalg.LinAlgError:
            return False
        return True

    def _added(self) -> Floats | float:
        return self.reg_covar * np.eye(self.d).ravel() if self.matrices else self.reg_covar

    def _squares(self, means: Floats) -> Floats:
        if not self.matrices:
            return means**2
        return (means[:, :, None] * means[:, None, :]).reshape(len(means), -1)


def _nature(groups: CellGroups) -> Any:
    """What rows are laid out by."""
    codes = tuple((kind.levels, columns) for kind, columns in groups.codes)
    rates = tuple((kind.waiting, columns) for kind, columns in groups.rates)
    return tuple(columns for _, columns in groups.numbers), codes, rates


def _side_by_side(groups: Sequence[tuple[Any, tuple[int, ...]]]) -> list[tuple[Any, slice]]:
    """Groups with the place of each in a table of all."""
    ends = np.cumsum([0, *(kind.width(len(columns)) for kind, columns in groups)]).tolist()
    return [(kind, slice(*ends[place : place + 2])) for place, (kind, _) in enumerate(groups)]
