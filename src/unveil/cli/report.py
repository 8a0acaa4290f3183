"""``unveil report``: one HTML page on what is in a table."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from unveil.cli.errors import printable
from unveil.cli.models import chosen as word_of
from unveil.cli.options import Columns, Data, Seed, Threads, Weight, names_in, option, protect, use_threads
from unveil.estimation.registry import STRUCTURES


def report(
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The HTML page to write.")],
    columns: Columns = None,
    max_components: Annotated[int, typer.Option(min=1, help="Largest number of components to try.")] = 9,
    covariance: Annotated[
        str | None,
        option(
            metavar="A,B,...",
            help="Covariances to compare: some of full, tied, diag, spherical (the default) and mclust's EII to VVV; "
            "mclust is all fourteen.",
        ),
    ] = None,
    weight: Weight = None,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Write one self-contained HTML page on DATA: its columns, principal plane, mixture, groups and three verdicts."""
    from unveil.cli.progress import progress
    from unveil.report import write_report
    from unveil.sources.files.paths import find_files

    use_threads(threads)
    protect(output, find_files(data), force=True)
    chosen: dict[str, Any] = {
        "columns": names_in(columns),
        "weight": weight,
        "max_components": max_components,
        "covariance_types": _structures(covariance),
        "seed": seed,
    }
    with progress(f"Report on {data}") as bar:
        written = write_report(data, output, **chosen, callbacks=[bar.step])
    typer.echo(f"{printable(written.summary)}\n{written.certificate.verdict}\nThe report is in {output}")


def _structures(given: str | None) -> list[str] | None:
    """The structures that were named; "mclust" names all that it has."""
    if given is None:
        return None
    if given.lower() == "mclust":
        return [word for word in STRUCTURES if word.isupper()]
    return [str(word_of("covariance", word)) for word in names_in(given, "--covariance") or ()]
