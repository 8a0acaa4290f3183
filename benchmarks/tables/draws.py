"""Cells to fill tables with: groups of numbers, words, dates, keys, holes. All from the Generator that is handed in."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

FIRST = (
    "Ada Alan Anna Carl Dora Emil Emma Finn Greta Hugo Ida Ivan Jane John Karl Lena Lucy Mary Max Nora Olga Otto Paul "
    "Rosa Ruth Sam Tom Vera"
)
LAST = (
    "Abbott Baker Carter Dean Evans Fisher Gray Hall Ivory Jones Kelly Lane Moore Nolan Owen Price Quinn Reed Shaw "
    "Todd Usher Vance Ward Young"
)
WORDS = (
    "the order arrived late and box was open but staff were kind so we will come again next spring with friends "
    "please call me about missing parts colour looks different from picture very happy quick delivery thank you "
    "machine stopped after two weeks support answered within an hour would like another size instead nothing to add"
)


def labels_of(random: np.random.Generator, *sizes: int) -> Labels:
    """Groups of these sizes, in random order."""
    return random.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.intp)


def clouds(random: np.random.Generator, labels: Labels, centres: Sequence[Sequence[float]]) -> Floats:
    """Round Gaussians of standard deviation 1 about the centres."""
    middle = np.asarray(centres, dtype=float)
    return np.asarray(middle[labels] + random.standard_normal((len(labels), middle.shape[1])))


def words(random: np.random.Generator, n: int, levels: Sequence[Any], shares: Any = None) -> list[Any]:
    """One of the levels for each row, by shares."""
    return [levels[at] for at in random.choice(len(levels), n, p=shares)]


def words_by(
    random: np.random.Generator, labels: Labels, levels: Sequence[Any], likely: Sequence[int], clarity: float
) -> list[Any]:
    """Each group has its likely level, with probability `clarity`; the others share the rest."""
    k = len(levels)
    table = np.full((len(likely), k), (1 - clarity) / (k - 1))
    table[np.arange(len(likely)), list(likely)] = clarity
    below = random.random(len(labels))[:, None] > table.cumsum(axis=1)[labels]
    return [levels[at] for at in np.minimum(below.sum(axis=1), k - 1)]


def holes(random: np.random.Generator, values: Sequence[Any] | np.ndarray, share: float) -> list[Any]:
    """The same with this share of cells None, at random."""
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    gone = random.random(len(plain)) < share
    return [None if out else value for value, out in zip(plain, gone, strict=True)]


def people(random: np.random.Generator, n: int) -> list[str]:
    """Names of persons: a surname, two first names and a surname at birth, hardly ever twice."""
    first, last = FIRST.split(), LAST.split()
    drawn = random.integers(0, [len(last), len(first), len(first), len(last)], (n, 4))
    return [f"{last[a]}, {first[b]} {first[c]} {last[d]}" for a, b, c, d in drawn]


def sentences(random: np.random.Generator, n: int, longest: int = 14) -> list[str]:
    """Of four words or more."""
    known, lengths = WORDS.split(), random.integers(4, longest + 1, n)
    return [" ".join(known[at] for at in random.integers(0, len(known), length)).capitalize() for length in lengths]


def keys(random: np.random.Generator, n: int) -> list[str]:
    """Universally unique identifiers of version 4."""
    return [str(uuid.UUID(bytes=random.bytes(16), version=4)) for _ in range(n)]


def days(n: int, start: date = date(2015, 1, 1), step: int = 1) -> list[date]:
    """One after the other."""
    return [start + timedelta(days=step * at) for at in range(n)]


def regimes(random: np.random.Generator, n: int, stay: float = 0.97, k: int = 2) -> Labels:
    """A chain that stays in its state with this probability."""
    states = np.zeros(n, dtype=np.intp)
    for at in range(1, n):
        moves = random.random() > stay
        states[at] = (states[at - 1] + random.integers(1, k)) % k if moves else states[at - 1]
    return states
