"""Independent components: voices that were mixed, heavy and light tails side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.base import Arrays, Task

REACHED = 1e-7  # largest entry of the gradient at which a solution counts as found


@dataclass(frozen=True)
class Sources(Task):
    """A whole fit, each with the tolerance of its own at which the gradient is small enough by the common measure."""

    n_rows: int
    n_columns: int
    seed: int = 0

    word: ClassVar[str] = "sources"
    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "Amari distance"
    searches: ClassVar[bool] = True

    def arrays(self) -> Arrays:
        """Laplace and uniform noise, sines, square waves and Student's t, and how they are mixed."""
        random, time = np.random.default_rng(self.seed), np.arange(self.n_rows)
        kinds = (
            lambda: random.laplace(size=self.n_rows),
            lambda: random.uniform(-1, 1, self.n_rows),
            lambda: np.sin(time * (0.01 + 0.013 * random.random()) + random.random()),
            lambda: np.sign(np.sin(time * (0.007 + 0.01 * random.random()) + random.random())),
            lambda: random.standard_t(5, self.n_rows),
        )
        voices = np.stack([kinds[number % len(kinds)]() for number in range(self.n_columns)], axis=1)
        mixing = random.normal(size=(self.n_columns, self.n_columns))
        return {"rows": voices @ mixing.T, "mixing": mixing}

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit; there is nothing to repeat."""
        return (1,)

    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """How far the product of unmixing and mixing is from a permutation; not finite if the search ended too soon."""
        if gradient_norm(solution["unmixing"], arrays["rows"]) > REACHED:
            return np.array([np.inf])
        return np.array([amari_distance(solution["unmixing"], arrays["mixing"])])


def amari_distance(unmixing: NDArray[np.float64], mixing: NDArray[np.float64]) -> float:
    """How far the product of the two is from a permutation, from 0 to 1, whatever the scales (Amari et al., 1996)."""
    product = np.abs(unmixing @ mixing)
    beside = sum(np.sum(table.sum(axis=1) / table.max(axis=1) - 1.0) for table in (product, product.T))
    return float(beside / (2 * len(product) * (len(product) - 1)))


def gradient_norm(unmixing: NDArray[np.float64], rows: NDArray[np.float64]) -> float:
    """Largest entry of the gradient, among rotations, of the likelihood with log cosh and signs by kurtosis."""
    voices = (rows - rows.mean(axis=0)) @ unmixing.T
    voices /= voices.std(axis=0)
    slopes = np.tanh(voices)
    moments = slopes.T @ voices / len(voices)
    signs = np.sign((1.0 - slopes**2).mean(axis=0) - np.diag(moments))
    gradient = signs[:, None] * moments
    return float(np.abs(gradient - gradient.T).max() / 2)
