"""What users hand in as sequences: one table of all steps with lengths, as hmmlearn has it, or a list of sequences.

A table is anything that other estimators take. Which rows belong together is said by `lengths`; without them all rows
are one sequence. A list of arrays or frames is one sequence each, and needs no lengths; `Sequences` over a file know
theirs.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Indices
from unveil.core.protocols import Source
from unveil.estimation.looks import looked
from unveil.sources.sequences import Sequences
from unveil.sources.weighted import with_weights


class Handed(NamedTuple):
    """A table of all steps, and the lengths of the sequences where the user's list says them."""

    table: Any
    lengths: Indices | None


def handed(X: Any) -> Handed:
    """The steps of all sequences as one table.

    >>> import numpy as np
    >>> one, other = np.zeros((2, 1)), np.ones(3)
    >>> table, lengths = handed([one, other])
    >>> table.ravel().tolist(), lengths.tolist()
    ([0.0, 0.0, 1.0, 1.0, 1.0], [2, 3])
    """
    if isinstance(X, Sequences):
        return Handed(looked("steps", X, lambda: X.source), X.lengths)
    if not isinstance(X, list | tuple) or not X or not all(map(_is_sequence, X)):
        _refuse_ragged(X)
        return Handed(X, None)
    pieces = [_two_dimensional(number, one) for number, one in enumerate(X)]
    widths = [int(piece.shape[1]) for piece in pieces]
    odd = next((number for number, width in enumerate(widths) if width != widths[0]), None)
    if odd is not None:
        counts = f"sequence 0 has {widths[0]} and sequence {odd} has {widths[odd]}"
        raise ValueError(f"the sequences in X must have the same number of columns, but {counts}")
    lengths = np.array([len(piece) for piece in pieces], dtype=np.intp)
    return Handed(_joined(pieces), lengths)


def _is_sequence(one: Any) -> bool:
    """Whether an entry of a list is a sequence of its own, not a row: an array, a frame, or rows in a list."""
    if isinstance(one, list | tuple):
        return bool(one) and all(isinstance(row, list | tuple | np.ndarray) for row in one)
    return len(getattr(one, "shape", ())) in (1, 2)


def _refuse_ragged(X: Any) -> None:
    """A list of lists is a table, so its rows must have one length."""
    if not isinstance(X, list | tuple) or not all(isinstance(row, list | tuple) for row in X):
        return
    if len({len(row) for row in X}) > 1:
        taken = "a list of sequences holds arrays, or a list of rows each"
        raise ValueError(f"X is a list of rows of different lengths, which is no table; {taken}")


def _two_dimensional(number: int, one: Any) -> Any:
    """A sequence as a table: an array of numbers or words in a row is one column."""
    if hasattr(one, "columns") or hasattr(one, "dask"):
        return one if len(one.shape) == 2 else one.reshape(-1, 1)
    if isinstance(one, list | tuple):
        widths = {len(row) for row in one}
        if len(widths) > 1:
            raise ValueError(f"sequence {number} in X must have rows of one length, got {sorted(widths)}")
        cells = [cell for row in one for cell in row]
        mixed = any(isinstance(cell, str) or cell is None for cell in cells)
        return np.array(one, dtype=object if mixed else None)
    array = np.asarray(one)
    return array[:, None] if array.ndim == 1 else array


def _joined(pieces: list[Any]) -> Any:
    """Tables one below the other, by whoever made them."""
    first = pieces[0]
    kind = type(first).__module__.partition(".")[0]
    if len(pieces) == 1:
        return first
    if kind == "pandas":
        return importlib.import_module(kind).concat(pieces, ignore_index=True)
    if kind == "polars":
        return importlib.import_module(kind).concat(pieces)
    if hasattr(first, "dask"):
        return importlib.import_module("dask.array").concatenate(pieces)
    if any(piece.dtype.kind in "OUS" for piece in pieces):  # words stay whole, and numbers among them numbers
        pieces = [piece.astype(object) for piece in pieces]
    return np.concatenate(pieces)


def lengths_of(y: Any, lengths: Any, n_rows: int) -> Any:
    """The lengths that a user means by what stands in the second place of `fit`, or by `lengths`; None for one.

    In second place scikit-learn has labels, which are of no use here, and hmmlearn has lengths: `y` is taken for
    lengths where it holds integers from 1 on that sum to the number of rows, and ignored where it has an entry for each
    row.
    """
    if lengths is not None or y is None:
        return lengths
    given = _array(y)
    if given is not None and _add_up(given, n_rows):
        return given
    if given is not None and given.shape[:1] == (n_rows,):
        return None
    got = "something else" if given is None else f"an array of shape {given.shape} with the sum {_sum(given)}"
    raise ValueError(f"lengths must be integers from 1 on that sum to the number of rows, {n_rows}, got {got}")


def _array(value: Any) -> NDArray[Any] | None:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    return array if array.ndim else None


def _add_up(given: NDArray[Any], n_rows: int) -> bool:
    """Whether these can be lengths of sequences that make up so many rows."""
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        return False
    return bool(given.min() >= 1 and int(given.sum()) == n_rows)


def _sum(given: NDArray[Any]) -> Any:
    return given.sum() if given.dtype.kind in "iufb" else "of words"


def as_sequences(source: Source, found: Indices | None, lengths: Any, sequence_weight: Any) -> Sequences:
    """`source` as sequences: of the lengths `found` in a list, of `lengths`, or as a single one."""
    if found is not None and lengths is not None and not np.array_equal(found, np.asarray(lengths)):
        raise ValueError("lengths must be left out where X is a list of sequences, which have lengths of their own")
    chosen = lengths if found is None else found
    made = _made(source, chosen, _weights(sequence_weight))
    if chosen is not None and not made.lengths.all():
        number = int(np.argmin(made.lengths))
        raise ValueError(f"lengths must be integers from 1 on, got 0 for sequence {number}")
    if made.sequence_weights is not None and not made.sequence_weights.any():
        raise ValueError("sequence_weight must have a positive entry, got zeros only: no sequence would count")
    return made


def _made(source: Source, lengths: Any, weights: Any) -> Sequences:
    """Sequences of a source; the same again for fits to the same rows that are made side by side."""
    key = (None if one is None else np.asarray(one).tobytes() for one in (lengths, weights))
    return looked("sequences", source, lambda: Sequences(source, lengths, weights), *key)


def shares_of(X: Any, sequence_weight: Any) -> Any:
    """Weights of the sequences: those that are handed in, or that `X` brings along."""
    return X.sequence_weights if sequence_weight is None and isinstance(X, Sequences) else sequence_weight


def _weights(sequence_weight: Any) -> Any:
    if sequence_weight is None:
        return None
    try:
        return np.asarray(sequence_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sequence_weight must be numbers, one for each sequence: {error}") from None


def joined_weights(sample_weight: Any) -> Any:
    """Weights of all steps as one array, where there is one array for each sequence of a list."""
    if not isinstance(sample_weight, list | tuple) or not sample_weight:
        return sample_weight
    pieces = [np.asarray(one) for one in sample_weight]
    return np.concatenate(pieces) if all(piece.ndim == 1 for piece in pieces) else sample_weight


def rows_of(source: Sequences) -> Source:
    """The steps by themselves, each with the weight that it has in all: its own times that of its sequence."""
    if source.sequence_weights is None:
        return source.source
    return with_weights(source.source, np.repeat(source.sequence_weights, source.lengths))
