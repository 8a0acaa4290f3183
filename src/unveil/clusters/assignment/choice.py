"""Which way to find nearest centres suits a table: a rule of its shape alone, so that every route chooses the same.

| columns | clusters | way |
|---|---|---|
| up to 256 | columns times clusters up to 64, or cells times clusters up to 2**23 | every centre, exactly |
| up to 4 | any | K-D tree filtering |
| up to 32 | columns times clusters up to 4096 | Hamerly's bounds over the vector kernel |
| more | at least 16 | Yinyang bounds for groups of centres, over BLAS |
| more | fewer | the plain sweep |

The first of these is for tables of one partition or of cells times clusters up to 2**21, and for larger ones where few
passes are left to make: it learns nothing from one pass for the next. What is remembered for each row must fit in
512 MB, or 128 MB where rows are read from a file, or half of what a limit of memory leaves
(`unveil.core.memory`); else the sweep is plain and remembers nothing but labels.
"""

from __future__ import annotations

from unveil.clusters.assignment.assign import Assignment
from unveil.clusters.assignment.direct import SOON_WORK, Direct, is_direct
from unveil.clusters.assignment.kd_tree import KDTree
from unveil.clusters.assignment.plan import NARROW_COLUMNS
from unveil.clusters.assignment.rules import Hamerly, Plain, Pruned
from unveil.core.partition import partition_count

MEMORY_BYTES = 1 << 29  # bytes that may be remembered
TREE_COLUMNS = 4  # columns up to which boxes rule out most centres
HAMERLY_WORK = 1 << 12  # columns times clusters up to which sweeping a row is cheaper than finer bounds
TREE_ROWS_PER_CLUSTER = 256  # for each cluster that the tree is grown from: sixteen cells
YINYANG_CLUSTERS = 16  # clusters below which every row is looked at anyway


def choose(
    n_rows: int, n_columns: int, n_clusters: int, brief: bool = False, room: float = MEMORY_BYTES
) -> Assignment:  # fmt: skip
    """The policy for a table; if it is to be `brief`, one that pays from the first pass on.

    No more than `room` bytes are remembered, but for four of each row, for its label.

    >>> from unveil.clusters.assignment.choice import choose
    >>> choose(200_000, 64, 500), choose(200_000, 2, 100), choose(10**9, 2, 100), choose(150, 4, 3)
    (Pruned(groups=8), KDTree(cells=None, most=16384), Plain(thrifty=True), Direct())
    >>> choose(20_000, 8, 50), choose(20_000, 8, 50, brief=True)
    (Hamerly(), Direct())
    """
    soon = partition_count(n_rows, n_columns) == 1 or n_rows * n_columns * n_clusters <= SOON_WORK
    if (soon or brief) and is_direct(n_rows, n_columns, n_clusters):
        return Direct()
    for policy, suits, cell, row in (
        (KDTree(most=min(max(TREE_ROWS_PER_CLUSTER * n_clusters, 1 << 10), 1 << 14)), n_columns <= TREE_COLUMNS, 8, 64),
        (Hamerly(), n_columns <= NARROW_COLUMNS and n_columns * n_clusters <= HAMERLY_WORK, 4, 12),
        (Pruned(), n_clusters >= YINYANG_CLUSTERS, 0, 4 * (Pruned().groups + 2)),
    ):
        if suits:
            return policy if n_rows * (cell * n_columns + row) <= room else Plain(thrifty=True)
    return Plain(thrifty=4 * n_rows * n_columns > room)
