"""Columns in units whose squares float64 does not hold, beyond about 1e150 or below 1e-145.

Models that need no more than lengths (clusters about centres and medoids, independent sources) learn such a
table in other units, a power of two apart, which changes no digit, and tell what they found in the user's. Models that
are described by variances cannot tell those, and refuse the table, by the name of a column and a factor for it.

Nobody looks for such columns in ordinary tables: sums of squares that overflow or vanish tell that there is something
to look for, and the rows are then read once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from sklearn.base import clone

from unveil.certificate import Certificate, Finding
from unveil.core.arrays import Array, Floats, Mask
from unveil.core.protocols import Block, Source
from unveil.estimation.base import warn_of
from unveil.numerics.sparse_rows import Compressed
from unveil.sources.mapped import Mapped
from unveil.sources.sequences import Sequences
from unveil.sources.weighted import Weighted

LARGE, SMALL = 2.0**498, 2.0**-480  # of a column's span: squares, added over 2**25 rows, keep all their digits
LENGTHS = SMALL, LARGE  # beyond which models of lengths learn in other units
VARIANCES = 2.0**-506, 2.0**505  # beyond which models of variances refuse a column: a few rows' squares are held
FEWEST = float(np.finfo(np.float64).tiny)  # below, digits are lost
ROOM = 400  # what is too large is brought to 2**400, not to 1, so that small columns beside it do not vanish
ROUGH_ROWS = 4096  # that are looked at before a fit


class UnitsError(ValueError):
    """Squares of the cells are beyond float64; `exponent` is that of the units in which they would not be, if any."""

    def __init__(self, words: str, source: Source | None = None, exponent: int = 0) -> None:
        super().__init__(words)
        self.source, self.exponent = source, exponent


@final
@dataclass(frozen=True, eq=False)
class Rescaled(Mapped):
    """`source` with its cells divided by a power of two.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources.array import ArraySource
    >>> next(Rescaled(ArraySource(np.array([[3e160, 1e160]])), 532).read()).rows.round(2).tolist()
    [[2.13, 0.71]]
    """

    exponent: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always float64: what is large in float32 is not large here."""
        return np.dtype(np.float64)

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Divide the cells."""
        return partial(_divided, self.exponent)


def _divided(exponent: int, block: Block) -> Block:
    return block._replace(rows=divided(block.rows, exponent))


def divided(rows: Any, exponent: int) -> Any:
    """Rows, dense or compressed, divided by 2**exponent."""
    if isinstance(rows, Compressed):
        return rows.with_data(np.ldexp(rows.data.astype(np.float64, copy=False), -exponent))
    return np.ldexp(np.asarray(rows, dtype=np.float64), -exponent)


def unit_of(*tables: Any) -> int:
    """The exponent of a unit in which the squares of all of these tables of as many columns are held; 0 for their own.

    >>> unit_of(np.array([[1e160]]), np.array([[3.0]])), unit_of(np.array([[1.0]]))
    (132, 0)
    """
    blocks = (Block(0, 0, rows) for rows in tables)
    return spans_of(blocks, tables[0].shape[1]).exponent


def odd_square(value: float) -> bool:
    """Whether a sum or mean of squares is such that one had better look at the units of the columns."""
    return not SMALL**1.8 < value < LARGE**2


def odd_length(value: float) -> bool:
    """The same of a length."""
    return not SMALL**0.9 < value < LARGE


class ColumnSpans(NamedTuple):
    """What the finite cells of each column span."""

    least: Floats
    most: Floats
    limits: tuple[float, float] = LENGTHS

    @property
    def spans(self) -> Floats:
        """From the least to the most."""
        with np.errstate(over="ignore"):
            return np.where(self.most >= self.least, self.most - self.least, 0.0)

    @property
    def sizes(self) -> Floats:
        """The largest of each column, whatever its sign."""
        return np.where(self.most >= self.least, np.maximum(np.abs(self.least), np.abs(self.most)), 0.0)

    @property
    def large(self) -> Mask:
        """Columns whose squares overflow."""
        return self.sizes > self.limits[1]

    @property
    def small(self) -> Mask:
        """Columns that vary, and whose squares vanish."""
        return (self.spans > 0) & (self.spans < self.limits[0])

    @property
    def exponent(self) -> int:
        """Of the units in which squares are held, the same for all columns; 0 where these are their own."""
        largest = float(self.sizes.max(initial=0.0))
        if largest > LARGE:
            return int(np.frexp(largest)[1]) - ROOM
        return int(np.frexp(largest)[1]) if 0 < largest < SMALL**0.9 else 0


def spans_of(blocks: Iterator[Block], n_columns: int) -> ColumnSpans:
    """What the finite cells of the blocks span."""
    least, most = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    for block in blocks:
        rows = block.rows if block.weights is None else block.rows[block.weights > 0]
        if isinstance(rows, Compressed):  # cells that are not stored are zero
            np.minimum.at(least, rows.indices, np.minimum(rows.data, 0.0))
            np.maximum.at(most, rows.indices, np.maximum(rows.data, 0.0))
        elif len(rows):
            finite = np.isfinite(rows)
            least = np.minimum(least, np.min(rows, axis=0, where=finite, initial=np.inf))
            most = np.maximum(most, np.max(rows, axis=0, where=finite, initial=-np.inf))
    return ColumnSpans(least, most)


def refuse_units(source: Source, small: bool = True, limits: tuple[float, float] = VARIANCES) -> None:
    """A UnitsError if a column has squares that float64 does not hold; `small` is whether they may not vanish."""
    while isinstance(source, Sequences):
        source = source.source
    found = spans_of(source.read(), source.n_columns)._replace(limits=limits)
    odd = found.large | found.small if small else found.large
    if odd.any():
        raise UnitsError(_words(found, odd, source.names), source, found.exponent)


def _words(found: ColumnSpans, odd: Mask, names: Sequence[str] | None) -> str:
    column = int(np.argmax(odd))
    size = float(found.sizes[column] if found.large[column] else found.spans[column])
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    many = f" and {np.count_nonzero(odd) - 1} more" if np.count_nonzero(odd) > 1 else ""
    power = abs(int(np.floor(np.log10(size))))
    if found.large[column]:
        what, lack, way = "cells up to", "more than float64 can hold", "divide"
    else:
        what, lack, way = "cells that differ by at most", "less than float64 can hold", "multiply"
    return f"X has {what} {size:.2g} in {where}{many}, whose squares add up to {lack}: {way} by 1e{power}"


def refuse_rough(source: Source, columns: Mask, small: bool, rows: Array) -> None:
    """`refuse_units` where a few of the rows, in some of the columns, give a reason to look."""
    some = rows[:ROUGH_ROWS]
    if not len(some) or not columns.any():
        return
    least, most = some.min(axis=0), some.max(axis=0)  # NaN where a cell is missing, which is no reason
    with np.errstate(over="ignore", invalid="ignore"):
        spans = most - least
        odd = (np.maximum(-least, most) > VARIANCES[1]) | ((spans > 0) & (spans < VARIANCES[0]) if small else False)
    if (odd & columns).any():
        refuse_units(source, small)


@contextmanager
def units_told(source: Source) -> Iterator[None]:
    """What fails while this lasts fails for the units of `source`, if there are cells whose squares overflow."""
    try:
        yield
    except UnitsError:
        raise
    except (ValueError, ArithmeticError, RuntimeWarning, np.linalg.LinAlgError) as error:
        try:
            refuse_units(source, small=False)
        except UnitsError as reason:
            raise reason from error
        raise


# -- models of lengths -------------------------------------------------------------------------------------------------


def learn_in_other_units(
    estimator: Any, error: UnitsError, powers: Mapping[str, int], given: Mapping[str, Any] | None = None
) -> None:
    """Fit an estimator in the units that an error speaks of, and tell what was found in those of the user.

    Attribute `name` goes with the power ``powers[name]`` of the unit; `given` are arguments in other units.
    """
    if error.source is None or error.exponent == 0:
        raise error
    source: Any = error.source
    weighted = isinstance(source, Weighted)
    rows = Rescaled(source.source if weighted else source, error.exponent)
    inner = clone(estimator).set_params(**(given or {}))
    inner.fit(rows, sample_weight=source.weights if weighted else None)
    known, lost = vars(estimator), []
    for name in [name for name in known if name.endswith("_") or name == "_stream"]:
        del known[name]
    for name, value in vars(inner).items():
        if not name.endswith("_"):
            continue
        known[name] = _back(value, powers[name] * error.exponent) if name in powers and value is not None else value
        if isinstance(known[name], float) and value and not FEWEST <= abs(known[name]) < np.inf:
            lost.append(f"{name} is {known[name]:.2g}, since float64 does not hold it")
    words = f"{error}; it was learnt in units of 2**{error.exponent}, and history_ is in these"
    finding = Finding("units", "warning" if lost else "note", "; ".join([words, *lost]), float(error.exponent))
    estimator.certificate_ = Certificate((*inner.certificate_.findings, finding))
    warn_of(estimator, [finding])


def _back(value: Any, exponent: int) -> Any:
    """What was found, in the units of the user."""
    with np.errstate(over="ignore", under="ignore"):
        back = np.ldexp(value, exponent)
    return back if isinstance(value, np.ndarray) else float(back)
