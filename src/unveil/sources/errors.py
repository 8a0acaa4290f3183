"""What is said when data cannot be read: one line that names the file and what was expected of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_MESSAGE = 200  # characters of a foreign message that are passed on


class DataError(ValueError):
    """The data cannot be read as what it claims to be."""


@contextmanager
def blame(path: Path, expected: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into a `DataError` that names `path` and what was `expected`."""
    try:
        yield
    except (DataError, FileNotFoundError):
        raise
    except PermissionError as error:
        raise DataError(f"{path}: no permission to read it") from error
    except (OSError, ValueError, KeyError, NotImplementedError, EOFError) as error:  # Arrow's own derive from these
        raise DataError(f"{path}: cannot be read as {expected}: {one_line(error)}") from error


def one_line(said: object, longest: int = LONGEST_MESSAGE, end: str = "...") -> str:
    """What an object says of itself, printable, on one line of bearable length."""
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(said)).split())
    return text if len(text) <= longest else text[: longest - len(end)] + end
