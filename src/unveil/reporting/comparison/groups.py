"""Groups of the old table in the new one: whose share grew, and which rows fit none of them.

The mixture is fitted to the old rows. Rows that it has not seen are less likely under it than those that it has, so
what is likely is measured on old rows that were held out (five folds; or, of a large
table, the rows beyond those that it is fitted to). A row of the new table no longer fits if it is less likely than all
but 0.1% of them; where there are fewer than a thousand, than all of them. If nothing has changed, rows of both tables
come in any order, so how many of the new ones are that unlikely is beta-binomial, whatever the density.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

UNLIKELY = 0.001  # the share of old rows that are less likely than a row that still fits
FOLDS = 5
LEVEL = 0.05  # of a hundred pairs of equal tables, five have a group whose interval leaves out no change


class GroupShare(NamedTuple):
    """A group: rows of then and of now in it, and the change of its share with an interval."""

    group: int
    then: int
    now: int
    share_then: float
    share_now: float
    low: float
    high: float

    @property
    def changed(self) -> bool:
        """Does the interval of the change leave out none?"""
        return self.low > 0 or self.high < 0


class Misfits(NamedTuple):
    """Rows of now that no longer fit: the log-density below which that is so, how many by chance, and which."""

    threshold: float
    expected: float
    p: float  # how often as many would come by chance
    rows: NDArray[np.int64]  # numbers of the rows from 1, the least likely first
    log_density: Floats


def shares(then: NDArray[np.integer], now: NDArray[np.integer], groups: int) -> list[GroupShare]:
    """Groups with their shares; intervals hold for all of them together."""
    before, after = np.bincount(then, minlength=groups), np.bincount(now, minlength=groups)
    level = LEVEL / max(groups if groups > 2 else 1, 1)  # of two groups one says all
    found = []
    for group in range(groups):
        low, high = difference(int(before[group]), len(then), int(after[group]), len(now), level)
        share = float(before[group] / len(then)), float(after[group] / len(now))
        found.append(GroupShare(group, int(before[group]), int(after[group]), *share, low, high))
    return found


def difference(k: int, n: int, j: int, m: int, level: float = LEVEL) -> tuple[float, float]:
    """An interval for j/m - k/n, by the scores of both shares (Newcombe 1998, method 10)."""
    from scipy.stats import norm

    z = float(norm.isf(level / 2))
    (old, old_low, old_high), (new, new_low, new_high) = _wilson(k, n, z), _wilson(j, m, z)
    below, above = np.hypot(new - new_low, old_high - old), np.hypot(new_high - new, old - old_low)
    return float(new - old - below), float(new - old + above)


def _wilson(k: int, n: int, z: float) -> tuple[float, float, float]:
    """A share, and Wilson's interval for it."""
    share = k / n
    middle, half = share + z * z / (2 * n), z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return share, float((middle - half) / (1 + z * z / n)), float((middle + half) / (1 + z * z / n))


def misfits(held_out: Floats, now: Floats) -> Misfits:
    """Rows of now that are less likely than old rows which the model had not seen."""
    from scipy.stats import betabinom

    n, m = len(held_out), len(now)
    rank = max(1, int(UNLIKELY * (n + 1)))
    threshold = float(np.sort(held_out)[rank - 1])
    below = np.flatnonzero(now < threshold)
    order = below[np.argsort(now[below], kind="stable")]
    p = float(betabinom.sf(len(below) - 1, m, rank, n + 1 - rank)) if len(below) else 1.0
    return Misfits(threshold, m * rank / (n + 1), p, order + 1, now[order])


def held_out_scores(scores: Callable[[NDArray[np.intp], NDArray[np.intp]], Floats], n: int) -> Floats:
    """Log-densities of `n` rows, each under a fit that has not seen its fold.

    `scores` takes the numbers of rows that are fitted to, and of those that are asked for.
    """
    fold = np.random.default_rng(0).permutation(n) % FOLDS
    found = np.empty(n)
    for number in range(min(FOLDS, n)):
        inside = np.flatnonzero(fold == number)
        found[inside] = scores(np.flatnonzero(fold != number), inside)
    return found
