"""Model-based hierarchical clustering: merge the pair of groups that lowers the classification likelihood least.

Each row begins as a group of its own. For Gaussian clusters of which n_k rows have scatter W_k about their mean, the
likelihood maximised over the parameters is a constant less half of one of these sums, and each step merges the pair
that adds least to it (Banfield and Raftery 1993; Fraley, "Algorithms for model-based Gaussian hierarchical
clustering", 1998):

    EII  tr W, W = Σ W_k              spheres of one size: Ward's sum of squares
    VII  Σ n_k log((tr W_k + a) / n_k)                         spheres
    EEE  log |W + a I|                                         ellipsoids of one shape
    VVV  Σ n_k log(|W_k / n_k| + (tr W_k + a) / n_k)           ellipsoids

The scatter of a few rows is singular. So, with Fraley, VII and VVV carry the trace along, and a = tr W_all / (n d), a
typical row's share of the total scatter in a column; the determinant is zero up to d
different rows, and has its say from then on. EEE adds the same a to every direction once, which decides the first
merges (as Ward would) and is soon outweighed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from unveil.core.arrays import Floats, Indices
from unveil.mixtures.starts.agglomerate import Costs, RowGroups, agglomerate, joint_log_determinants, log_determinant

FEWEST = 100  # groups that are never too many
UNLIMITED = 1e300
NEGLIGIBLE = 1e-10  # share of the largest singular value below which a direction is taken for constant


class SumOfSquares(Costs):
    """EII: what a merge adds to the trace."""

    def __init__(self, groups: RowGroups, share: float) -> None:
        self.groups = groups

    def row(self, i: int) -> Floats:
        """Ward's distance."""
        scale, gaps = self.groups.gaps(i)
        costs: Floats = scale * np.einsum("ij,ij->i", gaps, gaps)
        return costs


class MergeTerms(Costs):
    """A sum of one term for each group: a merge costs the term of the union less those of the two."""

    def __init__(self, groups: RowGroups, share: float) -> None:
        self.groups, self.share = groups, share
        self.own = np.array([self.term(i) for i in range(groups.size)])

    @abstractmethod
    def term(self, i: int) -> float:
        """The term of a group."""

    @abstractmethod
    def joint(self, i: int, counts: Floats, traces: Floats) -> Floats:
        """(size,), terms of the unions of group i and every other, of which counts and traces are known."""

    def row(self, i: int) -> Floats:
        """Union less parts."""
        groups, (scale, gaps) = self.groups, self.groups.gaps(i)
        here = slice(groups.size)
        counts = groups.counts[here] + groups.counts[i]
        traces = groups.traces[here] + groups.traces[i] + scale * np.einsum("ij,ij->i", gaps, gaps)
        return self.joint(i, counts, traces) - self.own[here] - self.own[i]

    def after_merge(self, a: int, b: int) -> None:
        """A new term for a; the last group's moves to b."""
        self.own[b] = self.own[self.groups.size]
        self.own[a] = self.term(a)


class Spheres(MergeTerms):
    """VII."""

    def term(self, i: int) -> float:
        """n log((tr W + a) / n)."""
        count = self.groups.counts[i]
        return float(count * np.log((self.groups.traces[i] + self.share) / count))

    def joint(self, i: int, counts: Floats, traces: Floats) -> Floats:
        """The same of the unions."""
        return counts * np.log((traces + self.share) / counts)


class Ellipsoids(MergeTerms):
    """VVV."""

    def __init__(self, groups: RowGroups, share: float) -> None:
        self.columns = groups.means.shape[1]
        self.work = np.empty((self.columns, self.columns))
        super().__init__(groups, share)

    def term(self, i: int) -> float:
        """n log(|W / n| + (tr W + a) / n)."""
        groups, log_volume = self.groups, -np.inf
        if groups.members[i] > self.columns:
            log_volume = log_determinant(groups.scatters[i].copy())
        return float(self._term(groups.counts[i], groups.traces[i], log_volume))

    def joint(self, i: int, counts: Floats, traces: Floats) -> Floats:
        """The same of the unions."""
        groups, log_volumes = self.groups, np.empty(self.groups.size)
        joint_log_determinants(groups.counts, groups.means, groups.scatters, groups.members, i, self.work, log_volumes)
        return self._term(counts, traces, log_volumes)

    def _term(self, count: Floats, trace: Floats, log_volume: Floats | float) -> Floats:
        volume = log_volume - self.columns * np.log(count)
        return count * np.logaddexp(volume, np.log((trace + self.share) / count))


