"""Arguments and options that several verbs share."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions

option = partial(typer.Option, show_default=False)  # defaults are said in words
number = partial(typer.Option, metavar="N")
argument = partial(typer.Argument, show_default=False, show_choices=False)

READING = "How the table is read (else guessed, and said)"
ROLES = "What columns are (else guessed, and said)"

Data = Annotated[
    str,
    argument(
        metavar="DATA",
        help="A table: CSV, TSV, JSON lines, Excel, Parquet, Feather or npy; a file, a folder, a pattern in quotes "
        '("part-*.parquet"), or - for standard input.',
    ),
]
Model = Annotated[str, argument(metavar="MODEL", help="A model file, as unveil fit writes it.")]
Columns = Annotated[
    str | None,
    option(
        metavar="A,B,...",
        help="Columns to use; all that the model can by default. Names with commas go in quotes: '\"a,b\",c'.",
        rich_help_panel=ROLES,
    ),
]
Weight = Annotated[str | None, option(metavar="COLUMN", help="Says how often each row counts.", rich_help_panel=ROLES)]
Seed = Annotated[int, number(min=0, max=2**32 - 1, help="Seed of all randomness; equal seeds, equal results.")]
Threads = Annotated[
    int | None,
    number(show_default=False, min=1, help="Threads to run on, all cores by default; changes nothing but the time."),
]
MemoryLimit = Annotated[
    str | None,
    option(
        metavar="SIZE",
        help="Memory of the process, such as 2GB, that fits keep within where they can choose; changes nothing but the "
        "time.",
    ),
]
Checkpoint = Annotated[
    str | None,
    option(
        metavar="FILE",
        help="Write there every minute how far it came; the same command, given again, goes on from there. Removed at "
        "the end.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="A .csv or .parquet file; - is CSV on stdout.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace the file to write if it is there.")]
Sequence = Annotated[
    str | None,
    option(
        metavar="NAME",
        help="Column that names the sequence a row belongs to (hidden Markov models); without it all rows are one.",
    ),
]

Encoding = Annotated[
    str | None, option(metavar="NAME", help="utf-8, latin-1, utf-16 and so on.", rich_help_panel=READING)
]
Separator = Annotated[
    str | None,
    option(
        metavar="MARK", help="Between cells: a mark, or comma, semicolon, tab, bar, space.", rich_help_panel=READING
    ),
]
Decimal = Annotated[str | None, option(metavar="MARK", help="The decimal mark: . or ,", rich_help_panel=READING)]
Header = Annotated[
    bool | None,
    option(
        "--header/--no-header",
        help="Does the first line name the columns?",
        rich_help_panel=READING,
    ),
]
Missing = Annotated[
    str | None,
    option(metavar="A,B,...", help="Words for what is missing, besides an empty cell.", rich_help_panel=READING),
]
Roles = Annotated[
    str | None,
    option(
        metavar="A=ROLE,...",
        help="number, count, yes/no, category, ordered, date, id, text or drop, as in PassengerId=id,Pclass=category.",
        rich_help_panel=ROLES,
    ),
]
Drop = Annotated[str | None, option(metavar="A,B,...", help="Columns to leave out.", rich_help_panel=ROLES)]


def names_in(columns: str | None, option: str = "--columns") -> list[str] | None:
    """The names in a list with commas; None where there is no list."""
    if columns is None:
        return None
    names = [name.strip() for name in next(csv.reader([columns], skipinitialspace=True), [])]
    if not all(names) or not names:
        raise ValueError(f"{option} must be names with commas between them, got {columns!r}")
    return names


def pairs_in(given: str | None, option: str) -> dict[str, str]:
    """What a list such as A=x,B=y says of each name; names may hold ``=``, what is said of them may not."""
    pairs = {}
    for pair in names_in(given, option) or []:
        name, equals, value = (part.strip() for part in pair.rpartition("="))
        if not (name and equals and value):
            raise ValueError(f"{option} must be COLUMN=WORD with commas between them, got {pair!r}")
        pairs[name] = value
    return pairs


def use_threads(count: int | None) -> None:
    """Set the number of threads for this process; it is no part of a model, so it is not a parameter of one."""
    if count is not None:
        os.environ["UNVEIL_THREADS"] = str(count)


def use_memory(limit: str | None) -> None:
    """Set the limit of memory for this process and those that it starts."""
    from unveil.core.memory import LIMIT_NAME, bytes_of

    if limit is not None:
        bytes_of(limit, "--memory-limit")
        os.environ[LIMIT_NAME] = limit


def protect(
    output: str, inputs: Iterable[Path | str], force: bool, own: Callable[[Path], bool] = lambda path: False
) -> None:
    """Refuse to write where nothing can be written, over what is to be read, and over a file that is there.

    ``--force`` allows the last; so does `own`, asked whether a file may be replaced unasked because unveil wrote it,
    which only the report does: a page is made again from its table, a model may be a night's work.
    """
    from unveil.storage.atomic import checked_target

    target = checked_target(output)
    for source in inputs:
        if target.exists() and os.path.exists(source) and os.path.samefile(target, source):
            raise ValueError(f"{output}: is an input and would be overwritten; choose another name")
    if target.is_file() and not force and not own(target):
        raise FileExistsError(f"{output}: is there already; --force replaces it")


def resuming(path: str | None, inputs: Iterable[Path | str]) -> AbstractContextManager[None]:
    """A checkpoint at `path`, which may be none of the files that are read; nothing where no path was given."""
    import unveil

    if path is None:
        return nullcontext()
    for source in inputs:
        if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
            raise ValueError(f"--checkpoint {path}: is an input and would be overwritten; choose another name")
    return unveil.checkpoint(path)


def is_begun(path: str | None) -> bool:
    """Whether there is a checkpoint to go on from: what it left at its end is then replaced by the same command."""
    return path is not None and os.path.exists(path)


Verb = TypeVar("Verb", bound=Callable[..., None])
_READING = {"encoding": Encoding, "separator": Separator, "decimal": Decimal, "header": Header, "missing": Missing}


def reads_tables(verb: Verb) -> Verb:
    """A verb that takes ``reading`` as a command that has an option for each field of `ReadingOptions`."""

    @wraps(verb)
    def command(*args: Any, **given: Any) -> None:
        fields = {name: given.pop(name) for name in _READING}
        verb(*args, **given, reading=reading_options(**fields))

    verb.__annotations__.pop("reading", None)  # its type takes long to import, and is no option
    own = [one for one in signature(verb, eval_str=True).parameters.values() if one.name != "reading"]
    more = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=word)
        for name, word in _READING.items()
    ]
    command.__signature__ = Signature([*own, *more])  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in [*own, *more]}
    return cast(Verb, command)


def reading_options(
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    missing: str | None = None,
) -> ReadingOptions:
    """What was said of how a table is to be read."""
    from unveil.sources.files.reading import ReadingOptions

    words = names_in(missing, "--missing")
    return ReadingOptions(encoding, separator, decimal, header, None if words is None else tuple(words))
