"""The first use of one estimator, timed from inside a fresh process: ``NAME ROWS COLUMNS GROUPS``; prints seconds.

The clock starts after ``import unveil, sklearn, numba``, so what counts is what a person waits for after the imports on
top of a script: the modules that unveil loads on first use, the kernels that are compiled, the fit, and what the model
then says of the rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ordinary.grid import Cell, Shape
from benchmarks.ordinary.kinds import BLOBS
from benchmarks.ordinary.tables import count_chains, numbers, symbol_chains

PAIRS = 4_000  # rows, at most, of what looks at all pairs of them
SENTENCES = 1_000  # at most; rows are sentences of as many words as there are columns
Rows = Callable[[Cell], Any]


def _clouds(cell: Cell) -> Any:
    return numbers(cell)["rows"]


def _signs(cell: Cell) -> Any:
    return (_clouds(cell) > 0.0).astype(np.float64)


def _counts(cell: Cell) -> Any:
    return np.abs(_clouds(cell)).round()


def _letters(cell: Cell) -> Any:
    """Numbers but for the last column, which has words."""
    rows = _clouds(cell).astype(object)
    rows[:, -1] = np.where(rows[:, -1] > 0.0, "high", "low")
    return rows


def _sentences(cell: Cell) -> Any:
    return [[f"w{code:.0f}" for code in row] for row in _counts(cell)]


class Use(NamedTuple):
    """How an estimator is first used."""

    rows: Rows
    size: str | None = "k"  # what its first argument is: groups, dimensions of a plane, or nothing
    options: Mapping[str, Any] = {}
    labelled: bool = False
    seeded: bool = True  # takes random_state
    most_rows: int = 1_000_000


USES: Mapping[str, Use] = {
    "GaussianMixture": Use(_clouds),
    "StudentMixture": Use(_clouds),
    "BernoulliMixture": Use(_signs),
    "CategoricalMixture": Use(_counts),
    "PoissonMixture": Use(_counts),
    "MixedMixture": Use(_letters),
    "KMeans": Use(_clouds),
    "KernelKMeans": Use(_clouds, most_rows=PAIRS),
    "KMedoids": Use(_clouds, most_rows=PAIRS),
    "PCA": Use(_clouds, "plane"),
    "ProbabilisticPCA": Use(_clouds, "plane"),
    "FactorAnalysis": Use(_clouds, "plane"),
    "LinearDiscriminantAnalysis": Use(_clouds, None, labelled=True, seeded=False),
    "ICA": Use(_clouds, None),
    "PrincipalCurve": Use(_clouds, None, seeded=False),
    "GenerativeTopographicMap": Use(_clouds, None),
    "GaussianHMM": Use(_clouds),
    "CategoricalHMM": Use(lambda cell: symbol_chains(cell)["rows"]),
    "PoissonHMM": Use(lambda cell: count_chains(cell)["rows"]),
    "MixedHMM": Use(_letters),
    "PCFG": Use(_sentences, None, {"n_nonterminals": 3}, most_rows=SENTENCES),
}


def first_fit(name: str, n_rows: int, n_columns: int, n_groups: int = 3) -> float:
    """Seconds of it, with the way from the name to the class, and of the first answers."""
    import numba  # noqa: F401
    import sklearn  # noqa: F401

    import unveil

    use, shape = USES[name], Shape(n_rows, n_columns, n_groups)
    cell = Cell(BLOBS, shape, 0, sequences=int(name.endswith("HMM")))
    rows, further = use.rows(cell), {"y": numbers(cell)["labels"]} if use.labelled else {}
    size = () if use.size is None else ({"k": shape.k, "plane": max(n_columns // 2, 1)}[use.size],)
    seed = {"random_state": 0} if use.seeded else {}
    began = time.perf_counter()
    fitted = getattr(unveil, name)(*size, **seed, **use.options).fit(rows, **further)
    for answer in ("predict", "transform"):
        if hasattr(fitted, answer):
            getattr(fitted, answer)(rows)
    return time.perf_counter() - began


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(first_fit(sys.argv[1], *map(int, sys.argv[2:])))