class PooledVolume(Costs):
    """EEE: a merge adds c v'S⁻¹v to |S| = |W + a I|, relatively, with v the gap of the means.

    S grows with every merge, so all costs fall, though by no more than |S| has grown (Sherman and Morrison).
    """

    def __init__(self, groups: RowGroups, share: float) -> None:
        self.groups = groups
        self.pooled = groups.scatters.sum(axis=0) + share * np.eye(groups.means.shape[1])
        self._whiten()

    def _whiten(self) -> None:
        """Means in coordinates in which S is the identity."""
        means = self.groups.means[: self.groups.size]
        self.means = means @ np.linalg.inv(np.linalg.cholesky(self.pooled)).T

    def row(self, i: int) -> Floats:
        """Relative growth of |S|."""
        gaps = self.means - self.means[i]
        costs: Floats = self.groups.gaps(i)[0] * np.einsum("ij,ij->i", gaps, gaps)
        return costs

    def before_merge(self, a: int, b: int) -> float:
        """Let S grow."""
        scales, gaps = self.groups.gaps(a)
        growth = self.row(a)[b]
        self.pooled += scales[b] * np.outer(gaps[b], gaps[b])
        return float(1.0 / (1.0 + growth))

    def after_merge(self, a: int, b: int) -> None:
        """All means in the new coordinates."""
        self._whiten()


@dataclass(frozen=True)
class MergeCriterion:
    """What a merge costs; `EII`, `VII`, `EEE` and `VVV` are the ones there are.

    The work of merging g groups in d columns grows like g^`steps` d^`power`.
    """

    name: str
    costs: Callable[[RowGroups, float], Costs]
    scatters: bool  # whether costs depend on the scatter matrices of groups
    steps: int
    power: int
    enough: float  # work of about a second

    def most(self, n_columns: int) -> int:
        """Groups that can be begun with in good time; where there are more rows, Ward's criterion merges the first."""
        return max(int((self.enough / n_columns**self.power) ** (1 / self.steps)), FEWEST)


EII = MergeCriterion("EII", SumOfSquares, scatters=False, steps=2, power=1, enough=UNLIMITED)
VII = MergeCriterion("VII", Spheres, scatters=False, steps=2, power=1, enough=UNLIMITED)
EEE = MergeCriterion("EEE", PooledVolume, scatters=True, steps=3, power=1, enough=1.5e9)
VVV = MergeCriterion("VVV", Ellipsoids, scatters=True, steps=2, power=3, enough=4e9)
CRITERIA = {criterion.name: criterion for criterion in (EII, VII, EEE, VVV)}


@dataclass(frozen=True)
class Merges:
    """Which groups met, in order: from these the labels for any number of clusters are cut."""

    groups: Indices  # (n,), the group in which each row begins; copies share one
    pairs: Indices  # (groups - 1, 2), numbers of the groups that met: the first, which is lower, lives on
    counted: NDArray[np.bool_]  # (n,), rows with weight

    def labels(self, n_clusters: int) -> Indices:
        """(n,), labels 0 to `n_clusters` - 1 in the order in which they appear.

        With fewer different rows than clusters, copies get labels of their own: rows with weight first, in order.
        """
        if not 1 <= n_clusters <= len(self.groups):
            raise ValueError(f"n_clusters must be from 1 to the number of rows, {len(self.groups)}; got {n_clusters}")
        n_groups = len(self.pairs) + 1
        labels = _homes(n_groups, self.pairs[: max(n_groups - n_clusters, 0)])[self.groups]
        spare = self._copies()[: max(n_clusters - n_groups, 0)]
        labels[spare] = n_groups + np.arange(len(spare))
        _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[labels]

    def _copies(self) -> Indices:
        """Rows that their groups can spare: all but the first of each, rows with weight first."""
        order = np.argsort(~self.counted, kind="stable")
        _, first = np.unique(self.groups[order], return_index=True)
        return np.delete(order, first)


def _homes(n_groups: int, pairs: Indices) -> Indices:
    """The group in which each one ends after the merges `pairs`."""
    homes = np.arange(n_groups)
    homes[pairs[:, 1]] = pairs[:, 0]
    for group in range(n_groups):  # a home is lower than its group, and so already settled
        homes[group] = homes[homes[group]]
    return homes


