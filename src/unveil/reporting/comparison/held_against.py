"""A new table held against what the report makes of the old one: its groups, and rows that fit none of them.

The mixture is the one that a report on the old table would choose, fitted to at most 20,000 of its rows. The new table
is read by the old one's recipe, so that a column is to both what it was to the first.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.reporting.comparison.groups import GroupShare, Misfits, held_out_scores, misfits, shares
from unveil.reporting.study.analysis import homes, is_grouped, judged_mixture
from unveil.reporting.study.groups import grouping, told
from unveil.reporting.study.modelling import Modelled, refitted
from unveil.reporting.study.placed import PlacedRows, placed
from unveil.reporting.study.rows import ModelRows, model_rows
from unveil.reporting.study.settings import Settings
from unveil.reporting.words import apart, listed
from unveil.tables.prepared import Prepared
from unveil.tables.table import Table

MOST_FITTED = 20_000  # rows of the old table that the mixture is fitted to: enough for nine groups of many columns
LEAST_ROWS = 2  # that say something, on either side


class HeldAgainst(NamedTuple):
    """Groups of the old table in both, in words too, rows of the new one that no longer fit, and remarks."""

    groups: tuple[GroupShare, ...] = ()
    described: tuple[str, ...] = ()
    misfits: Misfits | None = None
    row_names: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def held_against(then: Prepared, new: Table, settings: Settings) -> HeldAgainst:
    """The new table in terms of the old one; a remark where that cannot be."""
    if not then.names:
        return HeldAgainst(remarks=("No column of the old table can be modelled, so groups were not looked for.",))
    gone = [name for name in then.names if name not in new.names]
    if gone:
        words = f"the new table has no column {listed([repr(name) for name in gone])}"
        return HeldAgainst(remarks=(f"Groups and rows were not compared: {words}.",))
    try:
        now = then.recipe.apply(new)
    except ValueError as error:
        return HeldAgainst(remarks=(f"Groups and rows were not compared: {error}.",))
    rows = model_rows(then)
    if min(rows.n_rows, now.rows_used) < LEAST_ROWS:
        return HeldAgainst(remarks=("Groups and rows were not compared: too few rows hold something.",))
    mixture = _OldMixture(then, rows, settings)
    later = model_rows(now.with_transforms(mixture.transforms))
    before, after = mixture.placed(mixture.rows), mixture.placed(later)
    found = misfits(mixture.unseen(), after.log_density)
    found = found._replace(rows=later.places[found.rows - 1] + 1)
    names = now.row_names
    return HeldAgainst(
        *_groups(mixture, before, after),
        misfits=found,
        row_names=() if names is None else tuple(str(names[row - 1]) for row in found.rows),
        remarks=_remarks(mixture),
    )


@final
class _OldMixture:
    """The mixture that a report on the old table would choose, and the rows that it was fitted to."""

    def __init__(self, then: Prepared, rows: ModelRows, settings: Settings) -> None:
        self.settings = settings
        self.found: Modelled = judged_mixture(then, rows.sample(MOST_FITTED, settings.seed), settings)
        pairs = zip(self.found.rows.names, self.found.rows.transforms, strict=True)
        self.transforms = {name: word for name, word in pairs if word}
        self.rows = rows.logged(tuple(self.transforms))

    @property
    def clusters(self) -> NDArray[np.intp]:
        """Group of each component: all in one where there are no groups."""
        if self.found.judged.n_clusters == 1:
            return np.zeros(len(self.found.model.weights_), dtype=np.intp)
        return homes(self.found)

    @property
    def clear(self) -> bool:
        """Are the groups real, or are they no more than parts of a density?"""
        return is_grouped(self.found)

    def placed(self, rows: ModelRows) -> PlacedRows:
        """Where the mixture puts rows, and how likely they are."""
        return placed(self.found.model, rows, self.clusters)

    def unseen(self) -> Floats:
        """Log-densities of old rows under fits that have not seen them."""
        fitted = self.found.rows
        others = np.setdiff1d(self.rows.places, fitted.places)
        if len(others) >= MOST_FITTED:
            return self.placed(self.rows.taken(np.searchsorted(self.rows.places, others))).log_density

        def scores(seen: NDArray[np.intp], unseen: NDArray[np.intp]) -> Floats:
            model = refitted(self.found.model, fitted.taken(seen), self.settings)
            return placed(model, fitted.taken(unseen), self.clusters).log_density

        return held_out_scores(scores, fitted.n_rows)


def _groups(
    mixture: _OldMixture, before: PlacedRows, after: PlacedRows
) -> tuple[tuple[GroupShare, ...], tuple[str, ...]]:
    """Groups with their shares in both tables, and what sets each apart."""
    n_groups = int(mixture.clusters.max()) + 1
    if n_groups == 1:
        return (), ()
    described = {one.number: one for one in grouping(mixture.rows, before, n_groups).groups}
    words = [
        apart(told(described[g].apart), mixture.rows) if g in described else "no rows of the old table"
        for g in range(n_groups)
    ]
    return tuple(shares(before.group, after.group, n_groups)), tuple(words)


def _remarks(mixture: _OldMixture) -> tuple[str, ...]:
    found: list[Any] = []
    if mixture.rows.n_rows > MOST_FITTED:
        found += [f"The old table was modelled by {MOST_FITTED:,} of its rows."]
    if mixture.clusters.max() == 0:
        found += ["The old table is one group, so there are no shares of groups to compare."]
    elif not mixture.clear:
        found += [
            "Whether the groups of the old table are real is not clear; they are parts of a density that fits it."
        ]
    return tuple(found)
