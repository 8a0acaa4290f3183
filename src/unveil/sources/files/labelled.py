"""Labels beside rows: a source whose blocks say the class of each row, and the ways labels become small whole numbers.

Classes are sorted; the code of a label is the place of its class. Codes are kept in the smallest type that holds them:
one byte a row for up to 256 classes, also where the rows are in files that are larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Block
from unveil.sources.errors import DataError
from unveil.sources.files.formats import NUMERIC_WORDS
from unveil.sources.files.scan import Scan
from unveil.sources.mapped import Mapped

COUNTED_RANGE = 1 << 20  # range of whole numbers up to which a table of all of them beats sorting
EXACT_BELOW = 2.0**53  # whole numbers below it are all different in float64


@final
@dataclass(frozen=True, eq=False)
class Labelled(Mapped):
    """`source` with `codes` beside its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources import ArraySource
    >>> from unveil.sources.files.labelled import Labelled, encode
    >>> labels = encode(np.array(["b", "a", "b"]))
    >>> labels.classes.tolist(), next(Labelled(ArraySource(np.ones((3, 2))), labels.codes).read()).codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """

    codes: NDArray[np.unsignedinteger]

    def __post_init__(self) -> None:
        if self.codes.shape != (self.source.n_rows,):
            got = f"X has {self.source.n_rows} rows, y has shape {self.codes.shape}"
            raise ValueError(f"y must have one label a row, got inconsistent numbers of samples: {got}")

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Lay the codes of these rows beside their blocks."""
        return partial(_label, self.codes[first:last], first)


def _label(codes: NDArray[np.unsignedinteger], first: int, block: Block) -> Block:
    """`block` with its own of the `codes`, of which that of row `first` comes first."""
    return block._replace(codes=codes[block.start - first : block.start - first + len(block.rows)])


class Labels(NamedTuple):
    """Sorted classes, and the place of each row's class among them."""

    classes: NDArray[Any]
    codes: NDArray[np.unsignedinteger]


def labels_in(y: Any) -> NDArray[Any]:
    """What a user hands in as labels, as an array of whole numbers, words, or numbers that are whole."""
    from sklearn.utils import assert_all_finite, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    labels: NDArray[Any] = y.compute() if hasattr(y, "__dask_graph__") else y
    if not (type(labels) is np.ndarray and labels.ndim == 1):
        labels = column_or_1d(labels, warn=True)
    if len(labels) == 0:
        raise ValueError("y must have at least one label, got none")
    if labels.dtype.kind not in "biuU" and not isinstance(labels[0], str):  # these are labels without a closer look
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
    return labels


def encode(labels: NDArray[Any]) -> Labels:
    """The classes of an array, and codes: by counting where labels are whole numbers, by hashing where they are words.

    >>> encode(np.array([7, 3, 7])).codes.tolist()
    [1, 0, 1]
    """
    if labels.dtype.kind in "biu":
        low, high = int(labels.min()), int(labels.max())
        if high - low < COUNTED_RANGE and high <= np.iinfo(np.int64).max:
            return _counted(labels, low, high)
    if labels.dtype.kind in "UO" and isinstance(labels[0], str):
        words = _as_words(labels)
        if words is not None:
            return joined([_hashed(words)])
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:  # labels that have no order
        raise ValueError(f"y must hold labels of one kind, all words or all numbers, none missing: {error}") from error
    return Labels(classes, codes.astype(_type(len(classes))))


def place(labels: Labels, classes: NDArray[Any]) -> NDArray[np.unsignedinteger]:
    """Codes of `labels` among other sorted `classes`; a label that is not there is an error."""
    places = np.minimum(np.searchsorted(classes, labels.classes), len(classes) - 1)
    strange = labels.classes[classes[places] != labels.classes]
    if len(strange):
        raise ValueError(f"y holds {strange.tolist()[0]!r}, which is not one of the classes {classes.tolist()}")
    return places.astype(_type(len(classes)))[labels.codes]


def known_classes(told: Any, before: NDArray[Any] | None) -> NDArray[Any]:
    """All classes of a stream: as its first call was `told`, which later calls may repeat but not change."""
    if told is None:
        if before is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return before
    classes = np.unique(told)
    if before is not None and not np.array_equal(classes, before):
        raise ValueError(f"classes={classes.tolist()} are not those of the calls before, {before.tolist()}")
    return classes


