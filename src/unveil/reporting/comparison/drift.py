"""Do two samples of a column differ, and by how much?

Two questions, since of a million rows every difference is certain and of thirty hardly any. *Certain*: a two-sample
test that keeps its size, Kolmogorov-Smirnov for numbers, the G test for categories (and for numbers of few values,
whose ties would make the former timid), with rare categories together so that its chi-square holds. *How much*: a
share of rows on one scale for both, the largest difference between two cumulative shares, or half the sum of
differences of shares (total variation). For two Gaussians d standard deviations apart either is 2 Phi(d/2) - 1: 0.08,
0.20 and 0.31 where Cohen (1988) calls d = 0.2, 0.5 and 0.8 small, medium and large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

FEW_VALUES = 20  # distinct numbers up to which they are compared value by value
LEAST_EXPECTED = 5.0  # rows expected in a cell of a table for which chi-square is a fair approximation (Cochran 1954)
EXACT_PAIRS = 250_000  # rows then times rows now up to which Kolmogorov-Smirnov is counted out
CERTAIN = 0.01  # of a hundred pairs of tables that do not differ, one is said to differ in some column
SIZES = ((0.31, "large"), (0.2, "clear"), (0.08, "small"))  # Cohen's sizes as shares of rows; see above


class Shift(NamedTuple):
    """How far two samples are apart: a share of rows, and how often that much would come by chance."""

    effect: float
    p: float
    higher: float = 0.5  # chance that a value of now is above one of then, for numbers


def size_word(effect: float) -> str:
    """How much a share of rows is."""
    return next((word for least, word in SIZES if effect >= least), "none")


def numbers_apart(then: Floats, now: Floats) -> Shift:
    """Numbers without holes, of which there are some on both sides."""
    from scipy.stats import ks_2samp, rankdata

    values = np.unique(np.concatenate([then, now]))
    method = "exact" if len(then) * len(now) <= EXACT_PAIRS else "asymp"
    ranks = rankdata(np.concatenate([then, now]))[len(then) :]
    higher = float((ranks.mean() - (len(now) + 1) / 2) / len(then))
    if len(values) <= FEW_VALUES:
        counted = np.stack([np.bincount(np.searchsorted(values, one), minlength=len(values)) for one in (then, now)])
        apart = counts_apart(counted)
        ladder = np.abs(np.diff(np.cumsum(counted / counted.sum(axis=1, keepdims=True), axis=1), axis=0))
        return Shift(float(ladder.max()), apart.p, higher)
    found = ks_2samp(then, now, method=method)
    return Shift(float(found.statistic), float(found.pvalue), higher)


def counts_apart(counts: NDArray[np.int64]) -> Shift:
    """Rows of then and of now in each category, (2, k)."""
    from scipy.stats import chi2_contingency

    shares = counts / counts.sum(axis=1, keepdims=True)
    effect = float(np.abs(np.diff(shares, axis=0)).sum() / 2)
    table = _without_rare(counts)
    if table.shape[1] < 2:
        return Shift(effect, 1.0)
    return Shift(effect, float(chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue))


def _without_rare(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The table with categories of too few expected rows as one; the next joins them if they are still too few."""
    counts = counts[:, np.argsort(-counts.sum(axis=0), kind="stable")]
    least = counts.sum(axis=0) * counts.sum(axis=1).min() / max(counts.sum(), 1)
    common = int(np.searchsorted(-least, -LEAST_EXPECTED, side="right"))
    if common == counts.shape[1]:
        return counts
    if least[common:].sum() < LEAST_EXPECTED:
        common = max(common - 1, 0)
    return np.column_stack([counts[:, :common], counts[:, common:].sum(axis=1)])


def corrected(chances: Sequence[float]) -> list[float]:
    """Chances of several tests as one family (Holm 1979): it may be wrong in any of them as often as each alone."""
    order = np.argsort(chances, kind="stable")
    raised = np.array(chances, dtype=float)[order] * np.arange(len(order), 0, -1)
    found = np.empty(len(order))
    found[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return [float(chance) for chance in found]
