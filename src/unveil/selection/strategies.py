"""How the combinations of a grid are fitted and which one is kept: each for itself, or clusterings of growing size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Asking, at_once
from unveil.judgement.criteria.clusterings import BIC, CLUSTERINGS, INERTIA, SILHOUETTE, VOTES, opinion_of
from unveil.judgement.criteria.criteria import CRITERIA, Criterion, pick_criterion
from unveil.judgement.criteria.fits import fitting
from unveil.judgement.criteria.held_out import HELD_OUT
from unveil.judgement.criteria.opinions import SIZE, Choice
from unveil.judgement.criteria.study import Study
from unveil.selection.outcome import merit
from unveil.selection.path import ClusterPath
from unveil.selection.weighing import best_known, follow, weigh

Grid = Mapping[str, tuple[Any, ...]]
Table = list[dict[str, Any]]
FIXED = {
    rule.name: rule for rule in (replace(INERTIA, trend="", opine=None), BIC, replace(SILHOUETTE, also={}))
}  # at one size


class Separate:
    """Every combination for itself; only the best model so far is kept."""

    def __init__(self, estimator: Any, study: Study, criterion: str, criteria: Mapping[str, Criterion]) -> None:
        self.estimator, self.study = estimator, study
        self.rule = pick_criterion(criterion, estimator, criteria)
        told = [measure for measure in criteria.values() if measure.defined_for(estimator)]
        self.measures = [measure for measure in told if measure is self.rule or not measure.costly]
        self.kept: tuple[Any, dict[str, Any]] = (None, {})
        self.worth: tuple[bool, float, int] = (False, -np.inf, 0)

    def order(self, combinations: Sequence[dict[str, Any]]) -> list[int]:
        """As they come."""
        return list(range(len(combinations)))

    def fitting(self, params: dict[str, Any]) -> Asking[tuple[Any, Mapping[str, float]]]:
        """A fresh fit, and what is known of it by the way."""
        return fitting(self.estimator, params, self.study.X, self.study.sample_weight)

    def keep(self, model: Any, row: dict[str, Any], place: int) -> None:
        """Keep the better one, of equals that which comes first."""
        worth = (*merit(self.rule, row), -place)
        if not self.kept[1] or worth > self.worth:
            self.kept, self.worth = (model, row), worth

    def best(self, table: Table) -> tuple[int, Any, Choice | None]:
        """The one that was kept."""
        model, best = self.kept  # there is one: this is asked only when something could be fitted
        return next(place for place, row in enumerate(table) if row is best), model, None


class Growing:
    """Numbers of clusters from small to large, each from the one before; all are kept until every criterion spoke."""

    def __init__(self, estimator: Any, study: Study, criterion: str) -> None:
        self.estimator, self.study = estimator, study
        self.rule = pick_criterion(criterion, estimator, CLUSTERINGS)
        self.measures = [measure for measure in CLUSTERINGS.values() if measure.defined_for(estimator)]
        self.paths: dict[str, ClusterPath] = {}
        self.kept: list[tuple[Any, dict[str, Any]]] = []

    def order(self, combinations: Sequence[dict[str, Any]]) -> list[int]:
        """Fewer clusters first."""
        return sorted(range(len(combinations)), key=lambda place: (_number(combinations[place][SIZE]), place))

    def fit(self, params: dict[str, Any]) -> Any:
        """The next step of the path that these other parameters are on."""
        return self.paths.setdefault(_others(params), ClusterPath(self.estimator, self.study)).grow(params)

    def fitting(self, params: dict[str, Any]) -> Asking[tuple[Any, Mapping[str, float]]]:
        """The same; it asks for nothing, since the next one goes on from it."""
        return at_once(lambda: (self.fit(params), {}))

    def keep(self, model: Any, row: dict[str, Any], place: int = 0) -> None:
        """Keep it."""
        self.kept.append((model, row))

    def best(self, table: Table) -> tuple[int, Any, Choice | None]:
        """The best of the choices along each path."""
        chosen = [self._choose(line) for line in self._lines(table)]
        choice, row = max(chosen, key=lambda pair: merit(self.rule, pair[1]))
        place = next(place for place, other in enumerate(table) if other is row)
        return place, next(model for model, other in self.kept if other is row), choice

    def _lines(self, table: Table) -> list[Table]:
        """Fitted rows that differ in the number of clusters only, by that number."""
        names = [name for name in table[0] if name in self.estimator.get_params()]
        lines: dict[str, Table] = {}
        for _, row in sorted(self.kept, key=lambda pair: int(pair[1][SIZE])):
            lines.setdefault(_others({name: row[name] for name in names}), []).append(row)
        return list(lines.values())

    def _choose(self, line: Table) -> tuple[Choice, dict[str, Any]]:
        """What the criteria make of one line, and the row they choose."""
        for measure in self.measures:
            measure.settle(line)
        told = [opinion for measure in self.measures if (opinion := opinion_of(measure, line)) is not None]
        fallback = best_known(line, self.rule.name, self.rule.sign)
        choice = weigh(told, line) if self.rule is VOTES else follow(self.rule.name, told, line, fallback)
        for row in line:
            row["votes"] = choice.votes[int(row[SIZE])]
        return choice, next(row for row in line if row[SIZE] == choice.size)


Strategy = Separate | Growing


def strategy_for(estimator: Any, X: Any, weights: NDArray[np.float64] | None, grid: Grid, criterion: str) -> Strategy:
    """Clusterings grow where their number of clusters is in question; all else is fitted for itself."""
    study = Study(estimator, X, weights)
    known = estimator.get_params()
    if SIZE not in known:
        return Separate(estimator, study, criterion, CRITERIA | {HELD_OUT.name: HELD_OUT})
    if SIZE not in grid:
        return Separate(estimator, study, criterion, FIXED)
    return Growing(estimator, study, criterion)


def _number(value: Any) -> float:
    """A size that may be anything a user wrote; the estimator itself complains."""
    return float(value) if isinstance(value, (int, float, np.number)) else np.inf


def _others(params: Mapping[str, Any]) -> str:
    """All parameters but the number of clusters, as a key."""
    return repr({name: value for name, value in params.items() if name != SIZE})
