"""K-means by K-D tree filtering, for few columns: see `unveil.clusters.assignment.kd_tree_kernel`.

The tree is part of the policy, the lists of its cells are the plan of a pass, and a partition remembers its rows in the
order of the cells. A pass compares every row with the few centres of its cell, and that is all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unveil.clusters.assignment.assign import Assignment, DistanceBounds, Known
from unveil.clusters.assignment.kd_tree_kernel import (
    LANES,
    Lists,
    TreeCells,
    assign_cells,
    grow,
    make_lists,
    sort_rows,
)
from unveil.core.arrays import Array, Floats

NO_BOUNDS = np.empty(0)  # no bounds
TREE_ROWS = 1 << 14  # rows that a tree is grown from


class Listed(NamedTuple):
    """The centres of a pass, and where each may be nearest."""

    centres: Floats
    shift: Floats
    lists: Lists


@dataclass(frozen=True, eq=False)
class KDTree(Assignment):
    """Rows are compared with the centres that a K-D tree leaves over. For few columns.

    Parameters
    ----------
    cells : Cells or None, default=None
        The tree; `ready` grows it.
    most : int, default=16384
        Rows that it is grown from at most: a sixteenth of them is the number of its cells. More cells have shorter
        lists, but there are more lists to make in each pass.
    """

    cells: TreeCells | None = None
    most: int = TREE_ROWS
    learns: ClassVar[bool] = True

    def ready(self, rows: Array, shift: Floats) -> Assignment:
        """With a tree grown from some rows of the table."""
        finite = rows[np.isfinite(rows).all(axis=1)]  # what is not finite is refused later, by name
        some = finite[:: -(-len(finite) // self.most)] if len(finite) else finite
        return KDTree(grow(np.asarray(some - shift, dtype=np.float64)), self.most) if len(some) else self

    def plan(self, centres: Floats, shift: Floats) -> Any:
        """The lists of all cells; without a tree, there is one cell and it lists all."""
        cells = self.cells if self.cells is not None else grow(centres[:1])
        return Listed(centres, shift, make_lists(cells, centres))

    def assign(self, rows: Array, plan: Any, known: Known | None) -> Known:
        """Compare every row with the list of its cell."""
        cells = self.cells if self.cells is not None else grow(plan.centres[:1])
        held = sort_rows(cells, rows, plan.shift) if known is None or self.cells is None else known.kept
        labels, where = np.empty(len(rows), np.int32), np.empty(LANES, np.int32)
        assign_cells(held, plan.lists, plan.centres.reshape(-1), len(plan.shift), where, labels)
        return Known(plan, DistanceBounds(labels, NO_BOUNDS, NO_BOUNDS.reshape(1, 0)), held)
