"""A table, how it is written, and what is expected of a report on it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.tables.expected import Column, Facts

STREAM = 15  # of the seeds: other numbers than those of the tables of trust
ROOT = Path(__file__).resolve().parents[2]


class Made(NamedTuple):
    """A file that was written, and the planted group of every row where there is one."""

    path: Path
    labels: np.ndarray | None = None


class Skipped(Exception):  # noqa: N818 - no error: a table that cannot be written here
    """Why a table could not be written."""


Make = Callable[[Path, np.random.Generator], Made]


@dataclass(frozen=True)
class Case:
    """One table.

    Parameters
    ----------
    name : str
        A word for the command line, and the stem of its file.
    special : str
        What is special about it.
    make : callable
        Writes it to a folder, from random numbers of its own.
    columns : sequence of Column
        In the order of the file.
    facts : Facts
        Of the summary.
    flags : tuple of str
        What a user adds to ``unveil report FILE``.
    third : bool
        Whether it is among those that `make test` runs: small ones, of all kinds of trouble.
    """

    name: str
    special: str
    make: Make
    columns: Sequence[Column]
    facts: Facts
    flags: tuple[str, ...] = ()
    third: bool = False

    def write(self, folder: Path) -> Made:
        """The file, a function of the name alone."""
        folder.mkdir(parents=True, exist_ok=True)
        return self.make(folder, np.random.default_rng([STREAM, zlib.crc32(self.name.encode())]))
