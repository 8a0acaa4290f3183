"""How the time of a whole fit of each projection grows with the rows: ten times as many should take ten times as long.

All sizes are leading parts of one table. Sizes take turns, and the best time of each counts. Where a fit iterates, it
makes the same number of passes at every size.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.growth import SLACK
from benchmarks.table import duration

HEAD = ("fit", "rows", "time", "times the rows", "times the time", "asked", "reached")
FITS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "PCA": ("PCA", {}),
    "PCA, robust": ("PCA", {"n_components": 3, "robust": True, "random_state": 0}),
    "ProbabilisticPCA, EM": ("ProbabilisticPCA", {"n_components": 3, "schedule": "batch", "max_iter": 10, "tol": 0.0}),
    "FactorAnalysis": ("FactorAnalysis", {"n_components": 3}),
    "LinearDiscriminantAnalysis": ("LinearDiscriminantAnalysis", {}),
    "ICA": ("ICA", {"algorithm": "parallel", "max_iter": 10, "tol": 1e-300, "random_state": 0}),
    "PrincipalCurve": ("PrincipalCurve", {"max_iter": 3, "tol": 1e-300}),
    "GenerativeTopographicMap": ("GenerativeTopographicMap", {"lattice_shape": 10, "max_iter": 5, "tol": 0.0}),
}


@dataclass(frozen=True)
class Ladder:
    """Tables of rising size."""

    sizes: tuple[int, ...]
    n_columns: int = 8
    rounds: int = 3

    def rows(self, say: Callable[[str], None]) -> list[list[str]]:
        """The table, from fits made now, in this process."""
        table, labels = self._data()
        lines = []
        for name in FITS:
            say(f"growth: {name}")
            lines += growth_lines(name, self.sizes, self._measure(name, table, labels))
        return lines

    def _data(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """A bent, noisy sheet in correlated columns that are not Gaussian, in four classes."""
        random, n = np.random.default_rng(0), max(self.sizes)
        hidden = np.column_stack([random.laplace(size=n), random.uniform(-2, 2, n), random.uniform(-2, 2, n)])
        hidden[:, 2] += hidden[:, 1] ** 2
        rows = hidden @ random.standard_normal((3, self.n_columns)) + 0.3 * random.laplace(size=(n, self.n_columns))
        return rows, (hidden[:, 1] > 0) + 2 * (hidden[:, 0] > 0)

    def _measure(self, name: str, table: NDArray[np.float64], labels: NDArray[np.int64]) -> list[float]:
        import unveil

        word, arguments = FITS[name]
        best = [np.inf] * len(self.sizes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a fit stops at its limit is meant
            for number in range(self.rounds + 1):
                for place, size in enumerate(self.sizes):
                    estimator = getattr(unveil, word)(**arguments)
                    began = time.perf_counter()
                    estimator.fit(table[:size], labels[:size])
                    spent = time.perf_counter() - began
                    best[place] = min(best[place], spent if number else np.inf)  # the first round compiles
        return best


def growth_lines(name: str, sizes: tuple[int, ...], seconds: list[float]) -> list[list[str]]:
    """A row per size; from the second on, each is compared with the one before.

    >>> growth_lines("fit", (10, 100), [1.0, 12.0])[1]
    ['fit', '100', '12 s', '10', '12.00', 'at most 11', 'no']
    """
    lines = [[name, f"{sizes[0]:,}", duration(seconds[0]), "", "", "", ""]]
    for at in range(1, len(sizes)):
        more, longer = sizes[at] / sizes[at - 1], seconds[at] / seconds[at - 1]
        reached = "yes" if longer <= SLACK * more else "no"
        cells = [f"{more:g}", f"{longer:.2f}", f"at most {SLACK * more:g}", reached]
        lines.append([name, f"{sizes[at]:,}", duration(seconds[at]), *cells])
    return lines


FULL = Ladder((50_000, 500_000))
QUICK = Ladder((2_000, 20_000), rounds=1)
