"""One healthy fit: a model, and rows drawn from what it assumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from benchmarks.trust.planted.case import Fitted

STREAM = 23  # of the seeds
SEPARATION = 7.0  # standard deviations between the centres of groups, at the least


class Healthy(NamedTuple):
    """A fit that has nothing wrong with it."""

    name: str
    make: Callable[[], Fitted]


class Shape(NamedTuple):
    """Rows, columns, and components, states or clusters."""

    n: int
    d: int
    k: int

    def __str__(self) -> str:
        return f"{self.n} x {self.d}, {self.k}"


Draw = Callable[[np.random.Generator, Shape], Any]


def drawn_from(model: Any, draw: Draw, shape: tuple[int, int, int], note: str = "", **keywords: Any) -> Healthy:
    """A model on rows that `draw` makes of a shape; `note` tells models of one class apart."""
    sized = Shape(*shape)
    name = " ".join(filter(None, [f"{type(model).__name__}, {sized}", note]))

    def make() -> Fitted:
        X = draw(np.random.default_rng([STREAM, *shape]), sized)
        return Fitted(clone(model).fit(X, **keywords), X, keywords)

    return Healthy(name, make)


def centres(k: int, d: int) -> np.ndarray:
    """Corners of a grid, none closer to another than the separation."""
    side = int(np.ceil(k ** (1.0 / d)))
    grid = np.stack(np.unravel_index(np.arange(k), (side,) * d), axis=1)
    return np.asarray(SEPARATION * grid.astype(np.float64))


def groups(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """The group of each row; all of them as likely."""
    return random.integers(0, shape.k, shape.n)
