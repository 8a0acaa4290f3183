"""``unveil report``: one HTML page on what is in a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.errors import interruption, say, was_interrupted
from unveil.cli.models import chosen as word_of
from unveil.cli.options import (
    ROLES,
    Checkpoint,
    Columns,
    Data,
    Drop,
    Json,
    MemoryLimit,
    Roles,
    Seed,
    Threads,
    names_in,
    number,
    option,
    pairs_in,
    protect,
    reads_tables,
    resuming,
    use_memory,
    use_threads,
)
from unveil.cli.output import echo_sentences
from unveil.estimation.registry import STRUCTURES

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions

DEFAULT_PAGE = "report.html"
STDIN = "-"


@reads_tables
def report(
    data: Data,
    output: Annotated[
        str | None,
        option("--output", "-o", metavar="FILE", help=f"The HTML page to write; {DEFAULT_PAGE} by default."),
    ] = None,
    outputs: Annotated[
        str | None,
        option(
            metavar="DIR", help="Also write rows.csv (every row with its group), model.unveil and summary.json there."
        ),
    ] = None,
    rows_format: Annotated[str, typer.Option(metavar="FORMAT", help="Of the rows in DIR: csv or parquet.")] = "csv",
    max_components: Annotated[
        int, number(min=1, help="Largest number of components, of which groups are made, to try.")
    ] = 9,
    covariance: Annotated[
        str | None,
        option(
            metavar="A,B,...",
            help="Covariances to compare: some of full, tied, diag, spherical (the default) and mclust's EII to VVV; "
            "mclust is all fourteen.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, option(metavar="SECONDS", help="Give the best answer within this time, and say what was cut.")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    memory_limit: MemoryLimit = None,
    checkpoint: Checkpoint = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that no report wrote.")] = False,
    as_json: Json = False,
    columns: Columns = None,
    roles: Roles = None,
    drop: Drop = None,
    label: Annotated[
        str | None,
        option(
            metavar="COLUMN",
            help="Known classes: left out of the model, and set against the groups.",
            rich_help_panel=ROLES,
        ),
    ] = None,
    time: Annotated[
        str | None,
        option(
            metavar="COLUMN",
            help="Orders the rows in time; by default a column of sorted dates. --time none: no order.",
            rich_help_panel=ROLES,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        option(
            "--weights", "--weight", metavar="COLUMN", help="Says how often each row counts.", rich_help_panel=ROLES
        ),
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Write one self-contained HTML page on DATA: how many groups there are or that there are none, and why.

    Columns are taken for what they are: identifiers, constants, copies and free text are left out, words, counts and
    holes are used. What was guessed is said, and options overrule it.
    """
    import unveil
    from unveil.cli.progress import progress
    from unveil.reporting.outputs import prepared_folder
    from unveil.reporting.report import is_page
    from unveil.sources.files.paths import find_files

    use_threads(threads)
    use_memory(memory_limit)
    target = output or DEFAULT_PAGE
    inputs = [] if data == STDIN else find_files(data)
    if outputs is not None:
        for path in prepared_folder(outputs, rows_format, force):
            protect(str(path), inputs, force=True)  # what may be replaced was settled by the folder
    protect(target, inputs, force, own=is_page)
    chosen: dict[str, Any] = {
        "columns": names_in(columns),
        "roles": pairs_in(roles, "--roles") or None,
        "drop": names_in(drop, "--drop") or (),
        "label": label,
        "time": False if time == "none" else time,
        "weights": weights,
        "max_components": max_components,
        "covariance_types": _structures(covariance),
        "time_limit": time_limit,
        "seed": seed,
        **reading._asdict(),
    }
    with resuming(checkpoint, inputs), progress(f"Report on {data}") as bar:
        found = unveil.report(data, **chosen, callbacks=[_leave_if_interrupted, bar.step])
        found.save(target, force=True)  # what may be replaced was settled above
        written = _folder_written(found, outputs, rows_format, target)
    if as_json:
        typer.echo(json.dumps({**found.summary, "page": target}, allow_nan=False))
        return
    echo_sentences(found.summary["reading"])
    echo_sentences([found.headline])
    echo_sentences(found.summary["rests_on"], indent="  ")
    echo_sentences([found.certificate.verdict])
    typer.echo(f"The report is in {target}")
    if written:
        typer.echo(f"Beside it: {', '.join(map(str, written))}")


def _folder_written(found: Any, folder: str | None, rows_format: str, page: str) -> list[Path]:
    """The files beside the page, if they are wanted; Ctrl-C leaves the page, and says so."""
    if folder is None:
        return []
    try:
        return list(found.save_outputs(folder, rows_format=rows_format, force=True))
    except KeyboardInterrupt:
        say(f"interrupted; the report is in {page}, but {folder} is not complete")
        raise typer.Exit(interruption()) from None


def _leave_if_interrupted(news: Any) -> None:
    """End at the next step: a comparison that Ctrl-C ended goes on with what it has, and a page would not say so."""
    if was_interrupted():
        raise KeyboardInterrupt


def _structures(given: str | None) -> list[str] | None:
    """The structures that were named; "mclust" names all that it has."""
    if given is None:
        return None
    if given.lower() == "mclust":
        return [word for word in STRUCTURES if word.isupper()]
    return [str(word_of("covariance", word)) for word in names_in(given, "--covariance") or ()]
