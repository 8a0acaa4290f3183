"""Nystroem's approximation: rows in feature space, projected onto the span of a few of them, the landmarks.

With K_mm the kernel between landmarks and K_nm that of all rows with them, the rows of

    Z = K_nm K_mm^(-1/2)

have the inner products of the projections (Williams and Seeger 2001), so a kernel method on n rows becomes a plain one
on Z. What is left of a squared norm, k(x, x) - ‖z‖², is the squared distance of a row to the span: it adds to the
squared distance to any point of the span, so distances to centres there are exact.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.kernel_kmeans.gram import ComputedGram, Kernel
from unveil.clusters.kernel_kmeans.model import labelled, pivots
from unveil.clusters.kmeans.kmeans import KMeans
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Engine, Source
from unveil.core.result import History
from unveil.estimation.input import finite_rows
from unveil.sources.array import ArraySource

CLIMBED = ("log_likelihood", "free_energy", "objective")
EMBEDDED_BYTES = 1 << 30  # of embedded rows that are kept in memory; more go to a temporary file


@dataclass(frozen=True)
class LandmarkMap:
    """The feature map, as engines take it."""

    kernel: Kernel
    shift: Floats
    landmarks: NDArray[Any]
    whitening: Floats

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """Coordinates (m, r) of the rows of a block, and their squared distances (m,) to the span."""
        rows = np.asarray(finite_rows(block) - self.shift, dtype=np.float64)
        points = self.kernel(rows, self.landmarks - self.shift) @ self.whitening
        left = self.kernel.diagonal(rows) - np.einsum("ij,ij->i", points, points)
        return points, np.maximum(left, 0.0)

    def products(self, centres: Floats, source: Source, engine: Engine) -> tuple[Floats, Floats]:
        """Inner products (k, n) of points of the span with all rows, and the k(x, x) of each."""
        products, norms = [], []
        for points, left in engine.map(self, source):
            products.append(centres @ points.T)
            norms.append(np.einsum("ij,ij->i", points, points) + left)
        return np.concatenate(products, axis=1), np.concatenate(norms)


def choose(kernel: Kernel, shift: Floats, sample: NDArray[Any], weights: Floats | None, count: int, seed: int) -> Any:
    """An embedding by up to `count` of the rows of a sample, drawn far from the span of each other."""
    points = np.ascontiguousarray(sample - shift, dtype=np.float64)
    gram = ComputedGram(kernel, points, points, np.dtype(np.float64))
    odds = np.ones(len(sample)) if weights is None else weights
    chosen = pivots(gram, odds, min(count, len(sample)), np.random.default_rng(seed))
    if len(chosen) == 0:
        raise ValueError("method='nystroem' needs rows with a positive k(x, x); method='exact' takes any kernel")
    return LandmarkMap(kernel, shift, sample[chosen], inverse_root(kernel(points[chosen], points[chosen])))


def inverse_root(matrix: Floats) -> Floats:
    """A matrix A with A Aᵀ = matrix⁻¹ on the directions that rounding has left."""
    values, directions = np.linalg.eigh(0.5 * (matrix + matrix.T))
    used = values > len(values) * np.finfo(np.float64).eps * values[-1]
    return np.ascontiguousarray(directions[:, used] / np.sqrt(values[used]))


@contextmanager
def embedded(
    embedding: LandmarkMap, source: Source, engine: Engine, memory_bytes: int = EMBEDDED_BYTES
) -> Iterator[tuple[ArraySource, float]]:
    """All rows, embedded, while the context lasts; and the weighted sum of their squared distances to the span."""
    shape = source.n_rows, embedding.whitening.shape[1]
    with tempfile.TemporaryDirectory() as folder:
        if 8 * shape[0] * shape[1] <= memory_bytes:
            points: Any = np.empty(shape)
        else:
            points = np.lib.format.open_memmap(f"{folder}/points.npy", "w+", np.float64, shape)
        left, start = np.empty(shape[0]), 0
        for here, off in engine.map(embedding, source):
            points[start : start + len(here)], left[start : start + len(here)] = here, off
            start += len(here)
        weights = weights_of(source)
        yield ArraySource(points, weights), float(left.sum() if weights is None else weights @ left)


def weights_of(source: Source) -> Floats | None:
    """Weights of all rows; None where every row counts once."""
    weights = [block.weights for block in source.read() if block.weights is not None]
    return np.concatenate(weights) if weights else None


def cluster(plain: KMeans, points: ArraySource, init: Any) -> None:
    """Fit K-means to embedded rows from a start that it knows by name, or from labels."""
    n_clusters = plain.n_clusters
    plain.init = (
        init if isinstance(init, str) else _centres(points, labelled(init, points.n_rows, n_clusters), n_clusters)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever asked will say them again, in the right name
        plain.fit(points)


def _centres(points: ArraySource, labels: NDArray[np.intp], n_clusters: int) -> Floats:
    """Weighted means of the embedded rows by label; zero where a label has none."""
    weights = np.ones(len(labels)) if points.weights is None else points.weights
    member = np.zeros((len(labels), n_clusters))
    member[np.arange(len(labels)), labels] = weights
    return np.asarray(member.T @ points.rows / np.maximum(member.sum(axis=0), np.finfo(float).tiny)[:, None])


def lowered(history: History, amount: float) -> History:
    """The same history with every objective lower by `amount`."""
    records = (record._replace(**{name: getattr(record, name) - amount for name in CLIMBED}) for record in history)
    return replace(history, records=tuple(records), restarts=tuple(value - amount for value in history.restarts))
