"""Components are not yet clusters: which components of a mixture are one group, and whether the groups are there.

Several components may describe one group whose shape none of them has: a ring, a skewed cloud, heavy tails. Components
without a hill of their own go with the hill that they stand on (`modes`); hills without a valley between them are one
cluster (`valley`, `linkage`). Where there are few rows for so many columns a line between two groups can be found in
any cloud, so lines are laid by rows and looked at along others (`refits`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.core.protocols import Block
from unveil.families.columns.ellipses import Ellipses
from unveil.judgement.case import Answer, Case
from unveil.judgement.real.axes import Axes
from unveil.judgement.real.even import even_rows
from unveil.judgement.real.linkage import APART, Links, linked
from unveil.judgement.real.modes import hills
from unveil.judgement.real.refits import Refits
from unveil.judgement.real.valley import OPEN, Valley, valley_between
from unveil.judgement.real.words import findings_of, only_one

FEWEST = 8  # rows of a group: fewer are outliers, wherever they lie
ENOUGH_ROWS = 20  # for each column, of two components, to lay a line between them by the same rows
PURPOSE = 3  # of random numbers: unlike those that others draw


def examine_groups(case: Case) -> Answer:
    """Are the groups of a mixture real?"""
    k = len(case.model.weights_)
    if k < 2:
        return Answer((only_one(),), (0,))
    groups = Groups(case)
    return Answer(tuple(findings_of(groups)), tuple(int(cluster) for cluster in groups.clusters()))


@dataclass(frozen=True)
class Groups:
    """The components of a fitted mixture as clusters; each part is there from its first use on."""

    case: Case

    @cached_property
    def fitted(self) -> Any:
        """The mixture."""
        return self.case.model._mixture()

    @cached_property
    def rows(self) -> Floats:
        """Rows without rounding, repetitions and, in columns with a centre, missing cells."""
        rows, weights = self.case.rows
        columns = [each.columns for each in self._ellipses]
        numbers = np.concatenate(columns) if columns else np.arange(0)
        whole = ~np.isnan(rows[:, numbers]).any(axis=1)
        if not whole.all() and whole.sum() < len(rows) / 2.0:
            rows = np.asarray(self.fitted.model.complete(self.fitted.plan, Block(0, 0, rows), _exact()))
        elif not whole.all():
            rows, weights = rows[whole], None if weights is None else weights[whole]
        return even_rows(rows, weights, numbers, self.case.random(PURPOSE, 0))[0]

    @cached_property
    def joint(self) -> Floats:
        """log p(x, component) of the rows, (rows, components)."""
        found: Floats = self.fitted.model.log_joint(self.fitted.plan, Block(0, 0, self.rows))
        return found

    @cached_property
    def large(self) -> NDArray[np.intp]:
        """Components that enough rows belong to."""
        sizes = np.bincount(np.argmax(self.joint, axis=1), minlength=self.joint.shape[1])
        return np.flatnonzero(sizes >= FEWEST)

    @cached_property
    def homes(self) -> NDArray[np.intp]:
        """The component on whose hill each stands; small ones go with the one that is likeliest for their rows."""
        k = self.joint.shape[1]
        homes = np.arange(k)
        if len(self.large) == 0:
            return np.zeros(k, dtype=np.intp)
        homes[self.large] = self.large[self._hills[0]]
        shares = softmax(self.joint, axis=1)
        for small in np.setdiff1d(np.arange(k), self.large):
            among = shares[:, small] @ softmax(self.joint[:, self.large], axis=1)
            homes[small] = homes[self.large[int(np.argmax(among))]]
        return homes

    @cached_property
    def peaks(self) -> Floats:
        """Density at the top of the hill of each component, as a share of the highest; all alike where unknown."""
        peaks = np.ones(self.joint.shape[1])
        if len(self.large):
            peaks[self.large] = np.exp(self._hills[1] - self._hills[1].max())
        return peaks

    @cached_property
    def labels(self) -> NDArray[np.intp]:
        """The hill of each row."""
        return self.homes[self.large[np.argmax(self.joint[:, self.large], axis=1)]]

    @cached_property
    def links(self) -> Links:
        """The valley between each two hills."""
        axes, random = Axes(self.fitted, self.rows), self.case.random(PURPOSE, 1)
        tops = np.unique(self.homes[self.large])
        return {pair: self._valley(axes, *pair, random) for pair in combinations(map(int, tops), 2)}

    @cached_property
    def refits(self) -> Refits:
        """Fits to parts of the rows."""
        return Refits(self.case.model, self.rows, self.joint, self.case.random(PURPOSE, 2))

    def clusters(self, apart: float = APART) -> NDArray[np.intp]:
        """The cluster of each component, the one of most rows first."""
        if len(self.large) == 0:
            return np.zeros(self.joint.shape[1], dtype=np.intp)
        groups = linked(self.links, self.peaks, np.unique(self.homes[self.large]), apart)
        groups.sort(key=lambda group: -np.isin(self.labels, group).sum())
        number = {member: place for place, group in enumerate(groups) for member in group}
        return np.array([number[int(home)] for home in self.homes], dtype=np.intp)

    @property
    def undecided(self) -> bool:
        """Whether there is one cluster, and would be more if a valley were taken for real that may be luck."""
        return self.clusters().max() == 0 and self.clusters(OPEN).max() > 0

    @property
    def _ellipses(self) -> tuple[Ellipses, ...]:
        model, params = self.fitted.model, self.fitted.params
        found: tuple[Ellipses, ...] = model.family.within.ellipses(params.components)
        return found

    @cached_property
    def _hills(self) -> tuple[NDArray[np.intp], Floats]:
        """Of the large components: the place among them of the one on top, and log-densities there."""
        n_columns = self.rows.shape[1]
        whole = [each for each in self._ellipses if len(each.columns) == n_columns]
        if not whole:
            return np.arange(len(self.large)), np.zeros(len(self.large))
        _, means, matrices = whole[0]
        weights = self.fitted.params.weights[self.large]
        found = hills(weights, Ellipses(np.arange(n_columns), means[self.large], matrices[self.large]))
        return found.homes, found.heights

    def _valley(self, axes: Axes, one: int, other: int, random: np.random.Generator) -> Valley:
        rows = np.flatnonzero((self.labels == one) | (self.labels == other))
        second = self.labels[rows] == other
        found = valley_between(axes.between(one, other, rows, random), second)
        if found.chance > OPEN or len(rows) >= ENOUGH_ROWS * self.rows.shape[1]:
            return found
        places, second = self.refits.places(one, other, self.homes, random)
        enough = min(np.count_nonzero(second), np.count_nonzero(~second)) >= FEWEST
        unseen = valley_between(places, second) if enough else Valley(1.0, 1.0)
        return unseen if unseen.chance > found.chance else found


def _exact() -> Any:
    from unveil.expectations import Exact

    return Exact()
