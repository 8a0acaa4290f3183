"""Parts to begin with: a few steps of K-means among the rows of each component.

Seeds are drawn far from each other (k-means++; Arthur and Vassilvitskii, 2007) among rows that weigh what they belong
to the component, in the family's embedding; then Lloyd's steps. Each part begins with the moments of its rows and
those of a few average rows of its component, so that a part of one row is no point, and one of none is its component.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.families.base import Family, Tile
from unveil.families.compound import CompoundParams

LLOYD_STEPS = 10  # of Lloyd's


def split(
    family: Family, params: Any, n_parts: int, rows: Floats, responsibilities: Floats, seed: int = 0
) -> CompoundParams:
    """Parameters of `Compound(family, n_parts)` from those of single components.

    Parameters
    ----------
    family : Family
        Of the components, and of the parts that they are split into.
    params : object
        Its parameters of k components; one that has no rows is copied to all of its parts.
    n_parts : int
        Parts of each component.
    rows : array (n, d)
        Some of the rows, in the frame; missing cells (NaN) are taken for typical.
    responsibilities : array (k, n)
        How much each row belongs to each component, weights of the rows included.
    seed : int, default=0
        Of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.families.compound_start import split
    >>> from unveil.families.covariance.structure import Spherical
    >>> from unveil.families.gaussian import Gaussian
    >>> family, rows = Gaussian(Spherical()), np.repeat([[0.0], [5.0]], 50, axis=0)
    >>> moments = np.array([[100.0, rows.sum(), (rows**2).sum()]])
    >>> start = split(family, family.first(moments), 2, rows, np.ones((1, 100)))
    >>> np.sort(start.parts.means.ravel()).round(1)
    array([0.1, 4.9])
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    rows = np.where(np.isnan(rows), family.typical(rows), rows) if np.isnan(rows).any() else rows
    points = family.embedding(rows)(rows)
    shares = np.zeros((len(responsibilities), n_parts, len(rows)))
    for component, weights in enumerate(responsibilities):
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(component,)))
        shares[component, _clusters(points, weights, n_parts, random), np.arange(len(rows))] = weights
    tile = Tile(np.ascontiguousarray(rows.T), shares.reshape(-1, len(rows)), None, slice(0, len(rows)))
    blocks = family.gather_first(tile).reshape(*shares.shape[:2], -1)
    origin = np.zeros(rows.shape[1])  # moments of a start are about that of the frame
    return _begun(family, family.located(params, origin), blocks, 1.0 + family.least_rows(rows.shape[1]))


def _begun(family: Family, params: Any, blocks: Floats, extra: float) -> CompoundParams:
    """Parts from their moments (k, parts, statistics), with so many average rows of the component added to each."""
    k, n_parts, width = blocks.shape
    totals = blocks.sum(axis=1, keepdims=True)
    counts = np.where(totals[..., :1] > 0, totals[..., :1], 1.0)
    mixed = blocks + np.minimum(extra / counts, 1.0) * totals
    parts = family.maximise(mixed.reshape(-1, width), family.taken(params, np.repeat(np.arange(k), n_parts)))
    weights = blocks[..., 0] + 1.0  # no part begins with nothing
    return CompoundParams(weights / weights.sum(axis=1, keepdims=True), parts)


def _clusters(points: Floats, weights: Floats, n_parts: int, random: np.random.Generator) -> NDArray[np.intp]:
    """The cluster of each point, by K-means from seeds far apart."""
    centres = _seeds(points, weights, n_parts, random)
    nearest = np.argmin(_squares(points, centres), axis=1)
    for _ in range(LLOYD_STEPS):
        held = np.zeros((n_parts, len(points)))
        held[nearest, np.arange(len(points))] = weights
        counts = held.sum(axis=1, keepdims=True)
        centres = np.where(counts > 0, held @ points / np.where(counts > 0, counts, 1.0), centres)
        before, nearest = nearest, np.argmin(_squares(points, centres), axis=1)
        if np.array_equal(before, nearest):
            break
    return nearest


def _seeds(points: Floats, weights: Floats, n_parts: int, random: np.random.Generator) -> Floats:
    """Points drawn by weight times squared distance to the nearest so far; where that is none, any by weight."""
    even = np.where(weights.sum() > 0, weights, 1.0)
    chosen = [random.choice(len(points), p=even / even.sum())]
    for _ in range(n_parts - 1):
        odds = even * _squares(points, points[chosen]).min(axis=1)
        odds = odds if odds.sum() > 0 else even
        chosen.append(random.choice(len(points), p=odds / odds.sum()))
    return points[chosen]


def _squares(points: Floats, centres: Floats) -> Floats:
    """Squared distances (points, centres), by differences: nothing cancels."""
    return np.stack([np.einsum("ij,ij->i", away, away) for away in (points - centre for centre in centres)], axis=1)