def joined(pieces: Iterable[Labels]) -> Labels:
    """Labels of consecutive rows as one; the classes of a piece need not be sorted."""
    seen: dict[Any, int] = {}
    codes: list[NDArray[np.unsignedinteger]] = []
    for piece in pieces:
        table = np.array([seen.setdefault(value, len(seen)) for value in piece.classes.tolist()], dtype=np.intp)
        codes.append(table.astype(_type(len(seen)))[piece.codes])
    values = np.array(list(seen))
    order = np.argsort(values, kind="stable")
    places = np.empty(len(order), dtype=_type(len(order)))
    places[order] = np.arange(len(order))
    return Labels(values[order], places[np.concatenate(codes)])


def column_labels(scan: Scan, name: str) -> Labels:
    """The labels in a column of a scan's files, words or numbers, by reading it once."""
    _refuse_other(scan, name)
    kinds = dict(scan.schema())
    if name not in kinds:
        raise DataError(f"y must be an array or name a column of the scan, got {name!r}; there are {list(kinds)}")
    return joined(_numbers(scan, name, kinds[name]) if kinds[name] in NUMERIC_WORDS else _words(scan, name))


def without_column(scan: Scan, name: str) -> Scan:
    """The scan with all of its columns but the one of the labels."""
    _refuse_other(scan, name)
    names = scan._plan.names
    return (
        scan
        if name not in names
        else Scan(scan.files, [other for other in names if other != name], scan._weight, scan._options)
    )


def _refuse_other(table: Any, name: str) -> None:
    if not isinstance(table, Scan):
        raise ValueError(f"y={name!r} names a column, which needs X to be a scan, got {type(table).__name__}")


def _counted(labels: NDArray[Any], low: int, high: int) -> Labels:
    """By a table of all whole numbers from `low` to `high`."""
    offsets = labels.astype(np.int64) - low
    there = np.flatnonzero(np.bincount(offsets, minlength=high - low + 1))
    table = np.zeros(high - low + 1, dtype=_type(len(there)))
    table[there] = np.arange(len(there))
    return Labels((there + low).astype(labels.dtype), table[offsets])


def _hashed(words: Any) -> Labels:
    """By Arrow's dictionary of an array of words."""
    encoded = words.dictionary_encode()
    return Labels(np.array(encoded.dictionary.to_pylist(), dtype=object), np.asarray(encoded.indices))


def _as_words(labels: NDArray[Any]) -> Any:
    """An Arrow array of words; None if there is anything else among them."""
    import pyarrow as pa

    try:
        words = pa.array(labels, type=pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    return None if words.null_count else words


def _type(n_classes: int) -> Any:
    """The smallest whole numbers that so many codes fit in."""
    return np.min_scalar_type(max(n_classes - 1, 0))


def _numbers(scan: Scan, name: str, kind: str) -> Iterator[Labels]:
    """Labels in a column of numbers, as whole numbers or truth values where it holds these."""
    dtype = {"integer": np.int64, "yes/no": np.bool_}.get(kind, np.float64)
    for block in Scan(scan.files, [name], None, scan._options).read():
        cells = block.rows[:, 0]
        _refuse_missing(np.isnan(cells), name, block.start)
        _refuse_inexact(cells, name, block.start)
        yield encode(cells.astype(dtype))


def _words(scan: Scan, name: str) -> Iterator[Labels]:
    """Labels in a column of words."""
    import pyarrow as pa

    first = 0
    for file in scan._plan.files:
        for batch in file.format.batches(file.path, file.header, [name], None):
            cells = batch.column(0)
            _refuse_missing(np.asarray(cells.is_null()), name, first)
            words = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
            yield _hashed(words if pa.types.is_string(words.type) else words.cast(pa.string()))
            first += len(cells)


def _refuse_missing(missing: NDArray[np.bool_], name: str, first: int) -> None:
    """An error that names the first row without a label."""
    if missing.any():
        row = first + int(np.argmax(missing))
        raise DataError(f"column {name!r} has no label in row {row}; y must have one for every row")


def _refuse_inexact(cells: NDArray[Any], name: str, first: int) -> None:
    """An error for numbers that are no labels, and for labels that float64 cannot tell from their neighbours."""
    fractions = cells != np.floor(cells)
    if fractions.any():
        row = int(np.argmax(fractions))
        raise DataError(
            f"column {name!r} has {cells[row]:g} in row {first + row}; labels must be whole numbers or words"
        )
    if np.any(np.abs(cells) >= EXACT_BELOW):
        raise DataError(
            f"column {name!r} has numbers of more than 53 bits, which are not read exactly; make them words"
        )
