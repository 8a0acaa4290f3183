"""Probabilistic PCA of a table in which cells are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.base import Arrays, Task


@dataclass(frozen=True)
class Factors(Task):
    """A whole fit. Peers stop by rules of their own, so the likelihood that is missed counts."""

    n_rows: int
    n_columns: int
    n_components: int
    missing: float = 0.1
    seed: int = 0

    word: ClassVar[str] = "factors"
    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "minus log-likelihood per row"
    searches: ClassVar[bool] = True

    def arrays(self) -> Arrays:
        """A plane with as much noise as signal in a column, and holes at random."""
        random = np.random.default_rng(self.seed)
        scores = random.standard_normal((self.n_rows, self.n_components))
        rows = scores @ random.standard_normal((self.n_components, self.n_columns)) + 3.0
        rows += random.standard_normal(rows.shape)
        rows[random.random(rows.shape) < self.missing] = np.nan
        return {"rows": rows, "n_components": np.array(self.n_components)}

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit; there is nothing to repeat."""
        return (1,)

    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """Minus the mean log-density of the cells that are there, row by row."""
        loadings, mean, noise = (np.asarray(solution[name]) for name in ("loadings", "mean", "noise"))
        total = sum(_log_density(row, loadings, mean, float(noise)) for row in arrays["rows"])
        return np.array([-total / len(arrays["rows"])])


def _log_density(
    row: NDArray[np.float64], loadings: NDArray[np.float64], mean: NDArray[np.float64], noise: float
) -> float:
    """Log-density of the cells of a row that are there, through the small matrix noise + W'W."""
    there = ~np.isnan(row)
    known, gap, count = loadings[there], row[there] - mean[there], int(there.sum())
    small = noise * np.eye(known.shape[1]) + known.T @ known
    scores = np.linalg.solve(small, known.T @ gap)
    size = np.linalg.slogdet(small)[1] + (count - len(small)) * np.log(noise)
    return float(-0.5 * (count * np.log(2 * np.pi) + size + (gap @ (gap - known @ scores)) / noise))


def closed_form(rows: NDArray[np.float64], count: int) -> Arrays:
    """Probabilistic PCA of complete rows, which is what peers that fill in cells are judged by."""
    values, vectors = np.linalg.eigh(np.cov(rows.T, bias=True))
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = values[count:].mean()
    loadings = vectors[:, :count] * np.sqrt(np.maximum(values[:count] - noise, 0.0))
    return {"loadings": loadings, "mean": rows.mean(axis=0), "noise": np.array(noise)}
