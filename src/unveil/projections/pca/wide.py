"""Tables with fewer rows than columns, worked upon in the space that their rows span.

With an origin m and rows X - m = R Q, Q of orthonormal rows, the table R has as many columns as rows, and the same
distances, planes and variances: what is found in it is turned back by Q. Householder's decomposition of the transpose
is stable row by row (Higham 2002, theorem 19.4), so a row that lies far out costs the others no digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.estimation.input import refuse_nonfinite
from unveil.projections.pca.lanczos import signed
from unveil.projections.pca.routes import Spectrum
from unveil.projections.pca.rows import all_rows
from unveil.sources.array import ArraySource
from unveil.sources.weighted import with_weights


def is_wide(source: Source) -> bool:
    """Whether there are fewer rows than columns."""
    return source.n_rows < source.n_columns


class Narrow(NamedTuple):
    """A wide table in coordinates of its rows' space."""

    source: Source  # the rows, with their weights, if any
    origin: Floats  # (columns,)
    basis: Floats  # (rows, columns), orthonormal

    def widened(self, spectrum: Spectrum) -> Spectrum:
        """What was found in these coordinates, in those of the table."""
        components = signed(spectrum.components @ self.basis)
        return spectrum._replace(components=components, mean=self.origin + spectrum.mean @ self.basis)


def narrowed(source: Source) -> Narrow:
    """Bring the rows of a wide table into memory, in coordinates of their space about the median of each column."""
    rows, weights = all_rows(source)
    rows = rows.astype(np.float64, copy=False)
    if not np.all(np.isfinite(rows)):
        refuse_nonfinite(source)
    there = slice(None) if weights is None or not weights.any() else weights > 0
    origin = np.median(rows[there], axis=0)
    basis, coordinates = linalg.qr((rows - origin).T, mode="economic")
    narrow = ArraySource(np.ascontiguousarray(coordinates.T))
    return Narrow(with_weights(narrow, weights), origin, np.ascontiguousarray(basis.T))


def leading_directions(rows: Floats, count: int) -> Floats:
    """First directions (count, columns) of centred rows, from the smaller of their two squares that has so many.

    >>> np.abs(leading_directions(np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 1)).tolist()
    [[1.0, 0.0, 0.0]]
    """
    n_rows, n_columns = rows.shape
    largest = np.max(np.abs(rows))
    rows = rows / largest if largest > 0 else rows  # so that squares neither overflow nor vanish
    if n_rows >= n_columns or n_rows < count:
        _, vectors = linalg.eigh(rows.T @ rows, subset_by_index=[n_columns - count, n_columns - 1])
        return np.ascontiguousarray(vectors[:, ::-1].T)
    _, vectors = linalg.eigh(rows @ rows.T, subset_by_index=[n_rows - count, n_rows - 1])
    return np.ascontiguousarray(linalg.qr(rows.T @ vectors[:, ::-1], mode="economic")[0].T)
