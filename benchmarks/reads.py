"""How often a file is read to choose a mixture: 1 to 9 components times four structures, by `unveil.select`.

The combinations are compared twice, each by a search of its own and all in one search, which has to end with the same
table. A read is all partitions of the file handed out once; the sample that starts are drawn from counts as well.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import unveil
from benchmarks.table import duration
from unveil.core.partition import count_of

HEAD = ("file", "rows", "combinations", "searches", "reads of the file", "time", "the same table")
STRUCTURES = ("full", "tied", "diag", "spherical")
GROUPS = 5  # that the rows were drawn from
CHUNK = 1 << 18  # rows that are made, and written, at a time


class Counting:
    """A source that counts the partitions that it hands out."""

    def __init__(self, source: Any) -> None:
        self._source, self.blocks = source, 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._source, name)

    @property
    def reads(self) -> float:
        """How often all of it was handed out."""
        return self.blocks / count_of(self._source)

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Any]:
        """Blocks of the source."""
        yield from self._told(self._source.read(partitions))

    def fetch(self, partitions: Sequence[int]) -> Iterator[Any]:
        """Blocks of the source on this thread, counted."""
        yield from self._told(self._source.fetch(partitions))

    def _told(self, blocks: Iterator[Any]) -> Iterator[Any]:
        for block in blocks:
            self.blocks += 1
            yield block


@dataclass(frozen=True)
class Search:
    """A search over a Parquet file of a size."""

    megabytes: int
    n_columns: int = 8
    most_components: int = 9
    max_iter: int = 30
    tol: float = 1e-3

    @property
    def n_rows(self) -> int:
        """Rows of float64 that take so many megabytes."""
        return self.megabytes * 1_000_000 // (8 * self.n_columns)

    def rows(self, say: Callable[[str], None]) -> list[list[str]]:
        """The table, from searches made now."""
        with tempfile.TemporaryDirectory(prefix="unveil-reads-") as folder:
            path = Path(folder) / "rows.parquet"
            write(path, self.n_rows, self.n_columns)
            return self.compare(path, say)

    def compare(self, path: Path, say: Callable[[str], None]) -> list[list[str]]:
        """Both ways over a file that is there."""
        sizes = range(1, self.most_components + 1)
        both = list(product(sizes, STRUCTURES))
        say(f"reads: {self.megabytes} MB, one after the other")
        apart = self._timed(path, [{"n_components": [k], "covariance_type": [word]} for k, word in both])
        say(f"reads: {self.megabytes} MB, all at once")
        together = self._timed(path, [{"n_components": sizes, "covariance_type": STRUCTURES}])
        same = "yes" if apart[0] == together[0] else "no"
        size = f"{self.megabytes:,} MB, {self.n_columns} columns"
        return [
            [size, f"{self.n_rows:,}", str(len(both)), str(count), f"{reads:.1f}", duration(seconds), same]
            for count, (_, reads, seconds) in ((len(both), apart), (1, together))
        ]

    def _timed(self, path: Path, grids: Sequence[dict[str, Any]]) -> tuple[list[float], float, float]:
        """BICs of some searches in turn, the reads that they took, and the time."""
        source = Counting(unveil.scan(path))
        model = unveil.GaussianMixture(random_state=0, max_iter=self.max_iter, tol=self.tol)
        began, found = perf_counter(), list[float]()
        for grid in grids:
            found += [row["bic"] for row in unveil.select(model, source, grid).table]
        return found, source.reads, perf_counter() - began


def write(path: Path, n_rows: int, n_columns: int) -> None:
    """Rows of some overlapping groups in a Parquet file."""
    random = np.random.default_rng(0)
    centres = random.normal(scale=3.0, size=(GROUPS, n_columns))
    names = [f"x{number}" for number in range(n_columns)]
    with pyarrow.parquet.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as file:
        for first in range(0, n_rows, CHUNK):
            labels = random.integers(GROUPS, size=min(CHUNK, n_rows - first))
            rows = centres[labels] + random.normal(size=(len(labels), n_columns))
            file.write_table(pa.table(list(rows.T), names=names))


FULL = (Search(100), Search(1000))
QUICK = (Search(4, most_components=2, max_iter=5),)
