"""Arguments and options that several verbs share."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

option = partial(typer.Option, show_default=False)  # defaults are said in words
argument = partial(typer.Argument, show_default=False)

Data = Annotated[
    str,
    argument(
        metavar="DATA",
        help='A table: CSV, TSV, Parquet, Feather or npy; a file, a folder, or a pattern in quotes ("part-*.parquet").',
    ),
]
Columns = Annotated[
    str | None,
    option(
        metavar="A,B,...",
        help="Columns to use; all that the model can by default. Names with commas go in quotes: '\"a,b\",c'.",
    ),
]
Weight = Annotated[str | None, option(metavar="COLUMN", help="A column that says how often each row counts.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all randomness; equal seeds, equal results.")]
Threads = Annotated[
    int | None, option(min=1, help="Threads to run on; changes nothing but the time. By default all cores.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def names_in(columns: str | None, option: str = "--columns") -> list[str] | None:
    """The names in a list with commas; None where there is no list."""
    if columns is None:
        return None
    names = [name.strip() for name in next(csv.reader([columns], skipinitialspace=True), [])]
    if not all(names) or not names:
        raise ValueError(f"{option} must be names with commas between them, got {columns!r}")
    return names


def use_threads(count: int | None) -> None:
    """Set the number of threads for this process; it is no part of a model, so it is not a parameter of one."""
    if count is not None:
        os.environ["UNVEIL_THREADS"] = str(count)


def protect(output: str, inputs: Iterable[Path | str]) -> None:
    """Refuse to write where nothing can be written, and over what is to be read."""
    from unveil.storage.atomic import checked_target

    target = checked_target(output)
    for source in inputs:
        if target.exists() and os.path.exists(source) and os.path.samefile(target, source):
            raise ValueError(f"{output}: is an input and would be overwritten; choose another name")
