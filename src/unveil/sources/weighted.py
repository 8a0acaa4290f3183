"""Row weights laid over a source that knows nothing of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.protocols import Block, Source
from unveil.sources.mapped import Mapped

SMALLEST, LARGEST = 1e-100, 1e100  # of the largest weight, and of the sum: their products with cells must not overflow
FAINT = 1e-200  # times the largest: less is no weight, in sums to which it adds nothing and where it would divide


@final
@dataclass(frozen=True, eq=False)
class Weighted(Mapped):
    """`source` with `weights`; they multiply the weights that the source has already.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources import ArraySource, with_weights
    >>> source = with_weights(ArraySource(np.ones((3, 2))), [1, 0, 2])
    >>> next(source.read()).weights.tolist()
    [1.0, 0.0, 2.0]
    """

    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked_weights(self.weights, self.source.n_rows))

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Lay the weights of these rows over their blocks."""
        return partial(_weigh, self.weights[first:last], first)


def _weigh(weights: NDArray[np.float64], first: int, block: Block) -> Block:
    """`block` with its own of the `weights`, of which those of row `first` come first."""
    own = weights[block.start - first : block.start - first + len(block.rows)]
    return block._replace(weights=own if block.weights is None else own * block.weights)


def with_weights(source: Source, weights: ArrayLike | None) -> Source:
    """`source` with row weights on it; `source` itself when there are none."""
    return source if weights is None else Weighted(source, np.asarray(weights, dtype=np.float64))


def checked_weights(
    weights: ArrayLike, n_rows: int, name: str = "sample_weight", each: str = "a row"
) -> NDArray[np.float64]:
    """`weights` as a float64 array, if there is one for each row and each is a number from 0 on; faint ones are 0."""
    checked: NDArray[np.float64] = np.ascontiguousarray(weights, dtype=np.float64)
    if checked.shape != (n_rows,):
        raise ValueError(f"{name} must have shape ({n_rows},), one weight {each}, got {checked.shape}")
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must be finite and not negative, got {checked[row]} in {each.split()[-1]} {row}")
    largest = float(checked.max(initial=0.0))
    if largest and not (SMALLEST <= largest <= LARGEST / n_rows):
        raise ValueError(
            f"{name} must have its largest entry between {SMALLEST:g} and {LARGEST:g} / rows, so that sums over rows "
            f"keep their digits; got {largest:g}: multiply all by a constant"
        )
    faint = (checked > 0) & (checked < FAINT * largest)
    return np.where(faint, 0.0, checked) if faint.any() else checked
