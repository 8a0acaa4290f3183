"""``unveil demo``: data with a known answer, what is found in them, and whether the two agree."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.models import did_you_mean
from unveil.cli.options import Force, argument, option, protect

if TYPE_CHECKING:
    from unveil.cli.demos.demo import Demo, Table


def demo(
    name: Annotated[str | None, argument(metavar="NAME", help="Which one; without it they are listed.")] = None,
    output: Annotated[
        str | None, option("--output", "-o", metavar="FILE", help="Write the data too, to try other commands on.")
    ] = None,
    force: Force = False,
) -> None:
    """Run a data set whose answer is known, and explain what is found in it and whether that is right.

    unveil demo lists them. Nothing is fetched and nothing is written unless -o names a file.
    """
    demos = _demos()
    if name is None:
        _list(demos)
        return
    if name.lower() not in demos:
        raise ValueError(
            f"no demonstration is called {name!r}; there are {', '.join(demos)}{did_you_mean(name, _same(demos))}"
        )
    chosen = demos[name.lower()]
    if output is not None:
        protect(output, (), force)
    table = chosen.data()
    if output is not None:
        _write(chosen, table, output)
    _explain(name.lower(), chosen, table, output)


def _demos() -> dict[str, Demo]:
    from unveil.cli.demos import groups, others

    return {**groups.DEMOS, **others.DEMOS}


def _same(demos: dict[str, Any]) -> dict[str, str]:
    return {name: name for name in demos}


def _list(demos: dict[str, Demo]) -> None:
    """One line each."""
    widest = max(map(len, demos))
    for name, one in demos.items():
        typer.echo(f"{name:{widest}}  {one.line}")
    typer.echo("\nunveil demo NAME runs one of them, and explains it.")


def _explain(name: str, demo: Demo, table: Table, output: str | None) -> None:
    """The known answer, what was found, whether they agree, and what to run on data of one's own."""
    from unveil.cli.progress import progress

    rows, names = len(next(iter(table.values()))), ", ".join(table)
    typer.secho(f"{name}: {demo.line}", bold=True)
    _say("Data", f"{rows:,} sentences" if demo.text else f"{rows:,} rows; columns {names}")
    _say("Known", demo.known)
    _say("Done", demo.steps)
    with progress(f"Demo {name}"):
        found = demo.find(table)
    for number, words in enumerate(found.words):
        _say("" if number else "Found", words)
    _say("Agreed", f"{'Yes' if found.agrees else 'No'}. {found.verdict}", "green" if found.agrees else "red")
    for number, command in enumerate(demo.commands):
        _say("" if number else "Yours", command)
    if output is not None:
        _say("Saved", f"The data are in {output}: put it in place of FILE.")


def _say(label: str, words: str, colour: str | None = None) -> None:
    """A label and what it says, broken where the screen ends."""
    width = max(40, min(100, get_terminal_size().columns))
    typer.secho(fill(words, width, initial_indent=f"{label:8}", subsequent_indent=" " * 8), fg=colour)


def _write(demo: Demo, table: Table, output: str) -> None:
    """The data, as a text of sentences or a table by the ending of its name."""
    if demo.text:
        from unveil.storage.atomic import replacing

        with replacing(output) as temporary:
            temporary.write_text("\n".join(table["sentence"]) + "\n", encoding="utf-8")
        return
    from unveil.cli.output import table as written

    with written(output) as write:
        write(dict(table))
