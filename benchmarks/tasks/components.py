"""A few principal components: of a wide table, and of a sparse one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.tasks.base import Arrays, Task


@dataclass(frozen=True)
class Components(Task):
    """The first components of a table. Truncated methods stop short of them, so the variance that is missed counts."""

    n_rows: int
    n_columns: int
    n_components: int
    seed: int = 0

    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "variance missed"
    searches: ClassVar[bool] = True

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit; there is nothing to repeat."""
        return (1,)

    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """Variance of the rows off the plane that was found, whatever the basis of it."""
        table, basis = self.table(arrays), np.linalg.qr(solution["components"].T)[0]
        mean = np.asarray(table.mean(axis=0)).ravel()
        scores = table @ basis - mean @ basis
        squares = table.multiply(table).sum() if sparse.issparse(table) else np.vdot(table, table)
        total = float(squares) - self.n_rows * float(mean @ mean)
        return np.array([(total - float(np.vdot(scores, scores))) / (self.n_rows - 1)])

    @staticmethod
    @abstractmethod
    def table(arrays: Arrays) -> Any:
        """The rows as contenders take them."""


@dataclass(frozen=True)
class Wide(Components):
    """Many columns that move together, with noise on top."""

    word: ClassVar[str] = "wide"

    def arrays(self) -> Arrays:
        """Twice as many hidden directions as are asked for, of falling strength."""
        random, hidden = np.random.default_rng(self.seed), 2 * self.n_components
        scores = random.standard_normal((self.n_rows, hidden)) * np.linspace(10, 2, hidden)
        rows = scores @ random.standard_normal((hidden, self.n_columns)) / np.sqrt(self.n_columns)
        rows += random.standard_normal((self.n_rows, self.n_columns)) * 0.3 + random.standard_normal(self.n_columns)
        return {"rows": rows, "n_components": np.array(self.n_components)}

    @staticmethod
    def table(arrays: Arrays) -> Any:
        """An array."""
        return arrays["rows"]


@dataclass(frozen=True)
class Sparse(Components):
    """Counts of words in texts, say: few words are common, and texts of a subject share theirs."""

    share: float = 1e-3  # of the cells that are not zero
    subjects: bool = True  # else cells lie anywhere, and no direction stands out

    word: ClassVar[str] = "sparse"

    def arrays(self) -> Arrays:
        """Compressed rows; words of a subject are a random tenth of all, each with a popularity that falls."""
        random, subjects = np.random.default_rng(self.seed), 2 * self.n_components
        each = max(round(self.share * self.n_columns), 1)
        if not self.subjects:
            return self._packed(random.integers(self.n_columns, size=(self.n_rows, each), dtype=np.int32), random)
        popularity = 1.0 / (10.0 + np.arange(self.n_columns)) ** 0.7
        words = [self._vocabulary(random, popularity) for _ in range(subjects)]
        subject = random.integers(subjects, size=self.n_rows)
        indices = np.empty((self.n_rows, each), np.int32)
        for number, (places, odds) in enumerate(words):
            members = np.flatnonzero(subject == number)
            indices[members] = random.choice(places, size=(len(members), each), p=odds)
        return self._packed(indices, random)

    def _packed(self, indices: NDArray[np.int32], random: np.random.Generator) -> Arrays:
        """Compressed rows with cells at these columns; where two fall together, they add up."""
        values = random.random(indices.size) + 0.5
        starts = np.arange(0, indices.size + 1, indices.shape[1], dtype=np.int32)
        table = sparse.csr_matrix((values, indices.ravel(), starts), (self.n_rows, self.n_columns))
        table.sum_duplicates()
        return {
            "data": table.data,
            "indices": table.indices,
            "indptr": table.indptr,
            "shape": np.array(table.shape),
            "n_components": np.array(self.n_components),
        }

    def _vocabulary(self, random: np.random.Generator, popularity: NDArray[np.float64]) -> tuple[Any, Any]:
        places = random.choice(self.n_columns, size=max(self.n_columns // 10, 1), replace=False)
        return places, popularity[places] / popularity[places].sum()

    @staticmethod
    def table(arrays: Arrays) -> Any:
        """A CSR matrix."""
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        return sparse.csr_matrix(parts, tuple(map(int, arrays["shape"])))