@dataclass(frozen=True)
class Hierarchical:
    """Clusters by merging, as mclust's ``hc`` does to start its mixtures.

    Rows that are equal are one group from the beginning. A row of weight w counts as w copies; one of weight zero has
    no say and takes the label of the nearest row that has. There is no randomness: the order of the rows decides
    nothing but the names of the clusters.

    Merging takes time with the square of the number of rows (2,000: a second or so), and VVV needs a determinant for
    each pair once groups are large. Where that would take too long (`MergeCriterion.most`), Ward's criterion merges the
    rows to as many groups as can be afforded, and the criterion goes on from there.

    Parameters
    ----------
    criterion : MergeCriterion, default=VVV
        What a merge costs: `EII`, `VII`, `EEE` or `VVV`.
    whiten : bool, default=True
        Cluster the rows as mclust's "SVD" coordinates show them: columns brought to variance one, turned to their
        principal axes, and each axis divided by the square root of its singular value, which evens out their spreads
        halfway. Constant columns and axes without spread are left out, and units do not matter. In these
        coordinates volumes are small against traces, so that VVV differs little from VII. False takes the rows as
        they are, in units whose squares neither overflow nor underflow; VVV adds volumes to traces, so units matter
        to it then.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.mixtures.starts.hierarchical import Hierarchical
    >>> rows = np.array([[0.0, 1.0], [0.1, 1.2], [5.0, 0.9], [0.2, 0.9], [5.1, 1.1]])
    >>> merges = Hierarchical().merges(rows, None)
    >>> merges.labels(2).tolist(), merges.labels(1).tolist()
    ([0, 0, 1, 0, 1], [0, 0, 0, 0, 0])
    """

    criterion: MergeCriterion = VVV
    whiten: bool = True

    def labels(self, rows: Floats, weights: Floats | None, n_clusters: int) -> Indices:
        """(n,), labels 0 to `n_clusters` - 1 in the order in which they appear."""
        return self.merges(rows, weights).labels(n_clusters)

    def merges(self, rows: Floats, weights: Floats | None) -> Merges:
        """All merges, down to one cluster."""
        rows, weights = _checked(rows, weights)
        counted = weights > 0
        # different rows come out sorted: the order in which they were given has no influence, not even on rounding
        distinct, copies = np.unique(rows[counted], axis=0, return_inverse=True)
        groups = np.empty(len(rows), np.intp)
        groups[counted] = copies = copies.reshape(-1)
        counts = np.bincount(copies, weights[counted]).astype(np.float64)
        frame = _half_whitened(distinct, counts) if self.whiten else _as_given(distinct, counts)
        if not counted.all():
            groups[~counted] = cKDTree(frame(distinct)).query(frame(rows[~counted]))[1]
        return Merges(groups, self._pairs(frame(distinct), counts), counted)

    def _pairs(self, rows: Floats, counts: Floats) -> Indices:
        """Merges of rows that are centred and different: by Ward where they are too many, then by the criterion."""
        n_rows, n_columns = rows.shape
        share = float(counts @ np.sum(rows**2, axis=1)) / (float(counts.sum()) * n_columns)
        share = max(share, float(np.finfo(np.float64).eps))
        first, labels = np.empty((0, 2), np.intp), np.arange(n_rows)
        if n_rows > self.criterion.most(n_columns):
            groups = RowGroups.of_rows(rows, counts, labels, scatters=False)
            first = agglomerate(groups, EII.costs(groups, share), self.criterion.most(n_columns))
            labels = _homes(n_rows, first)
        left, labels = np.unique(labels, return_inverse=True)
        groups = RowGroups.of_rows(rows, counts, labels, self.criterion.scatters)
        return np.concatenate([first, left[agglomerate(groups, self.criterion.costs(groups, share), 1)]])


@dataclass(frozen=True)
class _Frame:
    """Rows times a power of two for each column, less a shift, times a matrix."""

    exponents: Indices  # (d,)
    shift: Floats  # (d,)
    axes: Floats  # (d, axes)

    def __call__(self, rows: Floats) -> Floats:
        moved: Floats = (np.ldexp(rows, self.exponents) - self.shift) @ self.axes
        return moved


def _as_given(rows: Floats, counts: Floats) -> _Frame:
    """Only centred."""
    n_columns = rows.shape[1]
    return _Frame(np.zeros(n_columns, np.intp), counts @ rows / counts.sum(), np.eye(n_columns))


def _half_whitened(rows: Floats, counts: Floats) -> _Frame:
    """Standardised, on principal axes, over the roots of the singular values."""
    exponents = -np.frexp(np.abs(rows).max(axis=0))[1].astype(np.intp)  # columns of any size square without overflow
    scaled, total = np.ldexp(rows, exponents), counts.sum()
    shift = counts @ scaled / total
    varies = scaled.max(axis=0) > scaled.min(axis=0)  # what is constant has no spread, whatever rounding says
    spread = np.where(varies, np.sqrt(counts @ (scaled - shift) ** 2 / total), np.inf)
    standard = (scaled - shift) / spread
    _, sizes, axes = np.linalg.svd(np.sqrt(counts)[:, None] * standard, full_matrices=False)
    kept = sizes > NEGLIGIBLE * sizes[0]
    kept[0] = True  # one axis at least, and be it all zeros
    turned = axes[kept].T / np.sqrt(np.where(sizes[kept] > 0, sizes[kept], 1.0))
    return _Frame(exponents, shift, turned / spread[:, None])


def _checked(rows: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Rows and weights that can be worked with."""
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise ValueError(f"rows must be a table (n, d) of finite numbers with n, d >= 1; got shape {rows.shape}")
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(rows),):
        raise ValueError(f"weights must have shape ({len(rows)},), one for each row; got {weights.shape}")
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise ValueError(f"weights must be finite, not negative and not all zero; got {weights}")
    return rows, weights
