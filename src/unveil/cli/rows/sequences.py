"""Tables whose rows are the steps of sequences, and files of sentences: what chains and grammars read."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.sources.errors import DataError


def lengths_of(keys: list[Any], column: str) -> NDArray[np.intp]:
    """Lengths of runs of equal keys; a sequence whose rows do not follow each other is an error."""
    runs = [(key, len(list(group))) for key, group in groupby(keys)]
    seen: set[Any] = set()
    for number, (key, _) in enumerate(runs):
        if key in seen:
            row = sum(length for _, length in runs[:number]) + 1
            raise DataError(
                f"column {column!r}: the rows of a sequence must follow each other; one goes on in row {row} "
                "after rows of others: sort the table"
            )
        seen.add(key)
    return np.array([length for _, length in runs], dtype=np.intp)


class Sentences(list[str]):
    """The lines of a text file, a sentence each, with what of a table the commands ask for."""

    names, skipped, n_columns, weights = None, (), 1, None

    def __init__(self, lines: list[str], files: tuple[Path, ...]) -> None:
        super().__init__(lines)
        self.files = files

    @property
    def n_rows(self) -> int:
        """Number of sentences."""
        return len(self)


def read_sentences(data: str) -> Sentences:
    """The sentences of a text file, one a line; lines without words are left out."""
    text = read_text(data)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise DataError(f"{data}: no sentences; expected one a line, words with spaces between them")
    return Sentences(lines, (Path(data),))


def read_text(path: str) -> str:
    """A text file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not a text file in UTF-8: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
