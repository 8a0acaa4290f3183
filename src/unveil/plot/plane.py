"""The principal plane: the two directions along which the data spreads most, and what falls where on it.

A row x lands at A (x - centre) with A = axes / scale, so a Gaussian with covariance C lands as one with A C Aᵀ, whose
ellipse at r standard deviations is {r L u : |u| = 1} with L Lᵀ = A C Aᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.plot.labels import axis_label

UNEVEN_SPREADS = 5.0  # columns whose spreads differ by more than this factor are put on one scale first


@final
@dataclass(frozen=True, eq=False)
class Plane:
    """Where rows land on the principal plane.

    Parameters
    ----------
    centre, scale : array of shape (d,)
        Taken from, and divided out of, each column first.
    axes : array of shape (2, d)
        The two directions.
    share : array of shape (2,)
        Share of the variance along each.
    names : tuple of str, optional
        Names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.plot import Plane
    >>> plane = Plane.of(np.array([[0.0, 0], [2, 0], [0, 1], [2, 1]]))
    >>> plane.share.round(2).tolist(), plane.project([[1.0, 0.5]]).round(9).tolist()
    ([0.8, 0.2], [[0.0, 0.0]])
    """

    centre: Floats
    scale: Floats
    axes: Floats
    share: Floats
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: ArrayLike, names: Sequence[str] | None = None, sample_weight: ArrayLike | None = None) -> Plane:
        """The principal plane of a table; columns are standardised where their spreads are uneven."""
        from unveil.projections.pca.pca import PCA

        rows, given = np.asarray(X, dtype=np.float64), names if names is not None else getattr(X, "columns", None)
        if rows.ndim != 2 or rows.shape[1] < 2 or len(rows) < 2:
            raise ValueError(f"X must have at least 2 rows and 2 columns to have a plane; got shape {rows.shape}")
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        centre = np.average(rows, axis=0, weights=weights)
        scale = scale_of(np.sqrt(np.average((rows - centre) ** 2, axis=0, weights=weights)))
        pca = PCA(n_components=2)
        scaled = (rows - centre) / scale
        pca.fit(scaled) if weights is None else pca.fit(scaled, sample_weight=weights)
        return cls.from_pca(pca, centre, scale, None if given is None else tuple(map(str, given)))

    @classmethod
    def from_pca(cls, pca: Any, centre: Floats, scale: Floats, names: tuple[str, ...] | None = None) -> Plane:
        """The plane of a PCA that was fitted to ``(X - centre) / scale``."""
        axes, share = oriented(pca.components_[:2]), np.asarray(pca.explained_variance_ratio_[:2])
        return cls(centre + scale * np.asarray(pca.mean_), scale, axes, share, names)

    @property
    def titles(self) -> tuple[str, str]:
        """Titles of the two axes."""
        return axis_label(0, self.share[0]), axis_label(1, self.share[1])

    @property
    def standardised(self) -> bool:
        """Whether columns were put on one scale first."""
        return bool(np.any(self.scale != 1.0))

    @property
    def scales(self) -> str:
        """What the shares of the variance are taken of, for a caption."""
        if self.standardised:
            return "Columns were put on one scale first, as their spreads differ."
        return "Columns keep their units, so that those that spread more weigh more."

    def project(self, X: ArrayLike) -> Floats:
        """Where rows land, (n, 2)."""
        rows = np.asarray(X, dtype=np.float64)
        return np.asarray(((rows - self.centre) / self.scale) @ self.axes.T)

    def project_covariance(self, covariance: ArrayLike) -> Floats:
        """How a covariance of the columns lands, (2, 2)."""
        matrix = self.axes / self.scale
        return np.asarray(matrix @ np.asarray(covariance, dtype=np.float64) @ matrix.T)


def oriented(axes: ArrayLike) -> Floats:
    """Directions that face the way in which their largest weight grows, the first of those that are as large.

    Else the same plane would be drawn one way in a figure and upside down in the next.

    >>> oriented([[-0.6, -0.8], [0.7071, -0.7071001]]).tolist()
    [[0.6, 0.8], [0.7071, -0.7071001]]
    """
    rows = np.array(axes, dtype=np.float64)
    size = np.abs(rows)
    first = np.argmax(size >= (1.0 - 1e-6) * size.max(axis=1, keepdims=True), axis=1)
    return rows * np.where(rows[np.arange(len(rows)), first] < 0, -1.0, 1.0)[:, None]


def scale_of(spread: Floats) -> Floats:
    """What to divide each column by: its standard deviation where these are uneven, else 1."""
    some = spread[spread > 0]
    if len(some) < 2 or some.max() <= UNEVEN_SPREADS * some.min():
        return np.ones_like(spread)
    return np.where(spread > 0, spread, 1.0)


def ellipse(mean: Floats, covariance: Floats, radius: float, n_points: int = 73) -> Floats:
    """Points of the ellipse at `radius` standard deviations, (n_points, 2), closed."""
    values, vectors = np.linalg.eigh(covariance)
    turn = np.linspace(0.0, 2.0 * np.pi, n_points)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    return np.asarray(mean + radius * (circle * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
