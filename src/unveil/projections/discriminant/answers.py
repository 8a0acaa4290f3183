"""What the rule says of rows: scores of the classes, and what is made of them, tile by tile, into place.

Of few classes there are few scores to a row, and NumPy's loop over them takes longer than what it does: tiles are then
laid out (classes, rows), so that loops run over rows. Of many classes rows are long enough, and probabilities are made
where they stay, in the answer: nothing of its size is held besides it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.numerics.tiles import numpy_tile_rows
from unveil.projections.affine import check_finite
from unveil.projections.lines import centred

MANY_CLASSES = 24  # from which a row of scores is a line long enough

Finish = Callable[[Floats, int], NDArray[Any]]  # of scores, which may be overwritten, and the axis of the classes


class ClassScores(NamedTuple):
    """log p(k | x) up to a term that the classes share: (x - centre) basis + offset."""

    centre: Floats
    basis: Floats  # (columns, classes)
    offset: Floats  # (classes,)

    def fill(self, finish: Finish | None, block: Block, out: NDArray[Any]) -> None:
        """The scores of a block, or what `finish` makes of them."""
        many, size = self.basis.shape[1] >= MANY_CLASSES, numpy_tile_rows(sum(self.basis.shape))
        basis = np.ascontiguousarray(self.basis if finish is None or many else self.basis.T)
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, len(block.rows), size):
                x, into = centred(block.rows[first : first + size], self.centre), out[first : first + size]
                answers = (
                    self._along(x, basis, finish, block, into)
                    if finish is None or many
                    else self._across(x, basis, finish, block)
                )
                if answers is not into:
                    into[:] = answers

    def _along(self, x: Floats, basis: Floats, finish: Finish | None, block: Block, into: NDArray[Any]) -> NDArray[Any]:
        """By rows that are long, where the answer will be if there is room for scores."""
        fits = into.shape == (len(x), len(self.offset)) and into.dtype == np.float64
        scores = np.matmul(x, basis, out=into if fits else None)
        check_finite(scores, block)  # before the offset, which is -inf for a class that is never taken
        centred(scores, -self.offset, scores)
        return scores if finish is None else finish(scores, 1)

    def _across(self, x: Floats, basis: Floats, finish: Finish, block: Block) -> NDArray[Any]:
        """By lines of rows, one a class."""
        scores = basis @ x.T
        check_finite(scores, block)
        scores += self.offset[:, None]
        return finish(scores, 0).T


def likeliest(scores: Floats, axis: int) -> NDArray[np.intp]:
    """The place of the class of highest score, the first of equals."""
    if axis == 1:
        return np.argmax(scores, axis=1)
    best, places = scores[0], np.zeros(scores.shape[1], dtype=np.intp)
    for place, line in enumerate(scores[1:], start=1):
        places = np.where(line > best, place, places)
        best = np.maximum(best, line)
    return places


def shares(scores: Floats, axis: int) -> Floats:
    """Probabilities."""
    scores -= np.maximum.reduce(scores, axis=axis, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, axis=axis, keepdims=True)
    return scores


def log_shares(scores: Floats, axis: int) -> Floats:
    """Logarithms of probabilities, exact also where these are tiny."""
    scores -= np.maximum.reduce(scores, axis=axis, keepdims=True)
    scores -= np.log(np.add.reduce(np.exp(scores), axis=axis, keepdims=True))
    return scores


def margin(scores: Floats, axis: int) -> Floats:
    """By how much the second of two classes is ahead; of one class, its score."""
    lines = scores.T if axis == 1 else scores
    return lines[1] - lines[0] if len(lines) == 2 else lines[0]
