"""All tests of a mixture in one go: the same list for the rows and for every draw of the model.

Each has a figure, by which it is tested, and an effect in nats a row, by which it is told whether it matters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Indices
from unveil.judgement.describes.density.calibration import Described, sample
from unveil.judgement.describes.density.energy import ENERGY_ROWS, FEWEST, energy_distance
from unveil.judgement.describes.density.tables import (
    LevelCodes,
    Levels,
    indicators,
    interactions,
    levels_of,
    shares_of_levels,
)
from unveil.judgement.describes.density.transforms import Uniforms, margin, uniforms
from unveil.judgement.describes.density.uniformity import (
    Uniformity,
    cost_of_mean,
    cost_of_variance,
    divergence,
    uniformity,
)
from unveil.sources.rows import sample_rows

MOST_COLUMNS = 24  # that are looked at one by one
REFERENCE_ROWS = 2048  # of the model, at most, which tables of pairs and distances are set against
REFERENCE_CELLS = 1 << 16  # components times columns times rows of these
COMPONENT_ROWS = 20.0  # that a component must stand for, to be looked at by itself
FULL_SHARE = 5.0  # a component of a fifth of the rows or more matters as much as all of them
FEW_LEVELS = 2  # of yes and no: their shares are met by every fit


class Test(NamedTuple):
    """What is looked at."""

    what: str
    column: int = -1
    other: int = -1
    component: int = -1


class Told(NamedTuple):
    """What a test says: a number that is large where the model is wrong, what that costs a row, and its direction."""

    value: float
    effect: float
    sign: float = 0.0


class Sheet(NamedTuple):
    """The figures of all tests, in their order."""

    values: Floats
    effects: Floats
    signs: Floats


@dataclass(frozen=True)
class Battery:
    """Tests of one mixture: which columns and components are looked at, and how columns are cut."""

    columns: Indices  # that are looked at; all else here counts these from 0
    levels: tuple[Levels, ...]
    components: tuple[int, ...]
    complete: bool  # are there complete rows enough for distances?

    def measure(self, whole: Described, random: np.random.Generator) -> tuple[list[Test], Sheet]:
        """All tests of a table, and what they say."""
        case = restricted(whole, self.columns)
        turned = uniforms(case, random)
        coded = [level.codes(case, x) for level, x in zip(self.levels, case.framed, strict=True)]
        found: list[tuple[Test, Told]] = []
        for level, codes in zip(self.levels, coded, strict=True):
            found += self._alone(case, level, codes, turned)
        found += self._radii(case, turned)
        found += self._together(case, coded, np.random.RandomState(random.integers(1 << 31)))
        tests, figures = zip(*found, strict=True)
        values, effects, signs = np.array(figures).T
        return [self._named(test) for test in tests], Sheet(values, effects, signs)

    def _named(self, test: Test) -> Test:
        """With the numbers that columns have in the table."""
        column, other = (int(self.columns[one]) if one >= 0 else -1 for one in (test.column, test.other))
        return test._replace(column=column, other=other)

    def _alone(self, case: Described, level: Levels, codes: LevelCodes, turned: Uniforms) -> list[tuple[Test, Told]]:
        """One column: by itself, and given those before it."""
        column = level.column
        found = _counted(case, level, codes) if codes.u is None else _smooth(column, case, codes.u)
        if column > 0 and level.count > FEW_LEVELS:
            found.append((Test("turn", column), _whole(uniformity(turned.in_turn[column], case.weights))))
        return found

    def _radii(self, case: Described, turned: Uniforms) -> list[tuple[Test, Told]]:
        """Distances from the centres of components."""
        found: list[tuple[Test, Told]] = []
        if turned.radius is None:
            return found
        for component in self.components:
            shares = case.weights * turned.responsibilities[component]
            weight = min(1.0, FULL_SHARE * float(shares.sum() / case.weights.sum()))
            told = uniformity(turned.radius[component], shares)
            whole, tails = _whole(told), _tails(_outer(turned.radius[component], shares))
            found.append((Test("radius", component=component), whole._replace(effect=weight * whole.effect)))
            found.append((Test("radius tails", component=component), tails._replace(effect=weight * tails.effect)))
        return found

    def _together(
        self, case: Described, coded: list[LevelCodes], state: np.random.RandomState
    ) -> list[tuple[Test, Told]]:
        """Pairs of columns, and all of them."""
        each = case.model.n_components * case.rows.shape[1]
        rows = sample(case, int(np.clip(REFERENCE_CELLS // each, ENERGY_ROWS, REFERENCE_ROWS)), state)
        model = replace(case, rows=rows, weights=np.ones(len(rows)))
        found = self._pairs(case, coded, model) if len(self.levels) > 1 else []
        if self.complete:
            whole = np.flatnonzero(~np.isnan(case.rows).any(axis=1))
            whole = whole[sample_rows(len(whole), min(len(whole), ENERGY_ROWS), 0)]  # tables may be sorted
            embed = case.model.family.embed
            seen, drawn = embed(case.rows[whole]), embed(rows[:ENERGY_ROWS])
            distance = case.rows.shape[1] * energy_distance(seen, case.weights[whole], drawn)
            found.append((Test("distance"), _left(distance)))
        return found

    def _pairs(self, case: Described, coded: list[LevelCodes], model: Described) -> list[tuple[Test, Told]]:
        expected = [level.codes(model, x) for level, x in zip(self.levels, model.framed, strict=True)]
        sizes = [level.count for level in self.levels]
        left = interactions(indicators(coded, sizes), case.weights, indicators(expected, sizes), sizes)
        pairs = np.transpose(np.triu_indices(len(sizes), 1)).tolist()
        return [(Test("pair", *pair), _left(float(left[*pair]))) for pair in pairs]


def restricted(case: Described, columns: Indices) -> Described:
    """The table and the mixture of some columns."""
    model, params = case.model, case.params
    if len(columns) == case.rows.shape[1]:
        return case
    family, components = model.family.marginal(params.components, columns)
    fewer = replace(model, family=family, shift=model.shift[columns])
    return Described(fewer, replace(params, components=components), case.rows[:, columns], case.weights)


def battery_of(case: Described, random: np.random.Generator) -> Battery:
    """The tests that suit a table and a mixture."""
    columns = _chosen(case.rows.shape[1], random)
    shares = case.params.weights * case.n_rows
    fewer = restricted(case, columns)
    complete = int(np.sum(~np.isnan(fewer.rows).any(axis=1))) >= FEWEST
    supported = tuple(int(one) for one in np.flatnonzero(shares >= COMPONENT_ROWS))
    return Battery(columns, tuple(levels_of(fewer, place) for place in range(len(columns))), supported, complete)


def _chosen(n_columns: int, random: np.random.Generator) -> Indices:
    if n_columns <= MOST_COLUMNS:
        return np.arange(n_columns)
    return np.sort(random.choice(n_columns, MOST_COLUMNS, replace=False))


def _smooth(column: int, case: Described, u: Floats) -> list[tuple[Test, Told]]:
    """A column of numbers."""
    told = uniformity(u, case.weights)
    return [(Test("margin", column), _whole(told)), (Test("tails", column), _tails(told.tails))]


def _counted(case: Described, level: Levels, codes: LevelCodes) -> list[tuple[Test, Told]]:
    """A column of levels: their shares; of counts the variance and the zeros too."""
    expected, shares = level.expected(case), shares_of_levels(codes, case.weights, level.count)
    found = [(Test("margin", level.column), _left(divergence(shares, expected)))]
    if case.model.family.is_lattice(level.column) and level.count > FEW_LEVELS:
        found.append((Test("dispersion", level.column), _dispersion(case, level.column)))
        found.append((Test("zeros", level.column), _zeros(case, level.column)))
    return found


def _dispersion(case: Described, column: int) -> Told:
    """The variance of counts over that of the model, which is summed up over its distribution."""
    cells = case.rows[:, column]
    there = ~np.isnan(cells)
    shares = case.weights[there] / case.weights[there].sum()
    mean = float(shares @ cells[there])
    variance = float(shares @ (cells[there] - mean) ** 2)
    grid = np.arange(4.0 * float(np.max(cells[there], initial=1.0)) + 20.0)
    beyond = 1.0 - margin(case, column, grid)  # P(X > x): E[X] = sum, E[X^2] = sum (2x + 1) P(X > x)
    first, second = float(beyond.sum()), float(beyond @ (2.0 * grid + 1.0))
    ratio = max(variance, 1e-12) / max(second - first**2, 1e-12)
    return Told(abs(float(np.log(ratio))), cost_of_variance(ratio), float(np.sign(ratio - 1.0)))


def _zeros(case: Described, column: int) -> Told:
    """The share of zeros against that of the model."""
    cells = case.rows[:, column]
    there = ~np.isnan(cells)
    seen = float(case.weights[there] @ (cells[there] == 0) / case.weights[there].sum())
    expected = float(margin(case, column, np.zeros(1))[0])
    cost = divergence(np.array([seen, 1.0 - seen]), np.array([expected, 1.0 - expected]))
    return _left(cost)._replace(sign=float(np.sign(seen - expected)))


def _left(cost: float) -> Told:
    return Told(float(np.sqrt(max(cost, 0.0))), cost)


def _whole(told: Uniformity) -> Told:
    return Told(float(np.sqrt(max(told.distance, 0.0))), told.nats)


def _tails(excess: float) -> Told:
    return Told(abs(excess), cost_of_mean(excess), float(np.sign(excess)))


def _outer(radius: Floats, shares: Floats) -> float:
    """The mean of -log(1 - u) less 1: how far out rows lie."""
    there = ~np.isnan(radius) & (shares > 0)
    kept = np.maximum(1.0 - radius[there], 1e-12)
    return float(shares[there] @ -np.log(kept) / max(float(shares[there].sum()), 1e-300)) - 1.0
