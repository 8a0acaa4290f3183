"""What a linear rule says of rows, block by block: functions of affine values, as engines take them.

What is not asked for is dropped with its block: to tell the class of every row of a long file takes no table of rows
by classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.estimation.input import finite_rows


@dataclass(frozen=True)
class Affine:
    """A function of (rows - centre) @ basis + offset, in float64, for one block."""

    centre: Floats
    basis: Floats
    offset: Floats
    finish: Callable[[Floats], NDArray[Any]] | None = None  # of (rows, count); None leaves the values as they are

    def __call__(self, block: Block) -> NDArray[Any]:
        """Of every row of the block."""
        with np.errstate(over="ignore"):  # of the sum that tells whether all is finite
            rows = finite_rows(block)
        values = (rows - self.centre) @ self.basis + self.offset
        return values if self.finish is None else self.finish(values)


def likeliest(scores: Floats) -> NDArray[np.intp]:
    """The place of the class of highest score, the first of equals."""
    return np.argmax(scores, axis=1)


def shares(scores: Floats) -> Floats:
    """Probabilities."""
    return np.asarray(softmax(scores, axis=1))


def log_shares(scores: Floats) -> Floats:
    """Logarithms of probabilities, exact also where these are tiny."""
    return np.asarray(log_softmax(scores, axis=1))


def margin(scores: Floats) -> Floats:
    """By how much the second of two classes is ahead; of one class, its score."""
    return scores[:, -1] - scores[:, 0] if scores.shape[1] == 2 else scores[:, 0]
