"""Row weights laid over a source that knows nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.partition import partition_rows
from unveil.core.protocols import Block, Source


@dataclass(frozen=True, eq=False)
class Weighted:
    """`source` with `weights`; they multiply the weights that the source has already.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources import ArraySource, with_weights
    >>> source = with_weights(ArraySource(np.ones((3, 2))), [1, 0, 2])
    >>> next(source.read()).weights.tolist()
    [1.0, 0.0, 2.0]
    """

    source: Source
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked_weights(self.weights, self.source.n_rows))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.source.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells."""
        return self.source.dtype

    @property
    def names(self) -> tuple[str, ...] | None:
        """Column names, where the source has them."""
        return self.source.names

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks of the source, each with its own slice of the weights."""
        for block in self.source.read(partitions):
            weights = self.weights[block.start : block.start + len(block.rows)]
            yield block._replace(weights=weights if block.weights is None else weights * block.weights)


class WeightedRemote(Weighted):
    """`Weighted` over a source whose rows can reach a worker without passing through this process."""

    def ship(self, run: int, length: int) -> tuple[Callable[..., Iterator[Block]], Any]:
        """How a worker gets run number `run` of `length` partitions each: as the source says, with its weights."""
        read, argument = self.source.ship(run, length)  # type: ignore[attr-defined]
        rows = length * partition_rows(self.n_columns)
        return partial(_weigh, read, self.weights[run * rows : (run + 1) * rows], run * rows), argument


def _weigh(
    read: Callable[..., Iterator[Block]],
    weights: NDArray[np.float64],
    first: int,
    argument: Any,
    partitions: Sequence[int],
) -> Iterator[Block]:
    """Blocks of one run with their weights, of which those of row `first` come first."""
    for block in read(argument, partitions):
        own = weights[block.start - first : block.start - first + len(block.rows)]
        yield block._replace(weights=own if block.weights is None else own * block.weights)


def with_weights(source: Source, weights: ArrayLike | None) -> Source:
    """`source` with row weights on it; `source` itself when there are none."""
    if weights is None:
        return source
    kind = WeightedRemote if hasattr(source, "ship") else Weighted
    return kind(source, np.asarray(weights, dtype=np.float64))


def checked_weights(weights: ArrayLike, n_rows: int, name: str = "sample_weight") -> NDArray[np.float64]:
    """`weights` as a float64 array, if there is one for each row and each is a number from 0 on."""
    checked: NDArray[np.float64] = np.ascontiguousarray(weights, dtype=np.float64)
    if checked.shape != (n_rows,):
        raise ValueError(f"{name} must have shape ({n_rows},), one weight a row, got {checked.shape}")
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must be finite and not negative, got {checked[row]} in row {row}")
    return checked
